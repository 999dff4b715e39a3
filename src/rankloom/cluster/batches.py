"""What a Dask worker does with a batch: fetch files that are elsewhere, and hand tasks to processes of its own.

The processes are those of a single machine (`rankloom.collection._pool.Worker`). They are kept warm from batch to
batch, one for each thread that works on a job, and end with the job, or after a minute without work.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock, Timer
from typing import Any, NamedTuple

import rankloom
from rankloom._addresses import RemoteFile, copy_address, is_address, remote_file
from rankloom.cluster.connecting import ClusterError
from rankloom.collection._pool import Job, TaskLost, Worker
from rankloom.collection.describing import DescribedFile, DescriberSettings, FileTask
from rankloom.media import MediaError, kind_of
from rankloom.media.errors import reason

IDLE_SECONDS = 60.0

Result = tuple[Any, str | None]  # what a task gave, or why it was lost


class BatchJob(NamedTuple):
    """A job as it is sent to workers: who it is of, what to do, what they must see, and files that come with it.

    These are the arguments of `do_batch` behind its tasks; the files are futures until they are there.
    """

    key: str
    version: str
    job: Job
    roots: tuple[str, ...]
    files: dict[str, Any]


class _Crew:
    """The processes of a job on this worker, and the files that came with it."""

    def __init__(self, job: Job, files: Mapping[str, bytes]):
        self.folder = tempfile.mkdtemp(prefix="rankloom-job-", dir=_scratch())
        for name, content in files.items():
            Path(self.folder, name).write_bytes(content)
        self._job = job._replace(settings=_at_home(job.settings, self.folder))
        self.idle: list[Worker] = []
        self.busy: list[Worker] = []
        self.timer: Timer | None = None

    def take(self) -> Worker:
        """A process that nobody uses."""
        if self.timer is not None:
            self.timer.cancel()
        self.busy.append(self.idle.pop() if self.idle else Worker(self._job))
        return self.busy[-1]

    def close(self) -> None:
        """End the processes, also those at work, whose batches nobody waits for; and forget the files."""
        for worker in (*self.idle, *self.busy):
            worker.stop()
        for worker in self.idle:
            worker.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_crews: dict[str, _Crew] = {}
_ended: deque[str] = deque(maxlen=1000)  # jobs of which a batch may still come, though nobody waits for it
_lock = Lock()  # of all crews


@contextmanager
def _process(key: str, job: Job, files: Mapping[str, bytes]) -> Iterator[Worker]:
    """A process of a job that nobody else uses meanwhile."""
    with _lock:
        if key in _ended:
            raise ClusterError("the run has ended")
        if key not in _crews:
            _crews[key] = _Crew(job, files)
        crew = _crews[key]
        worker = crew.take()
    try:
        yield worker
    finally:
        with _lock:
            crew.busy.remove(worker)
            crew.idle.append(worker)
            gone = _crews.get(key) is not crew
            if not gone and not crew.busy:
                crew.timer = Timer(IDLE_SECONDS, _rest, [key])
                crew.timer.daemon = True
                crew.timer.start()
        if gone:
            worker.close()


def _rest(key: str) -> None:
    """End what a job has on this worker, if it does nothing: its coordinator may be gone. A new batch begins anew."""
    with _lock:
        crew = None if key not in _crews or _crews[key].busy else _crews.pop(key)
    if crew is not None:
        crew.close()


def close_crews(key: str) -> None:
    """End what a job has left on this worker, for good."""
    with _lock:
        _ended.append(key)
        crew = _crews.pop(key, None)
        if crew is not None and crew.timer is not None:
            crew.timer.cancel()
    if crew is not None:
        crew.close()


def do_batch(
    tasks: list[tuple[Any, ...]], key: str, version: str, job: Job, roots: tuple[str, ...], files: Mapping[str, bytes]
) -> list[Result]:
    """The results of some tasks. What is wrong with a file is in its result; what is wrong here is raised."""
    if version != rankloom.__version__:
        raise ClusterError(f"a worker has Rankloom {rankloom.__version__}, not {version}; install the same everywhere")
    for root in roots:
        if not os.path.exists(root):
            raise ClusterError(f"a worker does not see {root}: mount it there too, or index an object store")
    with _process(key, job, files) as worker:
        return [_done(worker, task) for task in tasks]


def _done(worker: Worker, task: tuple[Any, ...]) -> Result:
    try:
        if not is_address(task[0]):
            return worker.do(task), None
        with tempfile.TemporaryDirectory(prefix="rankloom-", dir=_scratch()) as folder:
            return _done_elsewhere(worker, task, folder), None
    except TaskLost as loss:
        return None, str(loss)


def _done_elsewhere(worker: Worker, task: tuple[Any, ...], folder: str) -> Any:
    """The result of a task whose file has an address: of a copy in a folder that has its place and name."""
    address = task[0]
    try:
        now = remote_file(address)
        path = _copied(now, folder)
        for other in task.beside if isinstance(task, FileTask) else ():
            with suppress(FileNotFoundError):  # gone since it was listed
                _copied(remote_file(other), folder)
    except (OSError, MediaError, ValueError) as error:
        why = f"it could not be fetched: {reason(error)}"
        if isinstance(task, FileTask):
            return DescribedFile(address, kind_of(address) or "", -1, -1, error=why)
        raise TaskLost(why) from None
    if isinstance(task, FileTask):
        root = None if task.root is None else _place(task.root, folder)
        result = worker.do((path, root, task.known))
    else:
        result = worker.do((path, *task[1:]))
    if isinstance(result, DescribedFile):
        wrong = None if result.error is None else result.error.replace(folder, "")
        result = replace(result, path=address, size=now.size, mtime_ns=now.mtime_ns, error=wrong)
    return result


def _copied(file: RemoteFile, folder: str) -> str:
    """A copy of a file, if there is room for it."""
    path = _place(file.path, folder)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if file.size > shutil.disk_usage(folder).free:
        raise MediaError(f"its {file.size / 1e6:,.0f} MB do not fit on the disk of the worker")
    copy_address(file.path, path)
    return path


def _place(address: str, folder: str) -> str:
    """Where a copy of an address is kept: below the folder, in folders of the same names.

    >>> _place("s3://bucket/a/b.jpg", "/tmp/x")
    '/tmp/x/bucket/a/b.jpg'
    """
    parts = [part for part in address.split("://", 1)[1].split("/") if part]
    if not parts or any(part in (".", "..") or "\0" in part for part in parts):
        raise ValueError("its address is not a path")
    return os.path.join(folder, *parts)


def _at_home(settings: Any, folder: str) -> Any:
    """Settings whose files are those of a folder."""
    if not isinstance(settings, DescriberSettings):
        return settings
    encoders = []
    for name, options in settings.encoders:
        arguments = json.loads(options)
        for key in ("image_onnx", "text_onnx", "tokenizer"):
            if arguments.get(key):
                arguments[key] = os.path.join(folder, arguments[key])
        encoders.append((name, json.dumps(arguments)))
    vocabulary = None if settings.vocabulary is None else os.path.join(folder, settings.vocabulary)
    return replace(settings, vocabulary=vocabulary, encoders=tuple(encoders))


def _scratch() -> str | None:
    """The folder that Dask clears after a worker that was killed; None for the system's outside of a worker."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None
