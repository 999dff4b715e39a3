"""Concepts: detectors from marked examples."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import ConceptRequest


def concept_routes(context: Context) -> APIRouter:
    """The routes of concepts."""
    router = APIRouter(prefix="/api", tags=["concepts"])
    work = context.work

    @router.get("/concepts")
    async def concepts() -> list[dict[str, Any]]:
        """The concepts of the collection."""
        return await work.read(lambda: [concept._asdict() for concept in context.engine.concepts()])

    @router.post("/concepts")
    async def train(asked: ConceptRequest, request: Request) -> dict[str, Any]:
        """Make a concept from items, or from this user's marks of a query."""
        return await work.train(_train, context, asked, user_of(request))

    @router.delete("/concepts/{name:path}")
    async def drop(name: str) -> dict[str, Any]:
        """Delete a concept."""
        return await work.train(_drop, context, name)

    return router


def _train(context: Context, asked: ConceptRequest, user: str) -> dict[str, Any]:
    right, wrong = set(asked.positive), set(asked.negative)
    if asked.query is not None:
        grades = {mark.item: mark.grade for mark in context.engine.marks(context.query(asked.query), user=user)}
        right |= {item for item, grade in grades.items() if grade > 0}
        wrong |= {item for item, grade in grades.items() if grade <= 0}
    if not right:
        raise Refused(422, "a concept needs examples: mark some results as right first")
    missing = sorted((right | wrong) - context.details(right | wrong).keys())
    if missing:
        raise Refused(404, f"there is no item {missing[0]}")
    concept = context.engine.train_concept(asked.name, sorted(right), sorted(wrong - right), method=asked.method)
    return concept._asdict()


def _drop(context: Context, name: str) -> dict[str, Any]:
    if name not in {concept.name for concept in context.engine.concepts()}:
        raise Refused(404, "there is no such concept")
    context.engine.drop_concept(name)
    return {"dropped": name}
