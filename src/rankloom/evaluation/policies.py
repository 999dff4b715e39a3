"""What every metric stands on: the conventions (`Policy`), and the lists of all queries as flat arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.groups import Groups

AVERAGED = ("average", "blocks")


def _exponential(grade: FloatArray) -> FloatArray:
    if grade.max(initial=0.0) > 1000:
        raise ValueError(f"gain 2^g - 1 overflows for grade {grade.max():g}; use a policy with gain='linear'")
    return np.exp2(grade) - 1.0


# The divisor at each rank. LETOR's leaves ranks 1 and 2 whole.
DISCOUNTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log2": lambda rank: np.log2(rank + 1.0),
    "letor": lambda rank: np.log2(np.maximum(rank, 2.0)),
}
GAINS: dict[str, Callable[[FloatArray], FloatArray]] = {"linear": lambda grade: grade, "exponential": _exponential}
_CHOICES = {
    "gain": tuple(GAINS),
    "discount": tuple(DISCOUNTS),
    "ties": ("worst", "best", "average", "blocks"),
    "short": ("padded", "zero"),
    "empty": (0, 1, "skip"),
    "ap_denominator": ("relevant", "min"),
    "p_denominator": ("k", "min"),
}


@dataclass(frozen=True)
class Policy:
    r"""The conventions of a metric. Nothing in it depends on the order of rows.

    Parameters
    ----------
    gain : "linear" $g$ or "exponential" $2^g-1$, or a non-decreasing function of an array. Negative grades gain 0.
    discount : "log2" $\log_2(i+1)$, or "letor" $\max(1,\log_2 i)$, or a function of an array of ranks.
    ties : what equal scores of a query are worth.

        * "worst": low grades stand first, so that a ranker cannot gain by tying; "best": high grades stand first.
        * "average": the expected value over all orders of the tied rows, exactly, for every metric but tau. ERR costs
          $O(m\min(m,k))$ for $m$ tied rows of different grades, the others $O(m)$.
        * "blocks": as "average", but AP takes the precision at the end of a block for all its rows, as scikit-learn
          does; with a cut-off, rows of the block past $k$ are left out.

        tau-b has its own treatment of ties. For swaps, a tied pair of different grades counts 1, 0, 1/2, 1/2.
    short : nDCG@k of a list shorter than k: "padded" with rows of gain 0, or "zero".
    empty : 0, 1, or "skip": the value of queries without a relevant row. A query counts as such if it has no row of
        grade `relevant` (AP, RR, P), no gain (nDCG, MeanNDCG, ERR), one grade only (tau, swaps). P and swaps are
        well-defined there and stay 0 under 1. Skipped queries are NaN a query and not in the mean.
    ap_denominator : AP@k over the number "relevant" $R$, or over "min" $\min(k,R)$.
    p_denominator : P@k over "k", or over "min" $\min(k,n)$.
    relevant : the lowest grade that counts as relevant.
    max_grade : the highest grade of the scale, for ERR; None takes the largest of y.

    Examples
    --------
    >>> from rankloom.evaluation.metrics import evaluate
    >>> evaluate([0, 1], [5, 5], metrics="RR", policy=Policy(ties="average"))
    {'RR': 0.75}
    """

    gain: str | Callable[[FloatArray], FloatArray] = "linear"
    discount: str | Callable[[FloatArray], FloatArray] = "log2"
    ties: str = "worst"
    short: str = "padded"
    empty: float | str = 0.0
    ap_denominator: str = "relevant"
    p_denominator: str = "k"
    relevant: float = 1.0
    max_grade: float | None = None

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            value = getattr(self, field)
            if value not in choices and not (callable(value) and field in ("gain", "discount")):
                raise ValueError(f"Policy: {field} must be one of {', '.join(map(repr, choices))}, got {value!r}")

    def gains(self, grade: FloatArray) -> FloatArray:
        """The gain of each grade."""
        function = GAINS[self.gain] if isinstance(self.gain, str) else self.gain
        return function(np.maximum(grade, 0.0))

    def discounts(self, rank: NDArray[Any]) -> FloatArray:
        """The divisor at each rank."""
        function = DISCOUNTS[self.discount] if isinstance(self.discount, str) else self.discount
        return function(rank.astype(np.float64))


# Each is tested against the program of its name, letor4 against a transcription of Eval-Score-4.0.pl's rules.
POLICIES = {
    "trec": Policy(),
    "letor4": Policy(gain="exponential", discount="letor", short="zero"),
    "sklearn": Policy(ties="blocks"),
    "lightgbm": Policy(gain="exponential", empty=1.0, ap_denominator="min"),
    "xgboost": Policy(gain="exponential", empty=1.0, ap_denominator="min", p_denominator="min"),
}


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The rows of all queries, one query after another, best score first.

    Attributes
    ----------
    query : number of each row's query.
    starts : first row of each query.
    rank : place of each row in its list, from 1.
    grade : grade of each row.
    ties : the rule by which the order within `blocks` was made.
    blocks : first row of each run of equal scores.
    retrieved : False for rows that the list does not show; they stand last.
    """

    query: IntArray
    starts: IntArray
    rank: IntArray
    grade: FloatArray
    ties: str
    blocks: IntArray
    retrieved: NDArray[np.bool_]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each query."""
        return np.diff(self.starts, append=len(self.rank))

    @cached_property
    def ideal(self) -> IntArray:
        """The order of rows that puts high grades first within each query."""
        return np.lexsort((-self.grade, self.query))

    @cached_property
    def averaged(self) -> bool:
        """Whether equal scores stay tied; where no two scores are equal there is nothing to average."""
        return self.ties in AVERAGED and len(self.blocks) < len(self.rank)

    @cached_property
    def block_sizes(self) -> IntArray:
        """Number of rows of each block."""
        return np.diff(self.blocks, append=len(self.rank))

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum one value per row to one value per query."""
        total: NDArray[Any] = np.add.reduceat(values, self.starts)
        return total

    def share(self, values: FloatArray) -> FloatArray:
        """Give each row of a tied block the mean of its block, if ties are averaged."""
        if not self.averaged:
            return values
        return np.repeat(np.add.reduceat(values, self.blocks) / self.block_sizes, self.block_sizes)

    def running_count(self, mask: NDArray[np.bool_]) -> IntArray:
        """Number of marked rows of the same query up to and including each row."""
        total = np.cumsum(mask, dtype=np.int64)
        before = total[self.starts] - mask[self.starts]
        return total - before[self.query]


