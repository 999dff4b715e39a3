"""People: groups of faces that users name, merge and split."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from rankloom.collection.people import face_picture, is_on, merge_people, name_person, people_of, split_person
from rankloom.server.context import Context
from rankloom.server.schemas import MergeRequest, PersonRequest, SplitRequest

MOST_FACES = 60  # of a person that are listed
PERSON, FACE = InPath(ge=1, le=2**53), InPath(ge=1, le=2**53)


def people_routes(context: Context) -> APIRouter:
    """The routes of people."""
    router = APIRouter(prefix="/api", tags=["people"])
    work, collection = context.work, context.collection

    @router.get("/people")
    async def people() -> dict[str, Any]:
        """Whether faces are told apart, and the groups of faces: those with a name first."""
        return await work.read(_people, context)

    @router.post("/people/{person}/name")
    async def name(asked: PersonRequest, person: int = PERSON) -> dict[str, Any]:
        """Give a person a name by which pictures are found; an empty one takes it away."""
        await work.train(name_person, collection, person, asked.name)
        return {"id": person, "name": asked.name}

    @router.post("/people/{person}/merge")
    async def merge(asked: MergeRequest, person: int = PERSON) -> dict[str, Any]:
        """Add the faces of other groups to a person."""
        await work.train(merge_people, collection, person, asked.others)
        return {"id": person}

    @router.post("/people/{person}/split")
    async def split(asked: SplitRequest, person: int = PERSON) -> dict[str, Any]:
        """Take faces out of a person into a new group."""
        return {"id": await work.train(split_person, collection, person, asked.faces)}

    @router.get("/people/faces/{face}", response_class=Response)
    async def face(face: int = FACE) -> Response:
        """The small JPEG of a face; it is not to be kept, as it may be deleted."""
        data = await work.read(face_picture, collection, face)
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": "no-store"})

    return router


def _people(context: Context) -> dict[str, Any]:
    groups = people_of(context.collection)
    return {
        "on": is_on(context.collection),
        "people": [
            {
                "id": person.id, "name": person.name, "count": len(person.faces),
                "faces": [face._asdict() for face in person.faces[:MOST_FACES]],
            }
            for person in groups
        ],
    }  # fmt: skip
