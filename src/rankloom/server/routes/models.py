"""Models that are trained from the marks."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.schemas import TrainRequest, UseRequest


def model_routes(context: Context) -> APIRouter:
    """The routes of models."""
    router = APIRouter(prefix="/api", tags=["learning"])
    engine, work = context.engine, context.work

    @router.get("/models")
    async def models() -> list[dict[str, Any]]:
        """The models that were trained from the marks."""
        return await work.read(_models, context)

    @router.get("/models/preferences")
    async def preferences() -> list[dict[str, Any]]:
        """Which of two models people prefer, by the marks of interleaved lists; null stands for the weights."""
        return await work.read(_preferences, context)

    @router.post("/models/train", status_code=202)
    async def train(asked: TrainRequest) -> dict[str, Any]:
        """Begin to train a model from all marks; /api/collection says how far it is."""
        await work.read(_check_ranker, asked.ranker)
        return vars(context.jobs.start("train", lambda _: f"model {engine.train(asked.ranker).id}"))

    @router.post("/models/use")
    async def use(asked: UseRequest) -> dict[str, Any]:
        """Use a model, or with no id the one that was used before."""
        await work.write(engine.rollback) if asked.id is None else await work.write(engine.use, asked.id)
        return {"models": await work.read(_models, context)}

    return router


def _models(context: Context) -> list[dict[str, Any]]:
    return [model._asdict() for model in context.engine.models()]


def _preferences(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "first": first, "second": second, "wins": so_far.wins, "losses": so_far.losses, "ties": so_far.ties,
            "p": so_far.p_value, "verdict": so_far.verdict, "interval": list(so_far.interval),
        }
        for first, second, so_far in context.engine.interleaving_results()
    ]  # fmt: skip


def _check_ranker(name: str) -> None:
    from rankloom.rankers import RANKERS  # takes a second, which a server does not spend before it is needed

    if name not in RANKERS:
        raise Refused(422, f"ranker: known are {', '.join(RANKERS)}")
