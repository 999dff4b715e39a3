"""What a step of a report takes: by the clock, and of processors, with the processes that it started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from joblib.externals.loky import get_reusable_executor


@dataclass
class Minutes:
    """Minutes by the clock, and of processors."""

    clock: float = 0.0
    processors: float = 0.0


@contextmanager
def measured() -> Iterator[Minutes]:
    """Minutes that are known once the block has ended; its worker processes end too, as only then they are counted."""
    minutes = Minutes()
    began, used = monotonic(), _processor_seconds()
    yield minutes
    get_reusable_executor().shutdown(wait=True)
    minutes.clock, minutes.processors = (monotonic() - began) / 60, (_processor_seconds() - used) / 60


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
