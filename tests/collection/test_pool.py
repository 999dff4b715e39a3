"""Worker processes: in order, without the user's main module, and safe against deaths and hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from multiprocessing.spawn import get_executable, set_executable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index
from rankloom.collection._pool import _AHEAD, WorkerError, run_in_order

pytestmark = pytest.mark.slow

# What a user writes who has never heard of `if __name__ == "__main__"`.
SCRIPT = """
import sys
from rankloom.collection import Collection, index
print("main module runs", __name__)
with Collection({folder!r}, create=True) as collection:
    report = index(collection, [{pictures!r}], preset="paper36", workers=1, ocr=False, speech=False)
    print("stored", report.stored, "failed", report.failed)
"""


def prepare_nothing(_: Any) -> None:
    pass


def prepare_badly(_: Any) -> None:
    raise ValueError("no\nmodel here")


def prepare_deadly(_: Any) -> None:
    os.kill(os.getpid(), 9)


def same(number: int, *, alive: Any) -> int:
    alive()
    return number


def fragile(number: int, *, alive: Any) -> int:
    if number == 5:
        os.kill(os.getpid(), 9)
    return number


def unlucky(folder: str, *, alive: Any) -> str:
    """Dies at the first try only, as when another program took all the memory."""
    mark = Path(folder, "tried")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return "done"


def hanging(number: int, *, alive: Any) -> int:
    if number == 2:
        threading.Event().wait()  # for ever
    return number


def raising(number: int, *, alive: Any) -> int:
    raise KeyError("unexpected")


def greedy(megabytes: int, *, alive: Any) -> str:
    try:
        return f"{len(bytearray(megabytes * 1_000_000))} bytes"
    except MemoryError:
        return "refused"


def forgetful(number: int, *, alive: Any) -> int:
    if number == 2:
        raise MemoryError
    return number


hoard: list[bytearray] = []


def hoarding(megabytes: int, *, alive: Any) -> int:
    """Keeps some memory, and tells which process has it."""
    hoard.append(bytearray(megabytes << 20))
    return os.getpid()


def telling(folder: str, *, alive: Any) -> str:
    """Goes on until somebody has noted what it does."""
    while not Path(folder, "noted").exists():
        alive("digging")
        threading.Event().wait(0.05)
    return "done"


def prepare_once(folder: str) -> None:
    Path(folder, f"prepared by {os.getpid()}").touch()


def deadly(number: int, *, alive: Any) -> int:
    os.kill(os.getpid(), 9)
    return number


def slow_first(folder: str, number: int, *, alive: Any) -> int:
    """The first waits until all others are done."""
    Path(folder, str(number)).touch()
    while number == 0 and len(os.listdir(folder)) < 100:
        alive()
        threading.Event().wait(0.01)
    return number


def run(function: Any, tasks: Any, *, prepare: Any = prepare_nothing, workers: int = 2, **options: Any) -> list[Any]:
    def failed(task: tuple[Any, ...], why: str) -> tuple[Any, ...]:
        return *task, why

    return list(
        run_in_order(
            function, tasks, workers=workers, prepare=prepare, settings=None, failed=failed, **options
        )
    )  # fmt: skip


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_order(workers: int) -> None:
    assert run(same, [(n,) for n in range(200)], workers=workers) == list(range(200))


def test_a_worker_that_dies_costs_one_file() -> None:
    died = (5, "the decoder crashed on it: it was killed by SIGKILL")
    assert run(fragile, [(n,) for n in range(12)]) == [died if n == 5 else n for n in range(12)]


def test_a_task_whose_worker_dies_is_tried_twice(tmp_path: Path) -> None:
    assert run(unlucky, [(str(tmp_path),)], workers=1) == ["done"]


def test_deaths_do_not_make_the_work_be_prepared_again(tmp_path: Path) -> None:
    results = run_in_order(
        deadly, [(n,) for n in range(20)], workers=2, prepare=prepare_once, settings=str(tmp_path),
        failed=lambda task, why: task[0],
    )  # fmt: skip
    assert list(results) == list(range(20))  # each of them killed two processes
    assert len(os.listdir(tmp_path)) <= 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only there the memory of a process is known")
def test_a_worker_takes_a_bounded_amount_of_memory() -> None:
    assert run(greedy, [(100,), (1000,), (100,)], workers=1) == ["100000000 bytes", "refused", "100000000 bytes"]


def test_a_task_that_runs_out_of_memory_costs_that_task() -> None:
    lost = (2, "the decoder crashed on it: it ran out of memory")
    assert run(forgetful, [(n,) for n in range(4)], workers=1) == [lost if n == 2 else n for n in range(4)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only there the memory of a process is known")
def test_a_worker_that_keeps_memory_is_replaced() -> None:
    first, second, third, fourth = run(hoarding, [(1,), (200,), (1,), (1,)], workers=1)
    assert first == second != third == fourth


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_being_done_can_be_watched(tmp_path: Path, workers: int) -> None:
    watch = Path(tmp_path, "noted").write_text
    assert run(telling, [(str(tmp_path),)], workers=workers, watch=watch) == ["done"]
    assert Path(tmp_path, "noted").read_text() == "digging"


def test_a_slow_task_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """The first ends when the last has begun, which is not among those that are taken ahead of it."""
    results = run(slow_first, [(str(tmp_path), n) for n in range(100)], patience=0.1)
    assert sorted(results) == list(range(100))
    assert results.index(0) >= 100 - 2 * _AHEAD


def test_a_worker_that_hangs_costs_one_file() -> None:
    hung = (2, "the decoder hung on it: no sign of life for 5 s")
    assert run(hanging, [(n,) for n in range(6)], stall_seconds=5.0) == [hung if n == 2 else n for n in range(6)]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (prepare_badly, "a worker process could not start: ValueError: no model here"),
        (prepare_deadly, "a worker process could not start: it was killed by SIGKILL"),
    ],
)
def test_workers_that_cannot_start_end_the_run(prepare: Any, message: str) -> None:
    with pytest.raises(WorkerError) as caught:
        run(same, [(n,) for n in range(50)], prepare=prepare)
    assert str(caught.value) == message


def test_an_error_of_our_own_ends_the_run() -> None:
    with pytest.raises(WorkerError, match=r"^a worker process failed: KeyError: 'unexpected'$"):
        run(raising, [(1,)])


def test_workers_end_with_the_run() -> None:
    results = run_in_order(
        process_number, [(n,) for n in range(100)], workers=2, prepare=prepare_nothing, settings=None, failed=max
    )
    workers = {next(results) for _ in range(20)}
    results.close()
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def process_number(_: int, *, alive: Any) -> int:
    return os.getpid()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "my pictures"
    folder.mkdir()
    for n in range(5):
        cv2.imwrite(str(folder / f"{n}.png"), np.full((32, 48, 3), 40 * n, np.uint8))
    return folder


def said(text):
    """The lines of standard error, without those of OpenCV about the processor that it was told to run as."""
    return [line for line in text.splitlines() if not line.startswith("OPENCV:")]


class TestScriptsWithoutAGuard:
    def ran(self, command: list[str], folder: Path, given: str | None = None) -> None:
        done = subprocess.run(
            [sys.executable, *command], input=given, capture_output=True, text=True, timeout=300, cwd=folder
        )
        assert (said(done.stderr), done.returncode) == ([], 0)
        assert done.stdout.splitlines() == ["main module runs __main__", "stored 5 failed 0"]

    def script(self, tmp_path: Path, pictures: Path) -> str:
        return SCRIPT.format(folder=str(tmp_path / "collection"), pictures=str(pictures))

    def test_file_with_spaces_in_its_path(self, tmp_path: Path, pictures: Path) -> None:
        file = tmp_path / "a folder" / "my script.py"
        file.parent.mkdir()
        file.write_text(self.script(tmp_path, pictures))
        self.ran([str(file)], tmp_path)

    def test_standard_input(self, tmp_path: Path, pictures: Path) -> None:
        self.ran(["-"], tmp_path, self.script(tmp_path, pictures))

    def test_module(self, tmp_path: Path, pictures: Path) -> None:
        (tmp_path / "unguarded.py").write_text(self.script(tmp_path, pictures))
        self.ran(["-m", "unguarded"], tmp_path)

    def test_main_module_without_a_file(self, tmp_path: Path, pictures: Path) -> None:
        """As in a notebook: what runs is no file, and `__main__` has no `__file__`."""
        self.ran(["-c", self.script(tmp_path, pictures)], tmp_path)


def test_worker_that_cannot_be_executed_is_an_error(tmp_path: Path, pictures: Path) -> None:
    python = get_executable()
    set_executable(str(tmp_path / "no python"))
    try:
        with (
            Collection(tmp_path / "c", create=True) as collection,
            pytest.raises(WorkerError, match=r"could not start: .*no python.*workers=0") as caught,
        ):
            index(collection, [pictures], preset="paper36", workers=2, ocr=False, speech=False)
    finally:
        set_executable(python)
    assert "\n" not in str(caught.value)
