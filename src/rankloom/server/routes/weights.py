"""The weights of the experts, and how well they have learned."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.server.context import Context
from rankloom.server.guard import user_of
from rankloom.server.schemas import ExpertsRequest


def weight_routes(context: Context) -> APIRouter:
    """The routes of weights."""
    router = APIRouter(prefix="/api", tags=["learning"])
    work = context.work

    @router.get("/experts")
    async def experts() -> dict[str, Any]:
        """The weights of the experts: now, at the start, and which are locked."""
        return await work.read(_weights, context)

    @router.post("/experts")
    async def set_experts(asked: ExpertsRequest) -> dict[str, Any]:
        """Set weights, lock them, or take all of them back to where they started."""
        return await work.write(_set_weights, context, asked)

    @router.get("/curve")
    async def curve(request: Request) -> list[dict[str, Any]]:
        """How well each judged query ordered its marked items: by the starting weights, and by what was learned before.

        Each names the `query` that was judged; what others searched for is not shown.
        """
        return await work.search(_curve, context, user_of(request))

    return router


def _weights(context: Context) -> dict[str, Any]:
    state = context.engine.weight_state
    return {
        "weights": state.weights, "start": state.start, "locked": sorted(state.locked), "marks": state.n_marks,
        "moved": state.moved,
    }  # fmt: skip


def _set_weights(context: Context, asked: ExpertsRequest) -> dict[str, Any]:
    engine = context.engine
    if asked.reset:
        engine.reset_weights()
    for name, weight in asked.weights.items():
        engine.set_weight(name, weight)
    for name, locked in asked.lock.items():
        engine.lock(name, locked)
    return _weights(context)


def _curve(context: Context, user: str) -> list[dict[str, Any]]:
    points = []
    for point in context.engine.learning_curve():
        query = context.engine.asked(point["query"]) if point["user"] == user else None
        known = None if query is None else context.query_json(query)
        points.append({"query": known, **{name: point[name] for name in ("marks", "start", "learned")}})
    return points
