"""Parts of data on Dask workers: computed with where they lie, loaded again elsewhere if their worker is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from rankloom.cluster.connecting import ClusterError

MOST_AT_ONCE = 16  # results of parts that are added up in one place


class DaskParts:
    """Parts that Dask holds; Dask knows how each is made, and makes those of a lost worker again.

    Every part is one future with a key of its own, so that its result is counted once, however often it was computed.

    Parameters
    ----------
    client : of the cluster.
    futures : one a part.
    """

    def __init__(self, client: Any, futures: Sequence[Any]):
        self.client, self.futures = client, list(futures)

    def __len__(self) -> int:
        return len(self.futures)

    def call(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(part, *args)` of every part, in their order."""
        return self._gather(self._map(function, args))

    def total(self, function: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        """The sums of the numbers or arrays that `function(part, *args)` gives, added up on the cluster."""
        futures = self._map(function, args)
        while len(futures) > MOST_AT_ONCE:
            groups = [futures[first : first + MOST_AT_ONCE] for first in range(0, len(futures), MOST_AT_ONCE)]
            futures = self.client.map(add_up, groups, pure=False)
        return add_up(self._gather(futures))

    def derive(self, function: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None) -> DaskParts:
        """What `function(part, *args)` gives, kept where it is; `each` has one more argument for every part."""
        return type(self)(self.client, self._map(function, args, each))

    def _map(self, function: Callable[..., Any], args: Sequence[Any], each: Sequence[Any] | None = None) -> list[Any]:
        own = [()] * len(self.futures) if each is None else [(argument,) for argument in each]
        futures: list[Any] = self.client.map(
            _apply, self.futures, own, function=function, args=tuple(args), pure=False, key=function.__name__.strip("_")
        )
        return futures

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        with one_line_errors(self.client):
            results: list[Any] = self.client.gather(list(futures))
        return results


def _apply(part: Any, own: tuple[Any, ...], *, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return function(part, *own, *args)


def add_up(results: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sums of the numbers or arrays at each place.

    >>> add_up([(1, 2.0), (3, 4.0)])
    (4, 6.0)
    """
    return tuple(sum(values[1:], start=values[0]) for values in zip(*results, strict=True))


@contextmanager
def one_line_errors(client: Any) -> Iterator[None]:
    """Turn what Dask raises for lost workers and schedulers into a ClusterError."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(f"workers died again and again: {' '.join(str(error).split())[:300]}") from None
    except (CancelledError, CommClosedError, TimeoutError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ClusterError(f"the connection to the cluster was lost: {reason}") from None
