"""Is one ranker better than another? Bootstrap intervals and paired tests on per-query values of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from rankloom.core import FloatArray

_CHUNK = 1 << 22  # random numbers held at once


@dataclass(frozen=True)
class PairComparison:
    """Ranker `a` against ranker `b`.

    `difference` is the mean of a minus that of b; `wins` counts the queries where a is better, `losses` where b is.
    `p_randomization` and `p_t` are the two-sided p values of the paired tests, `holm_*` the same corrected for the
    number of pairs.
    """

    a: str
    b: str
    difference: float
    interval: tuple[float, float]
    p_randomization: float
    p_t: float
    holm_randomization: float
    holm_t: float
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several rankers on the same queries: `print` it, or take `to_dict()`.

    Attributes
    ----------
    names : the rankers, in the order given.
    metric : what was measured.
    values : ranker -> value of each query.
    means, intervals : ranker -> mean, and its bootstrap percentile interval over queries.
    pairs : a `PairComparison` for every two rankers.
    confidence : the coverage of the intervals.
    """

    names: tuple[str, ...]
    metric: str
    values: dict[str, FloatArray]
    means: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    pairs: tuple[PairComparison, ...]
    confidence: float

    @property
    def n_queries(self) -> int:
        """Number of queries compared."""
        return len(self.values[self.names[0]])

    def against(self, name: str) -> dict[str, tuple[float, float]]:
        """Of every other ranker: its mean less that of this one, and p of the randomisation test, by Holm."""
        found = {}
        for pair in self.pairs:
            if name in (pair.a, pair.b):
                other, sign = (pair.b, -1.0) if name == pair.a else (pair.a, 1.0)
                found[other] = (sign * pair.difference, pair.holm_randomization)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts and numbers that `json.dumps` takes."""
        return {
            "metric": self.metric,
            "n_queries": self.n_queries,
            "confidence": self.confidence,
            "rankers": [
                {
                    "name": name,
                    "mean": self.means[name],
                    "interval": list(self.intervals[name]),
                    "values": self.values[name].tolist(),
                }
                for name in self.names
            ],
            "pairs": [{**asdict(pair), "interval": list(pair.interval)} for pair in self.pairs],
        }

    def __str__(self) -> str:
        rows = [("ranker", "mean", "interval")]
        rows += [(name, f"{self.means[name]:.4f}", _spell(self.intervals[name])) for name in self.names]
        queries = "query" if self.n_queries == 1 else "queries"
        text = f"{self.metric} on {self.n_queries} {queries}, {self.confidence:.0%} intervals\n{_table(rows)}"
        if not self.pairs:
            return text
        head = ("pair", "difference", "interval", "p rand", "p t", "Holm rand", "Holm t", "wins", "losses", "ties")
        body = [
            (
                f"{p.a} - {p.b}",
                f"{p.difference:+.4f}",
                _spell(p.interval),
                *(_spell_p(value) for value in (p.p_randomization, p.p_t, p.holm_randomization, p.holm_t)),
                *(str(count) for count in (p.wins, p.losses, p.ties)),
            )
            for p in self.pairs
        ]
        return f"{text}\n\n{_table([head, *body])}"


def _spell(interval: tuple[float, float]) -> str:
    return f"[{interval[0]:.4f}, {interval[1]:.4f}]"


def _spell_p(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Align columns: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def compare_values(
    values: Mapping[str, ArrayLike],
    metric: str = "AP",
    *,
    n_bootstrap: int = 2000,
    n_permutations: int = 10000,
    confidence: float = 0.95,
    random_state: Any = 0,
    higher_is_better: bool = True,
) -> Comparison:
    """Compare rankers by the values that they reached on the same queries, which may come from several folds.

    Parameters
    ----------
    values : ranker -> one value per query, in the same order for all. Queries where a ranker has NaN are left out.
    metric : what the values are; a name for the report.
    n_bootstrap : resamples of the queries behind each interval.
    n_permutations : random sign flips of the randomisation test, which is exact where this many cover all of them.
    confidence : coverage of the intervals.
    random_state : seed. All rankers and pairs see the same resamples and the same flips.
    higher_is_better : whether the larger value wins a query.

    References
    ----------
    Smucker, Allan and Carterette, A comparison of statistical significance tests for information retrieval
    evaluation, CIKM 2007. Holm, A simple sequentially rejective multiple test procedure, 1979.

    Examples
    --------
    >>> print(compare_values({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.5, 0.8, 0.4, 0.5]}, "AP"))
    AP on 4 queries, 95% intervals
    ranker    mean          interval
    a       0.8250  [0.7500, 0.9000]
    b       0.5500  [0.4250, 0.7250]
    <BLANKLINE>
    pair   difference          interval  p rand     p t  Holm rand  Holm t  wins  losses  ties
    a - b     +0.2750  [0.1000, 0.4000]  0.2500  0.0622     0.2500  0.0622     3       0     1
    """
    names = tuple(values)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    matrix = _matrix(values)
    resampled = bootstrap_means(matrix, n_bootstrap, random_state)
    differences = _differences(matrix)
    return Comparison(
        names,
        metric,
        dict(zip(names, matrix, strict=True)),
        dict(zip(names, matrix.mean(axis=1).tolist(), strict=True)),
        {name: _percentiles(row, confidence) for name, row in zip(names, resampled, strict=True)},
        _pair_comparisons(
            names,
            matrix.mean(axis=1),
            differences if higher_is_better else -differences,
            [_percentiles(row, confidence) for row in _differences(resampled)],
            _sign_flip_tests(differences, n_permutations, random_state),
        ),
        float(confidence),
    )


def _differences(values: FloatArray) -> FloatArray:
    """The values of each ranker less those of each later one, one row per pair."""
    pairs = [values[a] - values[b] for a, b in combinations(range(len(values)), 2)]
    return np.array(pairs).reshape(len(pairs), values.shape[1])


def _pair_comparisons(
    names: tuple[str, ...],
    means: FloatArray,
    better: FloatArray,
    intervals: list[tuple[float, float]],
    p_random: list[float],
) -> tuple[PairComparison, ...]:
    """Every two rankers; `better` is above 0 where the first of a pair wins a query."""
    p_t = [paired_t_test(row) for row in better]
    holm_random, holm_t = holm(p_random), holm(p_t)
    return tuple(
        PairComparison(
            names[a],
            names[b],
            float(means[a] - means[b]),
            intervals[i],
            p_random[i],
            p_t[i],
            float(holm_random[i]),
            float(holm_t[i]),
            int((better[i] > 0).sum()),
            int((better[i] < 0).sum()),
            int((better[i] == 0).sum()),
        )
        for i, (a, b) in enumerate(combinations(range(len(names)), 2))
    )


def _matrix(values: Mapping[str, ArrayLike]) -> FloatArray:
    """Stack the values of the rankers on the queries that all of them have."""
    if not values:
        raise ValueError("values is empty: name at least one ranker")
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    first = next(iter(rows))
    for name, row in rows.items():
        if row.ndim != 1 or row.shape != rows[first].shape:
            raise ValueError(
                f"values must be one number a query and the same queries for all: {first!r} has shape "
                f"{rows[first].shape}, {name!r} has {row.shape}"
            )
        if np.isinf(row).any():
            raise ValueError(f"values of {name!r} are infinite in query {int(np.flatnonzero(np.isinf(row))[0])}")
    matrix = np.stack(list(rows.values()))
    matrix = matrix[:, ~np.isnan(matrix).any(axis=0)]
    if matrix.shape[1] == 0:
        raise ValueError("there is no query to compare on: all are missing or were skipped by the policy")
    return matrix


def _generator(random_state: Any) -> Any:
    from sklearn.utils import check_random_state  # here, because it loads much that a table of means does not need

    return check_random_state(random_state)


def _percentiles(means: FloatArray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def bootstrap_means(values: ArrayLike, n_bootstrap: int = 2000, random_state: Any = 0) -> FloatArray:
    """Resample queries with replacement and return the means, shape (n_rankers, n_bootstrap).

    Parameters
    ----------
    values : array of shape (n_rankers, n_queries); all rankers see the same resamples.

    References
    ----------
    Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 13 (percentile intervals).

    Examples
    --------
    >>> bootstrap_means([[2.0, 2.0]], n_bootstrap=3).tolist()
    [[2.0, 2.0, 2.0]]
    """
    matrix = np.asarray(values, dtype=np.float64)
    if n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be at least 1, got {n_bootstrap}")
    random = _generator(random_state)
    n_queries = matrix.shape[1]
    means = np.empty((len(matrix), n_bootstrap))
    at_once = max(1, _CHUNK // n_queries)
    for start in range(0, n_bootstrap, at_once):
        stop = min(start + at_once, n_bootstrap)
        drawn = random.randint(0, n_queries, size=(stop - start, n_queries), dtype=np.int32)
        for row, out in zip(matrix, means, strict=True):
            out[start:stop] = row[drawn].mean(axis=1)
    return means


def sign_flip_test(differences: ArrayLike, n_permutations: int = 10000, random_state: Any = 0) -> float:
    r"""Test whether the mean of paired differences is 0, by flipping their signs (Fisher's randomisation test).

    Two-sided. With at most `n_permutations` sign patterns $s\in\{-1,1\}^n$ of the differences that are not 0, all are
    taken: $p=2^{-n}\,|\{s:|s\cdot d|\ge|\sum d|\}|$. Otherwise $B$ random ones: $p=(1+|\{\ldots\}|)/(1+B)$.

    References
    ----------
    Smucker, Allan and Carterette, CIKM 2007, section 2.1.

    Examples
    --------
    >>> sign_flip_test([1.0, 2.0, 3.0])
    0.25
    """
    rows = np.asarray(differences, dtype=np.float64)[None, :]
    return _sign_flip_tests(rows, n_permutations, random_state)[0]


def _sign_flip_tests(differences: FloatArray, n_permutations: int, random_state: Any) -> list[float]:
    """Test each row; the random ones together, with the same flips."""
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    p_values = np.ones(len(differences))
    sampled = []
    for i, row in enumerate(differences):
        moved = row[row != 0]
        if len(moved) < 63 and 2 ** len(moved) <= n_permutations:
            flips = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
            p_values[i] = _extreme(flips.astype(np.float64), moved[None, :])[0] / len(flips)
        else:
            sampled.append(i)
    if sampled:
        random = _generator(random_state)
        n_queries = differences.shape[1]
        n_bytes = -(-n_queries // 8)
        extreme = np.zeros(len(sampled))
        at_once = max(1, _CHUNK // n_queries)
        for start in range(0, n_permutations, at_once):
            count = min(at_once, n_permutations - start)
            bits = np.frombuffer(random.bytes(count * n_bytes), dtype=np.uint8).reshape(count, n_bytes)
            signs = np.unpackbits(bits, axis=1, count=n_queries)
            extreme += _extreme(signs.astype(np.float64), differences[sampled])
        p_values[sampled] = (1 + extreme) / (1 + n_permutations)
    return [float(p) for p in p_values]


def _extreme(flips: FloatArray, differences: FloatArray) -> FloatArray:
    """Count the flips (1: flipped) whose sum of differences is at least as far from 0 as the one observed."""
    total = differences.sum(axis=1)
    sums = np.abs(total - 2 * (flips @ differences.T))
    # Patterns that tie with the observed one must count, whatever the rounding of their sums.
    slack = 1e-12 * np.abs(differences).sum(axis=1)
    count: FloatArray = (sums >= np.abs(total) - slack).sum(axis=0).astype(np.float64)
    return count


def paired_t_test(differences: ArrayLike) -> float:
    r"""Return the two-sided p of the paired t test, $t=\bar d\sqrt n/s$ with $n-1$ degrees of freedom.

    It is 1 for a single query or if all differences are 0, and 0 if all are the same but not 0.

    Examples
    --------
    >>> round(paired_t_test([1.0, 2.0, 3.0]), 4)
    0.0742
    """
    d = np.asarray(differences, dtype=np.float64)
    mean = d.mean()
    if len(d) < 2 or not d.any():
        return 1.0
    deviation = d.std(ddof=1)
    if (d == d[0]).all() or deviation == 0:
        return 0.0
    return float(2 * stdtr(len(d) - 1, -abs(mean) * np.sqrt(len(d)) / deviation))


def holm(p_values: ArrayLike) -> FloatArray:
    r"""Correct p values for their number: $\tilde p_{(i)}=\max_{j\le i}\min(1,(m-j+1)p_{(j)})$.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected
