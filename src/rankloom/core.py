"""The small immutable types that modules hand to each other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Matrix = Any  # rows of features: a FloatArray, or compact ones, a float32 array or scipy's csr_array


class Qrel(NamedTuple):
    """A judgement: how well an item answers a query."""

    qid: str
    id: str
    grade: float


class Hit(NamedTuple):
    """A result: an item, its place in the list (from 1) and its score (higher is better)."""

    rank: int
    id: str
    score: float


@dataclass(frozen=True, eq=False)
class RankingData:
    """Rows of features with a grade and a query each.

    Iterating yields `X, y, qid`, so that `X, y, qid = load_letor(path)` works.

    Parameters
    ----------
    X : array of shape (n_rows, n_features), dense or a `scipy.sparse.csr_array`
    y : array of shape (n_rows,)
        Grades, higher is better.
    qid : array of shape (n_rows,)
        The query of each row; any hashable values, in any order.
    ids : sequence of str, optional
        The item of each row, where the source names it.
    feature_names : sequence of str, optional
    """

    X: Matrix
    y: FloatArray
    qid: NDArray[Any]
    ids: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.qid))

    def __len__(self) -> int:
        return len(self.y)

    def __sizeof__(self) -> int:
        """The bytes of the arrays: what it costs to move the rows elsewhere."""
        arrays = (self.X,) if isinstance(self.X, np.ndarray) else (self.X.data, self.X.indices, self.X.indptr)
        return sum(array.nbytes for array in (*arrays, self.y, np.asarray(self.qid)))

    def widened(self, n_features: int) -> RankingData:
        """Return the same rows with columns of 0 at the end, up to `n_features`.

        For sparse text, where the last features may be 0 in every row of a file. Tables name their features and stay.
        """
        missing = n_features - self.X.shape[1]
        if missing <= 0 or self.feature_names is not None:
            return self
        if not isinstance(self.X, np.ndarray):
            return replace(self, X=type(self.X)((self.X.data, self.X.indices, self.X.indptr), (len(self), n_features)))
        return replace(self, X=np.pad(self.X, ((0, 0), (0, missing))))

    def take(self, rows: Any) -> RankingData:
        """Return the given rows (numbers or a mask) as a new RankingData."""
        numbers = np.arange(len(self))[rows]
        ids = None if self.ids is None else [self.ids[i] for i in numbers]
        return RankingData(self.X[numbers], self.y[numbers], self.qid[numbers], ids, self.feature_names)


def listed(names: Iterable[str], most: int = 12) -> str:
    r"""Names from a file, for an error of one line: line breaks are shown as such, and many names are cut short.

    >>> listed(["path", "a\nb"]), listed([])
    ('path, a\\nb', 'none')
    """
    names = [*names]
    shown = ", ".join(repr(name[:40])[1:-1] for name in names[:most])
    return (shown + (", ..." if len(names) > most else "")) or "none"


K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[V]):
    """What was read about numbered things, as long as nothing has changed. It may be used from several threads.

    Parameters
    ----------
    most : how many are remembered; beyond, all are forgotten.

    Examples
    --------
    >>> names: Remembered[str] = Remembered(100)
    >>> names.get("monday", [3, 5], lambda missing: {number: f"item {number}" for number in missing})
    {3: 'item 3', 5: 'item 5'}
    >>> names.get("monday", [5, 8], lambda missing: {number: "read now" for number in missing})
    {5: 'item 5', 8: 'read now'}
    """

    def __init__(self, most: int):
        self.most = most
        self._known: tuple[Hashable, dict[int, V]] = (None, {})

    def get(
        self, state: Hashable, numbers: Iterable[int], read: Callable[[list[int]], Mapping[int, V]]
    ) -> dict[int, V]:
        """Things by their numbers; those that cannot be read are left out.

        Parameters
        ----------
        state : read before what it stands for; another one forgets everything.
        numbers : the things.
        read : reads those that are not known.
        """
        wanted = [*numbers]
        of, known = self._known
        if of != state or len(known) + len(wanted) > self.most:
            known = {}
            self._known = (state, known)
        missing = [number for number in wanted if number not in known]
        if missing:
            known.update(read(missing))
        return {number: known[number] for number in wanted if number in known}


class LRU(Generic[K, V]):
    """A cache that forgets what was not used for longest. It may be used from several threads.

    Parameters
    ----------
    size : how many values it keeps.

    Examples
    --------
    >>> cache: LRU[str, int] = LRU(2)
    >>> cache.put("a", 1); cache.put("b", 2)
    >>> cache.get("a")
    1
    >>> cache.put("c", 3)
    >>> cache.get("b") is None
    True
    """

    def __init__(self, size: int):
        self.size = size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of a key, which is now the last used; None if it is not there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()


class Shared(Generic[K, V]):
    """Computations that several threads may ask for at the same time: one computes, the others wait for its result.

    Examples
    --------
    >>> squares: Shared[int, int] = Shared()
    >>> squares.run(7, lambda: 49)
    49
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[K, Future[V]] = {}

    def run(self, key: K, compute: Callable[[], V]) -> V:
        """The result for a key; an error is raised in all threads that wait for it."""
        with self._lock:
            future = self._running.get(key)
            mine = future is None
            if future is None:
                future = self._running[key] = Future()
        if mine:
            try:
                future.set_result(compute())
            except BaseException as error:
                future.set_exception(error)
            finally:
                with self._lock:
                    del self._running[key]
        return future.result()
