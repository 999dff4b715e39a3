"""The routes of the API, a module a subject. They translate requests into calls of the engine, and decide nothing."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from rankloom.server.context import Context
from rankloom.server.routes.adding import adding_routes
from rankloom.server.routes.albums import album_routes
from rankloom.server.routes.browse import browse_routes
from rankloom.server.routes.captions import caption_routes
from rankloom.server.routes.collection import collection_routes
from rankloom.server.routes.concepts import concept_routes
from rankloom.server.routes.desktop import desktop_routes
from rankloom.server.routes.downloads import download_routes
from rankloom.server.routes.duplicates import duplicate_routes
from rankloom.server.routes.export import export_routes
from rankloom.server.routes.marks import mark_routes
from rankloom.server.routes.media import media_routes
from rankloom.server.routes.models import model_routes
from rankloom.server.routes.organize import organize_routes
from rankloom.server.routes.people import people_routes
from rankloom.server.routes.places import place_routes
from rankloom.server.routes.saved import saved_routes
from rankloom.server.routes.search import search_routes
from rankloom.server.routes.session import session_routes
from rankloom.server.routes.upkeep import upkeep_routes
from rankloom.server.routes.weights import weight_routes

__all__ = ["ROUTES"]

ROUTES: tuple[Callable[[Context], APIRouter], ...] = (
    search_routes,
    export_routes,
    mark_routes,
    weight_routes,
    model_routes,
    concept_routes,
    people_routes,
    saved_routes,
    browse_routes,
    organize_routes,
    album_routes,
    download_routes,
    media_routes,
    desktop_routes,
    collection_routes,
    adding_routes,
    caption_routes,
    place_routes,
    duplicate_routes,
    upkeep_routes,
    session_routes,
)
