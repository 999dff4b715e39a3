"""Tasks on the workers of a cluster, in batches: few in flight at a time, results in order, none lost, none twice."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import rankloom
from rankloom.cluster.batches import BatchJob, close_crews, do_batch
from rankloom.cluster.connecting import ClusterError, check_workers, dask_client
from rankloom.collection._pool import Job
from rankloom.collection.describing import DescriberSettings
from rankloom.media import kind_of

BATCH = 8  # pictures; a video is a batch of its own
AHEAD = 3  # batches in flight for each thread of the cluster
WATCH_SECONDS = 0.2
RECONNECT_SECONDS = 120.0
GO_ON = "what is described is stored, run the same command to go on"


@dataclass(eq=False)
class _Batch:
    """Tasks that are done together, and their future once they are submitted."""

    tasks: list[tuple[Any, ...]]
    future: Any = None


class ClusterPool:
    """The workers of a Dask cluster, for `rankloom.collection.index(..., workers=pool)`.

    Each thread of a Dask worker keeps one of the processes that do the work on a single machine, with the same limits
    of memory and time: a file that kills or hangs its process costs that file only. A worker that is lost costs its
    batches, which Dask gives to another. A lost scheduler costs the batches that were in flight: it is waited for, and
    they are done again.

    Parameters
    ----------
    client : of the cluster.
    roots : folders that every worker must see as they are seen here.
    """

    def __init__(self, client: Any, roots: Iterable[str] = ()):
        self._client, self._roots = client, tuple(roots)
        self._own: list[Any] = []  # clients that were opened after a loss

    def close(self) -> None:
        """Close the clients that were opened in place of one that was lost."""
        for client in self._own:
            client.close()
        self._own = []

    def run(
        self,
        job: Job,
        tasks: Iterable[tuple[Any, ...]],
        failed: Callable[[tuple[Any, ...], str], Any],
        patience: float | None,
        watch: Callable[[str], None],
    ) -> Generator[Any, None, None]:
        """Yield the result of every task in their order, as `run_in_order` does."""
        from distributed import KilledWorker

        key, files = uuid4().hex, _SentFiles(job.settings)
        make = partial(BatchJob, key, rankloom.__version__, job._replace(settings=files.settings), self._roots)
        sent: BatchJob | None = None
        todo, waiting = _batches(tasks), deque[_Batch]()
        first, since = None, 0.0
        try:
            while True:
                waiting.extend(map(_Batch, islice(todo, max(0, AHEAD * max(1, self._threads()) - len(waiting)))))
                if not waiting:
                    return
                if waiting[0] is not first:
                    first, since = waiting[0], monotonic()
                try:
                    sent = sent or make(files.futures(self._client))
                    self._submit(sent, waiting)
                    batch = self._next_finished(waiting, None if patience is None else since + patience, watch)
                    results = batch.future.result()
                except KilledWorker as error:
                    raise ClusterError(f"workers died again and again: {error}; {GO_ON}") from None
                except (CancelledError, OSError):
                    if self._is_connected(waiting):
                        raise
                    self._reconnect(watch)
                    sent = None
                    for lost in waiting:
                        lost.future = None
                    continue
                waiting.remove(batch)
                batch.future.release()  # what is here need not be computed again if its worker is lost
                for task, (result, lost_because) in zip(batch.tasks, results, strict=True):
                    yield result if lost_because is None else failed(task, lost_because)
        finally:
            self._end(key, waiting)

    def _is_connected(self, waiting: Iterable[_Batch]) -> bool:
        """Whether the scheduler is the one that has the batches: a client that has found another forgets them."""
        return self._client.status == "running" and not any(
            batch.future is not None and batch.future.status == "cancelled" for batch in waiting
        )

    def _submit(self, sent: BatchJob, waiting: Iterable[_Batch]) -> None:
        for batch in waiting:
            if batch.future is None:
                batch.future = self._client.submit(do_batch, batch.tasks, *sent, pure=False)

    def _next_finished(self, waiting: Sequence[_Batch], until: float | None, watch: Callable[[str], None]) -> _Batch:
        """The first batch; from a time on the first that is finished. A CancelledError if the scheduler is lost."""
        from distributed import wait

        alone = None  # since when there is no worker
        while self._is_connected(waiting):
            chosen = waiting if until is not None and monotonic() >= until else [waiting[0]]
            for batch in chosen:
                if batch.future.status in ("finished", "error"):
                    return batch
            try:
                with self._client.as_current():
                    wait([batch.future for batch in chosen], WATCH_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                watch(f"{len(waiting)} batches on the cluster")
                alone = None if self._threads() else alone or monotonic()
                if alone is not None and monotonic() > alone + RECONNECT_SECONDS:
                    raise ClusterError(f"the cluster has had no worker for {RECONNECT_SECONDS:g} s; {GO_ON}") from None
        raise CancelledError

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, CancelledError):  # the scheduler is lost, which is seen to elsewhere
            return 0

    def _reconnect(self, watch: Callable[[str], None]) -> None:
        """Wait for the scheduler, which may be started anew; a ClusterError if it does not come."""
        address, until = self._client.scheduler.address, monotonic() + RECONNECT_SECONDS
        while True:
            watch(f"the scheduler at {address} is lost; waiting for it")
            try:
                client = dask_client(address)
                self._own.append(client)
                check_workers(client)
            except ClusterError as error:
                if monotonic() > until:
                    raise ClusterError(f"{error}; {GO_ON}") from None
                sleep(1.0)
            else:
                self._client = client
                return

    def _end(self, key: str, waiting: Iterable[_Batch]) -> None:
        """Drop what nobody waits for, and end the processes of the job."""
        if self._client.status != "running":
            return
        self._client.cancel([batch.future for batch in waiting if batch.future is not None])
        self._client.run(close_crews, key, on_error="ignore")


def _batches(tasks: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Tasks in their order, some pictures together.

    >>> [len(batch) for batch in _batches([("a.jpg",), ("b.avi",), *[("c.jpg",)] * 9])]
    [1, 1, 8, 1]
    """
    batch: list[tuple[Any, ...]] = []
    for task in tasks:
        video = kind_of(task[0]) == "video"
        if batch and (video or len(batch) == BATCH):
            yield batch
            batch = []
        if video:
            yield [task]
        else:
            batch.append(task)
    if batch:
        yield batch


class _SentFiles:
    """Files that the settings of a job name, which workers on other machines do not have: they are sent with it."""

    def __init__(self, settings: Any):
        self._contents: dict[str, str] = {}  # the name that a worker gives it, and where it is here
        self.settings = settings
        if isinstance(settings, DescriberSettings):
            import json

            vocabulary = self._name(settings.vocabulary)
            encoders = []
            for name, options in settings.encoders:
                arguments = json.loads(options)
                for key in ("image_onnx", "text_onnx", "tokenizer"):
                    if arguments.get(key):
                        arguments[key] = self._name(arguments[key])
                encoders.append((name, json.dumps(arguments)))
            self.settings = replace(settings, vocabulary=vocabulary, encoders=tuple(encoders))

    def _name(self, path: str | None) -> str | None:
        if path is None:
            return None
        name = f"{len(self._contents)}-{os.path.basename(path)}"
        self._contents[name] = path
        return name

    def futures(self, client: Any) -> dict[str, Any]:
        """The contents by name; Dask knows them by what makes them, so that they survive a lost worker."""
        return {name: client.submit(bytes, _read(path), pure=False) for name, path in self._contents.items()}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
