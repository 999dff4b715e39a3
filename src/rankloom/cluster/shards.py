"""Exact search over shards: rows are compared on the Dask workers on whose disks they lie, and merged here.

The coordinator has the collection: it encodes the query, filters, and computes what words add. Workers have shards. The
order and the scores are those of one engine; a shard that nobody serves is counted in the answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from rankloom.cluster.connecting import ClusterError
from rankloom.cluster.shard_files import Shard, open_shard, shards_in
from rankloom.collection.identity import items_fingerprint
from rankloom.collection.query import Query
from rankloom.engine import Engine, Results, SearchHit
from rankloom.engine.apart import ApartQuery, BestRows, best_of, merged
from rankloom.engine.cascade import SketchQuestion

_POLL_SECONDS = 0.2
_ROUNDS = 3  # times that a shard is asked for, each time of another worker


class LostShard(NamedTuple):
    """A shard that is missing in an answer: its number, how many items it has, and why it is missing."""

    number: int
    items: int
    reason: str


@dataclass(frozen=True)
class ShardedResults:
    """The hits of a search over shards, and what they are missing.

    Parameters
    ----------
    results : the hits, best first; `total` counts the items that could be hits in the shards that answered.
    missing : the shards that did not answer.
    n_shards, n_items : how many there are of each.
    """

    results: Results
    missing: tuple[LostShard, ...]
    n_shards: int
    n_items: int

    @property
    def note(self) -> str | None:
        """What is missing, in one line; None if nothing is."""
        if not self.missing:
            return None
        items = sum(shard.items for shard in self.missing)
        why = "; ".join(dict.fromkeys(shard.reason for shard in self.missing))
        return f"missing: {len(self.missing)} of {self.n_shards} shards, {items:,} of {self.n_items:,} items ({why})"


class ShardedSearch:
    """Searches by example over the shards of a collection.

    Only the experts rank, with the weights that marks have taught; marks of the query and neighbors do not count.
    Hits are those of `Engine.search` with `SearchOptions(feedback=False, diffusion=False)` and the index "exact". Where
    the index of the engine is "cascade", or None and the collection large, each shard looks at as many of its items,
    chosen by its sketches, as one engine looks at in all. Items that came after the shards were made are compared here.

    Parameters
    ----------
    engine : of the collection.
    client : of the Dask cluster.
    folder : of the shards, as workers see it; each serves those that it finds there.
    seconds : that a worker may take before another one is asked.
    """

    def __init__(self, engine: Engine, client: Any, folder: str | os.PathLike[str], *, seconds: float = 60.0):
        self.engine, self.client, self.folder, self.seconds = engine, client, os.fspath(folder), seconds
        self._seen: dict[str, list[Shard]] = {}

    def search(self, query: Query, k: int = 20, offset: int = 0) -> ShardedResults:
        """The best k items, after the first `offset`.

        Parameters
        ----------
        query : examples, and words and filters beside them.
        k : how many hits.
        offset : how many hits before the first are left out.
        """
        if k < 1 or offset < 0:
            raise ValueError(f"k must be at least 1 and offset not negative, got {k!r} and {offset!r}")
        asked = self.engine.apart(query)
        shards = self._shards(asked)
        answers, lost = self._asked(asked, shards, offset + k)
        n_sharded, n_items = shards[0].n_items, asked.snapshot.n_items
        served = [(shard.begin, shard.end) for shard in shards if shard.number in answers]
        if n_sharded < n_items:
            stored = {name: vectors.take(slice(n_sharded, n_items)) for name, vectors in asked.snapshot.vectors.items()}
            later = best_of(asked.question, stored, asked.part(n_sharded, n_items), offset + k)
            answers[0] = later._replace(rows=later.rows + n_sharded)
            served.append((n_sharded, n_items))
        best = merged([*answers.values()], offset + k)
        total = sum(int(np.count_nonzero(asked.eligible[begin:end])) for begin, end in served)
        results = self._results(asked, BestRows(best.rows[offset:], best.scores[offset:]), offset, total)
        missing = tuple(
            LostShard(shard.number, shard.end - shard.begin, lost[shard.number])
            for shard in shards
            if shard.number in lost
        )
        return ShardedResults(results, missing, len(shards), n_items)

    def _results(self, asked: ApartQuery, best: BestRows, offset: int, total: int) -> Results:
        items = self.engine.collection.items((best.rows + 1).tolist())
        hits = [
            SearchHit.of(rank, item, score)
            for rank, (item, score) in enumerate(zip(items, best.scores.tolist(), strict=True), offset + 1)
        ]
        if asked.literal is not None:
            hits = [hit._replace(literal=bool(asked.literal[hit.id - 1])) for hit in hits]
        return Results(tuple(hits), total)

    # Which shards there are ------------------------------------------------------------------------------------------

    def _shards(self, asked: ApartQuery) -> list[Shard]:
        """All shards of the collection, also those that no worker sees now."""
        known = self._fitting(asked)
        if not known:
            self._look()
            known = self._fitting(asked)
        if not known:
            raise ClusterError(f"no worker sees shards of this collection in {self.folder}: {self._why_not(asked)}")
        newest = max(known, key=lambda shard: (shard.n_items, shard.of))
        return [Shard(*newest.cut[:2], number, newest.of, {}) for number in range(1, newest.of + 1)]

    def _fitting(self, asked: ApartQuery) -> list[Shard]:
        """The shards that workers see and that hold what is asked for."""
        seen = {shard.cut: shard for shards in self._seen.values() for shard in shards}
        return [shard for shard in seen.values() if self._wrong(shard, asked) is None]

    def _wrong(self, shard: Shard, asked: ApartQuery) -> str | None:
        """Why a shard is not of this collection as it is now."""
        state = asked.snapshot.state
        if shard.n_items > state.n_items:
            return "those there are of another collection"
        if shard.collection != items_fingerprint(self.engine.collection, shard.n_items):
            return "those there are of another collection"
        for name, version, _ in state.descriptors:
            stored = shard.descriptors.get(name)
            if name in asked.question.scales and (stored is None or stored.version != version):
                return f"those there have no vectors of {name} as they are now; run 'rankloom shard make' again"
        return None

    def _why_not(self, asked: ApartQuery) -> str:
        reasons = [self._wrong(shard, asked) for shards in self._seen.values() for shard in shards]
        return next((reason for reason in reasons if reason), "copy them there, or run 'rankloom shard make'")

    def _look(self) -> None:
        """Ask all workers which shards they see."""
        futures = {
            worker: self.client.submit(shards_in, self.folder, workers=[worker], pure=False, priority=10)
            for worker in self._workers()
        }
        found, _ = self._finished(futures, {worker: worker for worker in futures})
        self._seen = found

    def _workers(self) -> list[str]:
        if self.client.status != "running":
            raise ClusterError("the scheduler is lost; search again when it is back")
        try:
            return sorted(self.client.nthreads())
        except OSError as error:
            raise ClusterError(f"the scheduler is lost: {error}; search again when it is back") from None

    # Asking them -----------------------------------------------------------------------------------------------------

    def _asked(self, asked: ApartQuery, shards: Sequence[Shard], n: int) -> tuple[dict[int, BestRows], dict[int, str]]:
        """The best rows of each shard that answers by its number; and why each of the others does not."""
        answers: dict[int, BestRows] = {}
        lost = {shard.number: "no worker sees it" for shard in shards}
        tried: dict[int, set[str]] = {shard.number: set() for shard in shards}
        for round_number in range(_ROUNDS):
            if round_number:
                self._look()  # a worker may have come back, or another have the files
            chosen = self._chosen(shards, lost, tried)
            if not chosen and round_number:
                break
            futures = {
                shard.number: self.client.submit(
                    _best_of_shard, self.folder, shard, asked.question, asked.part(shard.begin, shard.end), n,
                    asked.looked_at, workers=[worker], pure=False,
                )
                for shard, worker in chosen
            }  # fmt: skip
            found, failed = self._finished(futures, {shard.number: worker for shard, worker in chosen})
            answers |= found
            lost = {number: failed.get(number, reason) for number, reason in lost.items() if number not in found}
            if not lost:
                break
        return answers, lost

    def _chosen(
        self, shards: Sequence[Shard], lost: Iterable[int], tried: Mapping[int, set[str]]
    ) -> list[tuple[Shard, str]]:
        """A worker for every shard that is wanted and that one sees which was not asked yet."""
        alive, cut, chosen = self._workers(), shards[0].cut, []
        for number in lost:
            having = [
                (shard, worker)
                for worker in alive
                for shard in self._seen.get(worker, ())
                if shard.cut == cut and shard.number == number and worker not in tried[number]
            ]
            if having:
                # Always the same of several, whose memory holds it already; other shards go to others.
                chosen.append(having[number % len(having)])
                tried[number].add(chosen[-1][1])
        return chosen

    def _finished(
        self, futures: Mapping[Any, Any], worker_of: Mapping[Any, str]
    ) -> tuple[dict[Any, Any], dict[Any, str]]:
        """What each of some futures gave, and why the others gave nothing: an error, a lost worker, or no time left."""
        from distributed import wait

        found, failed, until = {}, {}, monotonic() + self.seconds
        open_ones = dict(futures)
        while open_ones:
            try:
                with self.client.as_current():
                    wait([*open_ones.values()], _POLL_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                alive = set(self._workers())
                late = monotonic() > until
                for key in [key for key in open_ones if late or worker_of[key] not in alive]:
                    open_ones.pop(key).cancel()
                    failed[key] = f"no answer in {self.seconds:g} s" if late else "its worker was lost"
            for key in [key for key, future in open_ones.items() if future.status != "pending"]:
                future = open_ones.pop(key)
                if future.status == "finished":
                    found[key] = future.result()
                else:
                    error = future.exception() if future.status == "error" else None
                    failed[key] = "its worker was lost" if error is None else " ".join(str(error).split())[:200]
        return found, failed


def _best_of_shard(
    folder: str, shard: Shard, question: Any, part: Any, n: int, looked_at: SketchQuestion | None
) -> BestRows:
    """What a worker does: the best rows of a shard on its disk; of all, where its sketches are none that were asked."""
    opened = open_shard(folder, shard)
    chosen = None
    if looked_at is not None and shard.sketches is not None and shard.sketches.version == looked_at.version:
        assert opened.sketches is not None
        chosen = looked_at, opened.sketches
    best = best_of(question, opened.vectors, part, n, chosen)
    return best._replace(rows=best.rows + shard.begin)
