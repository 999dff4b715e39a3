"""People: groups of faces that users name, merge and split."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from rankloom.collection.people import (
    face_picture,
    is_on,
    merge_people,
    missing,
    name_person,
    people_of,
    split_person,
)  # fmt: skip
from rankloom.server.context import Context
from rankloom.server.grouping import Grouping
from rankloom.server.schemas import GroupingRequest, MergeRequest, PersonRequest, SplitRequest

MOST_FACES = 60  # of a person that are listed
PERSON, FACE = InPath(ge=1, le=2**53), InPath(ge=1, le=2**53)


def people_routes(context: Context) -> APIRouter:
    """The routes of people."""
    router = APIRouter(prefix="/api", tags=["people"])
    work, collection = context.work, context.collection
    grouping = Grouping(collection, context.jobs)

    @router.get("/people")
    async def people() -> dict[str, Any]:
        """Whether faces are told apart, and the groups of faces: those with a name first."""
        return await work.read(_people, context)

    @router.post("/people", status_code=202)
    async def switch(asked: GroupingRequest) -> dict[str, Any]:
        """Tell faces apart from now on, or no more, as a job."""
        return vars(await work.read(lambda: grouping.on() if asked.on else grouping.off(delete=asked.delete)))

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
        "on": is_on(context.collection), "missing": missing(),
        "people": [
            {
                "id": person.id, "name": person.name, "count": len(person.faces),
                "faces": [face._asdict() for face in person.faces[:MOST_FACES]],
            }
            for person in groups
        ],
    }  # fmt: skip
