"""Marks and what is learned from them: weights, models, concepts; and saved searches."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.collection import Mark
from rankloom.collection.query import Query
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import (
    ConceptRequest,
    ExpertsRequest,
    FeedbackRequest,
    MarksRequest,
    PreferRequest,
    QueryModel,
    SavedRequest,
    TrainRequest,
    UndoRequest,
    UseRequest,
)  # fmt: skip

__all__ = ["learning_routes"]


def learning_routes(context: Context) -> APIRouter:
    """The routes that learn."""
    router = APIRouter(prefix="/api")
    engine, work = context.engine, context.work

    def query_of(model: QueryModel | None) -> Query | None:
        return None if model is None else context.query(model)

    def count(query: Query | None, user: str) -> int:
        return len(engine.marks(query, user=user))

    # Marks ------------------------------------------------------------------------------------------------------------

    @router.post("/feedback", tags=["marks"])
    async def feedback(asked: FeedbackRequest, request: Request) -> dict[str, Any]:
        """Mark results right or wrong; the marks are on disk when this answers."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            query = context.query(asked.query)
            ids = engine.feedback(query, [Mark(one.item, one.grade) for one in asked.marks], user, shown=asked.shown)
            return {"ids": ids, "marks": count(query, user)}

        return await work.write(run)

    @router.post("/prefer", tags=["marks"])
    async def prefer(asked: PreferRequest, request: Request) -> dict[str, Any]:
        """Say that one item is better than another."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            query = context.query(asked.query)
            return {"ids": [engine.prefer(query, asked.better, asked.worse, user)], "marks": count(query, user)}

        return await work.write(run)

    @router.post("/undo", tags=["marks"])
    async def undo(asked: UndoRequest, request: Request) -> dict[str, Any]:
        """Take a mark back."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            query = query_of(asked.query)
            own = {one.id: one for one in engine.marks(query, user=user)}
            if asked.mark is not None and asked.mark not in own:
                raise Refused(404, f"you have no mark {asked.mark}")
            undone = engine.undo(query, user, mark=asked.mark)
            item = None if undone is None else own[undone].item if undone in own else None
            return {"undone": undone, "item": item, "marks": count(query, user)}

        return await work.write(run)

    @router.post("/marks", tags=["marks"])
    async def marks(asked: MarksRequest, request: Request) -> list[dict[str, Any]]:
        """The marks of this user that stand, the newest first; of all queries, or of one."""
        user = user_of(request)

        def run() -> list[dict[str, Any]]:
            found = engine.marks(query_of(asked.query), user=user)
            details = context.details({one.item for one in found})
            return [
                {
                    "id": one.id, "qid": one.qid, "item": one.item, "grade": one.grade, "over": one.over, "at": one.at,
                    "name": details.get(one.item, {}).get("name", ""),
                    "caption": details.get(one.item, {}).get("caption"),
                }
                for one in reversed(found)
            ]  # fmt: skip

        return await work.read(run)

    # Weights ----------------------------------------------------------------------------------------------------------

    def library() -> dict[str, Any]:
        state = engine.library
        return {
            "weights": state.weights, "start": state.start, "locked": sorted(state.locked), "marks": state.n_marks,
            "moved": state.moved,
        }  # fmt: skip

    @router.get("/experts", tags=["learning"])
    async def experts() -> dict[str, Any]:
        """The weights of the experts: now, at the start, and which are locked."""
        return await work.read(library)

    @router.post("/experts", tags=["learning"])
    async def set_experts(asked: ExpertsRequest) -> dict[str, Any]:
        """Set weights, lock them, or take all of them back to where they started."""

        def run() -> dict[str, Any]:
            if asked.reset:
                engine.reset_library()
            for name, value in asked.weights.items():
                engine.set_weight(name, value)
            for name, locked in asked.lock.items():
                engine.lock(name, locked)
            return library()

        return await work.write(run)

    @router.get("/curve", tags=["learning"])
    async def curve(request: Request) -> list[dict[str, Any]]:
        """How well each judged query ordered its marked items: by the starting weights, and by what was learned before.

        What others searched for is not told.
        """
        user = user_of(request)

        def run() -> list[dict[str, Any]]:
            return [
                {
                    "query": one["query"] if one["user"] == user else None, "marks": one["marks"],
                    "start": one["start"], "learned": one["learned"],
                }
                for one in engine.learning_curve()
            ]  # fmt: skip

        return await work.search(run)

    # Models -----------------------------------------------------------------------------------------------------------

    @router.get("/models", tags=["learning"])
    async def models() -> list[dict[str, Any]]:
        """The models that were trained from the marks."""
        return await work.read(lambda: [one._asdict() for one in engine.models()])

    @router.post("/models/train", tags=["learning"], status_code=202)
    async def train(asked: TrainRequest) -> dict[str, Any]:
        """Begin to train a model from all marks; /api/collection says how far it is."""
        from rankloom.rankers import RANKERS

        if asked.ranker not in RANKERS:
            raise Refused(422, f"ranker: known are {', '.join(RANKERS)}")
        return vars(context.jobs.start("train", lambda _: _trained(engine.train(asked.ranker))))

    @router.post("/models/use", tags=["learning"])
    async def use(asked: UseRequest) -> dict[str, Any]:
        """Use a model, or with no id the one that was used before."""

        def run() -> dict[str, Any]:
            if asked.id is None:
                engine.rollback()
            else:
                engine.use(asked.id)
            return {"models": [one._asdict() for one in engine.models()]}

        return await work.write(run)

    # Concepts ---------------------------------------------------------------------------------------------------------

    @router.get("/concepts", tags=["concepts"])
    async def concepts() -> list[dict[str, Any]]:
        """The concepts of the collection."""
        return await work.read(lambda: [one._asdict() for one in engine.concepts()])

    @router.post("/concepts", tags=["concepts"])
    async def train_concept(asked: ConceptRequest, request: Request) -> dict[str, Any]:
        """Make a concept from items, or from this user's marks of a query."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            right, wrong = set(asked.positive), set(asked.negative)
            if asked.query is not None:
                last = {one.item: one.grade for one in engine.marks(context.query(asked.query), user=user)}
                right |= {item for item, grade in last.items() if grade > 0}
                wrong |= {item for item, grade in last.items() if grade <= 0}
            if not right:
                raise Refused(422, "a concept needs examples: mark some results as right first")
            known = context.details(right | wrong)
            missing = sorted((right | wrong) - set(known))
            if missing:
                raise Refused(404, f"there is no item {missing[0]}")
            engine.train_concept(asked.name, sorted(right), sorted(wrong - right), method=asked.method)
            return next(one._asdict() for one in engine.concepts() if one.name == asked.name)

        return await work.write(run)

    @router.delete("/concepts/{name:path}", tags=["concepts"])
    async def drop_concept(name: str) -> dict[str, Any]:
        """Forget a concept."""

        def run() -> dict[str, Any]:
            if name not in {one.name for one in engine.concepts()}:
                raise Refused(404, "there is no such concept")
            engine.drop_concept(name)
            return {"dropped": name}

        return await work.write(run)

    # Saved searches ---------------------------------------------------------------------------------------------------

    def saved_of(user: str) -> list[dict[str, Any]]:
        return [{"name": one.name, "query": context.query_json(one.query), "at": one.at} for one in engine.saved(user)]

    @router.get("/saved", tags=["saved"])
    async def saved(request: Request) -> list[dict[str, Any]]:
        """The searches that this user saved."""
        return await work.read(saved_of, user_of(request))

    @router.post("/saved", tags=["saved"])
    async def save(asked: SavedRequest, request: Request) -> list[dict[str, Any]]:
        """Save a search under a name; one of the same name is replaced."""
        user = user_of(request)

        def run() -> list[dict[str, Any]]:
            engine.save_search(asked.name, context.query(asked.query), user)
            return saved_of(user)

        return await work.write(run)

    @router.delete("/saved/{name:path}", tags=["saved"])
    async def forget(name: str, request: Request) -> list[dict[str, Any]]:
        """Forget a saved search."""
        user = user_of(request)

        def run() -> list[dict[str, Any]]:
            if name not in {one.name for one in engine.saved(user)}:
                raise Refused(404, "there is no saved search of that name")
            engine.forget_search(name, user)
            return saved_of(user)

        return await work.write(run)

    return router


def _trained(model: Any) -> str:
    return f"model {model.id}"