def rank_rows(
    grades: FloatArray, scores: FloatArray, groups: Groups, ties: str, ids: Any, retrieved: NDArray[np.bool_]
) -> RankedLists:
    """Sort rows by query, score from high to low, and the rule for ties: never by their place in the input."""
    if ids is not None:
        ties = "ids"
        with np.errstate(over="ignore"):  # trec_eval holds scores as 32-bit floats: 1e300 and 1e200 are tied
            scores = scores.astype(np.float32).astype(np.float64)
        last = -_id_ranks(scores, groups, ids)
    else:
        last = -grades if ties == "best" else grades
    order = np.lexsort((last, -scores, ~retrieved, groups.codes))
    query, score, shown = groups.codes[order], scores[order], retrieved[order]
    starts = groups.starts[:-1]
    rank = np.arange(1, len(order) + 1) - starts[query]
    return RankedLists(query, starts, rank, grades[order], ties, np.flatnonzero(changes(query, shown, score)), shown)


def changes(*arrays: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the rows that differ from the row before in any array; the first row is marked."""
    marks = np.ones(len(arrays[0]), dtype=bool)
    marks[1:] = np.any([array[1:] != array[:-1] for array in arrays], axis=0)
    return marks


def _id_ranks(scores: FloatArray, groups: Groups, ids: Any) -> FloatArray:
    """Rank the ids of rows with tied scores as text; other rows get 0, as sorting a million strings is slow."""
    if len(ids) != len(scores):
        raise ValueError(f"ids has {len(ids)} values but there are {len(scores)} rows; give one id a row")
    texts = np.asarray(ids)
    if texts.ndim != 1 or texts.dtype.kind not in "US":
        texts = np.array([str(value) for value in ids])
    order = np.lexsort((-scores, groups.codes))
    new = np.append(changes(groups.codes[order], scores[order]), True)
    tied = order[~(new[:-1] & new[1:])]
    ranks = np.zeros(len(scores))
    ranks[tied] = np.unique(texts[tied], return_inverse=True)[1] if len(tied) else 0
    rows = tied[np.lexsort((ranks[tied], -scores[tied], groups.codes[tied]))]
    twice = np.flatnonzero(~changes(ranks[rows], scores[rows], groups.codes[rows]))
    if twice.size:
        row = rows[twice[0]]
        raise ValueError(
            f"ids: {texts[row].item()!r} occurs twice in query {groups.keys[groups.codes[row]]!r}; ids must differ"
        )
    return ranks


def running(ufunc: np.ufunc, values: FloatArray, position: IntArray) -> FloatArray:
    """Accumulate values within runs, where `position` counts 1, 2, ... along each run.

    By doubling: the error does not grow with the number of runs, as it would in differences of one long cumsum.
    """
    out = values.copy()
    step, longest = 1, int(position.max(initial=0))
    while step < longest:
        rows = np.flatnonzero(position > step)
        out[rows] = ufunc(out[rows], out[rows - step])
        step *= 2
    return out


def count_swaps(lists: RankedLists) -> IntArray:
    """Count the pairs of each query in which a lower grade stands above a higher one, in O(n log n).

    Grades are numbered and split by one bit after the other, from the highest. A swapped pair is counted at the
    highest bit in which its two grades differ: there a 0 stands before a 1 among rows that agree in all higher bits.
    """
    levels, code = np.unique(lists.grade, return_inverse=True)
    total = np.zeros(len(lists.starts), dtype=np.int64)
    segment = lists.query
    for bit in reversed(range((len(levels) - 1).bit_length())):
        bit_set = (code >> bit) & 1
        first = np.flatnonzero(np.diff(segment, prepend=-1))
        number = np.repeat(np.arange(len(first)), np.diff(first, append=len(code)))
        zeros = np.cumsum(1 - bit_set)
        zeros -= (zeros[first] - (1 - bit_set[first]))[number]  # zeros of the segment up to and including each row
        total += lists.sum(zeros * bit_set)
        n_zeros = np.add.reduceat(1 - bit_set, first)
        position = np.arange(len(code)) - first[number]
        position = first[number] + np.where(bit_set == 1, n_zeros[number] + position - zeros, zeros - 1)
        code[position], segment = code.copy(), np.empty_like(segment)
        segment[position] = 2 * number + bit_set
    return total


def pairs_within(lists: RankedLists, new_run: NDArray[np.bool_]) -> IntArray:
    """Count the pairs of each query whose two rows lie in one run; `new_run` marks where runs begin."""
    runs = np.flatnonzero(new_run)
    size = np.diff(runs, append=len(new_run))
    pairs = np.zeros(len(new_run), dtype=np.int64)
    pairs[runs] = size * (size - 1) // 2
    total: IntArray = lists.sum(pairs)
    return total


def tied_pairs(lists: RankedLists) -> tuple[IntArray, IntArray, IntArray]:
    """Count the pairs of each query that are tied in score, in grade, and in both."""
    new_block = np.zeros(len(lists.rank), dtype=bool)
    new_block[lists.blocks] = True
    by_grade = pairs_within(lists, changes(lists.query, lists.grade[lists.ideal]))
    return pairs_within(lists, new_block), by_grade, pairs_within(lists, new_block | changes(lists.grade))


def expected_first(size: IntArray, marked: IntArray, position: IntArray) -> FloatArray:
    r"""Probability that the first of `marked` rows in a random order of `size` rows stands at `position`.

    $P(J=j)=\binom{m-j}{r-1}/\binom{m}{r}$, by its recurrence in $j$ along each run of `position`.
    """
    ratio = np.maximum(size - position - marked + 2, 0) / np.maximum(size - position + 1, 1)
    return running(np.multiply, np.where(position == 1, marked / size, ratio), position)


def expected_factors(lists: RankedLists, values: FloatArray, k: int) -> FloatArray:
    r"""Factors whose running product is the expected running product over random orders of tied rows.

    The mean over the orders of a block of the product of its first t values is $E_t=e_t/\binom{m}{t}$, with $e_t$ the
    elementary symmetric polynomial. One value more changes it by
    $E_t\leftarrow(1-\tfrac ti)E_t+\tfrac ti x_iE_{t-1}$, a stable convex mixture. Costs $O(m\min(m,k))$ a block.
    """
    factors = values.copy()
    varied = np.minimum.reduceat(values, lists.blocks) != np.maximum.reduceat(values, lists.blocks)
    varied &= lists.rank[lists.blocks] <= k
    for size in np.unique(lists.block_sizes[varied]):
        rows = lists.blocks[varied & (lists.block_sizes == size)][:, None] + np.arange(size)
        depth = min(int(size), k)
        mean = np.zeros((len(rows), depth + 1))
        mean[:, 0] = 1.0
        for i in range(1, int(size) + 1):
            share = np.arange(1, min(i, depth) + 1) / i
            last = len(share) + 1
            mean[:, 1:last] = (1 - share) * mean[:, 1:last] + share * values[rows[:, i - 1 : i]] * mean[:, : last - 1]
        before, after = mean[:, :-1], mean[:, 1:]
        factors[rows[:, :depth]] = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    return factors
