"""Watch folders, and say when files in them have changed and are written to the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic

from rankloom.media import kind_of

SETTLE_SECONDS = 2.0  # without a change, after which a file is taken for written to the end
LOOK_SECONDS = 0.5  # between two looks while nothing happens


class Unsettled:
    """Paths that have changed a short while ago.

    Parameters
    ----------
    clock : the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic):
        self.clock = clock
        self._seen: dict[str, tuple[tuple[int, int] | None, float]] = {}

    def add(self, paths: Iterable[str]) -> None:
        """Take paths that have changed now."""
        now = self.clock()
        self._seen.update((path, (_stamp(path), now)) for path in paths)

    def settled(self) -> set[str]:
        """The paths that have not changed for `SETTLE_SECONDS`; they are forgotten."""
        now = self.clock()
        self.add([path for path, (stamp, _) in self._seen.items() if _stamp(path) != stamp])
        settled = {path for path, (_, since) in self._seen.items() if now - since >= SETTLE_SECONDS}
        for path in settled:
            del self._seen[path]
        return settled

    @property
    def paths(self) -> frozenset[str]:
        """Those that may still change."""
        return frozenset(self._seen)


def _stamp(path: str) -> tuple[int, int] | None:
    """Size and time of a file or folder; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def watch(
    roots: Sequence[str | os.PathLike[str]], besides: str | os.PathLike[str], until: Callable[[], bool] = lambda: False
) -> Iterator[frozenset[str]]:
    """Yield once when the folders are watched, then whenever changes in them have settled.

    What is yielded are the files that are being written just now. Nothing that happens between two of them is missed.

    Parameters
    ----------
    roots : files and folders.
    besides : a folder that is not watched, also inside of these: that of the collection.
    until : asked at every look whether to end.
    """
    from watchfiles import Change
    from watchfiles import watch as changes_in

    places = [os.path.abspath(root) for root in roots if os.path.exists(root)]
    if not places:
        raise ValueError("nothing to watch: name a folder that is there")
    inside = Path(os.path.abspath(besides))

    def matters(change: Change, path: str) -> bool:
        """Whether a picture or video may have come, changed or gone; what is gone may have been a folder of them."""
        if inside in (Path(path), *Path(path).parents):
            return False
        return kind_of(path) is not None or change == Change.deleted or os.path.isdir(path)

    unsettled, watching = Unsettled(), False
    looks = changes_in(
        *places, watch_filter=matters, rust_timeout=round(1000 * LOOK_SECONDS), yield_on_timeout=True
    )  # fmt: skip
    for changes in looks:
        if until():
            return
        unsettled.add(path for _, path in changes)
        if unsettled.settled() or not watching:
            watching = True
            yield unsettled.paths


def check_watching() -> None:
    """Refuse to begin what cannot be watched."""
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        raise ImportError("--watch needs watchfiles; install it with: pip install 'rankloom[watch]'") from None
