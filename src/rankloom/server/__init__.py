"""The server: a JSON API over one engine, and the page that uses it."""

from rankloom.server.app import create_app
from rankloom.server.run import serve
from rankloom.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app", "serve"]
