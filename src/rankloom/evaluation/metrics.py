r"""Metrics of ranked lists, with every convention that programs disagree about spelled out in a `Policy`.

AP, RR, nDCG, P and ERR take an optional cut-off (`nDCG@10`); tau, swaps and MeanNDCG look at the whole list. Let $g_i$
be the grade and $r_i\in\{0,1\}$ the relevance at rank $i$, $n$ the length of the list and $R=\sum_i r_i$.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.core import FloatArray
from rankloom.evaluation._order import check_not_texts, check_order
from rankloom.evaluation.policies import (
    DISCOUNTS,
    GAINS,
    POLICIES,
    Policy,
    RankedLists,
    count_swaps,
    expected_factors,
    expected_first,
    rank_rows,
    running,
    tied_pairs,
)
from rankloom.evaluation.significance import Comparison, compare_values
from rankloom.groups import check_finite, check_grades, group_rows

__all__ = [
    "DISCOUNTS", "GAINS", "METRICS", "POLICIES", "Comparison", "Metric", "Policy", "QueryValues", "compare",
    "evaluate", "evaluate_queries", "parse_metric",
]  # fmt: skip


def _finish(value: FloatArray, empty: NDArray[np.bool_], policy: Policy, natural: float | None = None) -> FloatArray:
    """Give queries without a relevant row the value of the policy, or their natural one where there is one."""
    if policy.empty == "skip":
        return np.where(empty, np.nan, value)
    return np.where(empty, float(policy.empty) if natural is None else natural, value)


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> FloatArray:
    ratio = np.zeros(len(numerator))
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return np.minimum(ratio, 1.0)  # averaged gains may sum to a rounding error more than the ideal


def _top(lists: RankedLists, k: int | None) -> NDArray[np.bool_]:
    """The rows that a list shows up to rank k."""
    return lists.retrieved if k is None else lists.retrieved & (lists.rank <= k)


def _ap(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{AP}=\frac1R\sum_{i\le k} r_i\,\frac1i\sum_{j\le i}r_j$."""
    relevant = lists.grade >= policy.relevant
    hits = lists.running_count(relevant)
    n_relevant = lists.sum(relevant.astype(np.int64))
    if lists.averaged:
        m, block = lists.block_sizes, np.repeat(np.arange(len(lists.blocks)), lists.block_sizes)
        r = np.add.reduceat(relevant.astype(np.int64), lists.blocks)
        before = (hits[lists.blocks] - relevant[lists.blocks])[block]
        if policy.ties == "blocks":
            precision = (before + r[block]) / (lists.rank[lists.blocks] + m - 1)[block]
        else:  # given a relevant row at place t of the block, t - 1 of the m - 1 others stand before it
            others = (lists.rank - lists.rank[lists.blocks][block]) * ((r - 1) / np.maximum(m - 1, 1))[block]
            precision = (before + 1 + others) / lists.rank
        terms = (r / m)[block] * precision
    else:
        terms = relevant * (hits / lists.rank)
    size = n_relevant if k is None or policy.ap_denominator == "relevant" else np.minimum(n_relevant, k)
    return _finish(_ratio(lists.sum(terms * _top(lists, k)), size), n_relevant == 0, policy)


def _rr(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{RR}=1/\min\{i\le k: r_i=1\}$, or 0."""
    relevant = lists.grade >= policy.relevant
    inverse = _top(lists, k) / lists.rank
    if lists.averaged:  # the first relevant row is at one of the places of the first block that has one
        m, block = lists.block_sizes, np.repeat(np.arange(len(lists.blocks)), lists.block_sizes)
        r = np.add.reduceat(relevant.astype(np.int64), lists.blocks)
        last = lists.blocks + m - 1
        first = (r > 0) & (lists.running_count(relevant)[last] == r)
        rows = np.flatnonzero(first[block])
        block = block[rows]
        terms = np.zeros(len(relevant))
        terms[rows] = inverse[rows] * expected_first(m[block], r[block], rows - lists.blocks[block] + 1)
        value = lists.sum(terms)
    else:
        value = np.maximum.reduceat(relevant * inverse, lists.starts)
    return _finish(value, lists.sum(relevant.astype(np.int64)) == 0, policy)


def _precision(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{P@}k=\frac1k\sum_{i\le k} r_i$; without k, over the whole list."""
    relevant = (lists.grade >= policy.relevant).astype(np.float64)
    hits = lists.sum(lists.share(relevant) * _top(lists, k))
    shown = lists.sum(lists.retrieved.astype(np.int64))
    if k is not None:
        shown = np.minimum(k, shown) if policy.p_denominator == "min" else np.full(len(shown), k)
    return _finish(_ratio(hits, shown), lists.sum(relevant) == 0, policy, natural=0.0)


def _gains(lists: RankedLists, policy: Policy) -> tuple[FloatArray, FloatArray]:
    """Discounted gain of each row, and at the same rank of the ideal list."""
    gain, discount = policy.gains(lists.grade), policy.discounts(lists.rank)
    return lists.share(gain) * lists.retrieved / discount, gain[lists.ideal] / discount


def _ndcg(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{nDCG@}k=\mathrm{DCG}_k/\max\mathrm{DCG}_k$, $\mathrm{DCG}_k=\sum_{i\le k}\mathrm{gain}(g_i)/d_i$."""
    gain, best = _gains(lists, policy)
    actual = lists.sum(gain * _top(lists, k))
    ideal = lists.sum(best if k is None else best * (lists.rank <= k))
    value = _ratio(actual, ideal)
    if k is not None and policy.short == "zero":
        value[lists.sizes < k] = 0.0
    return _finish(value, ideal == 0, policy)


def _mean_ndcg(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{MeanNDCG}=\frac1n\sum_{k=1}^{n}\mathrm{nDCG@}k$."""
    actual, ideal = (running(np.add, gain, lists.rank) for gain in _gains(lists, policy))
    value = lists.sum(_ratio(actual, ideal)) / lists.sizes
    return _finish(value, np.maximum.reduceat(ideal, lists.starts) == 0, policy)


def _err(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""$\mathrm{ERR}=\sum_{i\le k}\frac1i R_i\prod_{j<i}(1-R_j)$ with $R_i=(2^{g_i}-1)/2^{g_{\max}}$."""
    largest = float(lists.grade.max())
    top_grade = largest if policy.max_grade is None else policy.max_grade
    if largest > top_grade:
        raise ValueError(f"y holds grade {largest:g}, above the policy's max_grade={top_grade:g}")
    grade = np.maximum(lists.grade, 0.0)
    satisfied = np.exp2(grade - max(top_grade, 0.0)) - np.exp2(-max(top_grade, 0.0))
    factor = 1.0 - satisfied
    if lists.averaged:
        factor = expected_factors(lists, factor, len(grade) if k is None else k)
    left = running(np.multiply, factor, lists.rank)
    before = np.where(lists.rank == 1, 1.0, np.roll(left, 1))
    value = lists.sum(before * (1.0 - factor) * _top(lists, k) / lists.rank)
    return _finish(value, np.maximum.reduceat(grade, lists.starts) == 0, policy)


def _swaps(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    """Number of pairs of rows of different grades whose lower grade has the higher score."""
    swaps = count_swaps(lists).astype(np.float64)
    by_score, by_grade, by_both = tied_pairs(lists)
    if lists.averaged:  # the layout puts low grades first, which counts each tied pair once
        swaps -= (by_score - by_both) / 2
    return _finish(swaps, by_grade == lists.sizes * (lists.sizes - 1) // 2, policy, natural=0.0)


def _tau(lists: RankedLists, policy: Policy, k: int | None) -> FloatArray:
    r"""Kendall's tau-b $(C-D)/\sqrt{(P-T_y)(P-T_s)}$: C, D, P concordant, discordant, all pairs, T tied ones.

    Where all scores are equal and the grades are not, it is 0.
    """
    by_score, by_grade, by_both = tied_pairs(lists)
    pairs = lists.sizes * (lists.sizes - 1) // 2
    discordant = count_swaps(lists)
    if lists.ties != "best":  # the layout puts low grades first, which counts each tied pair once
        discordant = discordant - (by_score - by_both)
    surplus = pairs - by_score - by_grade + by_both - 2 * discordant
    scale = np.sqrt((pairs - by_score).astype(np.float64)) * np.sqrt((pairs - by_grade).astype(np.float64))
    value = np.divide(surplus, scale, out=np.zeros(len(pairs)), where=scale > 0)
    return _finish(np.clip(value, -1.0, 1.0), by_grade == pairs, policy)


METRICS: dict[str, Callable[[RankedLists, Policy, int | None], FloatArray]] = {
    "AP": _ap,
    "RR": _rr,
    "nDCG": _ndcg,
    "P": _precision,
    "ERR": _err,
    "MeanNDCG": _mean_ndcg,
    "tau": _tau,
    "swaps": _swaps,
}
_ALIASES = {"map": "AP", "mrr": "RR"} | {name.lower(): name for name in METRICS}
_WHOLE_LIST = ("MeanNDCG", "tau", "swaps")


class Metric(NamedTuple):
    """A metric by its name in METRICS and its cut-off."""

    name: str
    k: int | None


def parse_metric(text: str) -> Metric:
    """Read a metric as ir-measures spells it; case does not matter, and MAP and MRR are understood.

    Examples
    --------
    >>> parse_metric("ndcg@10")
    Metric(name='nDCG', k=10)
    """
    known = ", ".join(METRICS)
    if not isinstance(text, str):
        raise ValueError(f"a metric is a text such as 'nDCG@10', got {text!r}; known metrics: {known}")
    name, at, cutoff = text.strip().partition("@")
    metric = _ALIASES.get(name.lower())
    if metric is None:
        raise ValueError(f"unknown metric {text!r}; known metrics: {known}, the first five also with @k")
    if not at:
        return Metric(metric, None)
    if metric in _WHOLE_LIST:
        raise ValueError(f"{metric} looks at the whole list and takes no cut-off, got {text!r}")
    if re.fullmatch("[0-9]+", cutoff) is None or int(cutoff) == 0:
        raise ValueError(f"the cut-off of {text!r} must be a whole number from 1, as in '{metric}@10'")
    return Metric(metric, int(cutoff))


class QueryValues(NamedTuple):
    """Metrics query by query: `values[metric][i]` belongs to `qids[i]`; skipped queries are NaN."""

    qids: Sequence[Hashable]
    values: dict[str, FloatArray]


def evaluate_queries(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    metrics: str | Sequence[str] = ("AP", "nDCG@10"),
    policy: str | Policy = "trec",
    *,
    ids: Any = None,
    retrieved: ArrayLike | None = None,
) -> QueryValues:
    """Compute metrics of each query; the parameters are those of `evaluate`.

    Examples
    --------
    >>> evaluate_queries([1, 0, 0, 1], [4, 3, 2, 1], ["a", "a", "b", "b"], "RR")
    QueryValues(qids=['a', 'b'], values={'RR': array([1. , 0.5])})
    """
    given = _Given(y, scores, qid, "evaluate_queries(y, scores, qid, metrics)")
    return _values(given, metrics, policy, ids, retrieved)


class _Given(NamedTuple):
    """What the user gave to be evaluated, and how the call is spelled."""

    y: ArrayLike
    scores: ArrayLike
    qid: Any
    call: str


def _values(
    given: _Given,
    metrics: str | Sequence[str],
    policy: str | Policy,
    ids: Any = None,
    retrieved: ArrayLike | None = None,
) -> QueryValues:
    """Compute metrics of each query, after all arguments are checked."""
    y, scores, qid, call = given
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise ValueError(f"metrics is empty; name at least one of {', '.join(METRICS)}")
    parsed = [parse_metric(text) for text in names]
    if not isinstance(policy, Policy):
        if policy not in POLICIES:
            raise ValueError(f"unknown policy {policy!r}; known policies: {', '.join(POLICIES)}, or give a Policy")
        policy = POLICIES[policy]
    check_not_texts(y, "y", call)
    check_not_texts(scores, "scores", call)
    numbers = _check_scores(scores)
    grades = check_grades(y, len(numbers))
    groups = group_rows(qid, len(numbers))
    check_order(grades, numbers, groups, call)
    shown = np.ones(len(numbers), dtype=bool) if retrieved is None else np.asarray(retrieved, dtype=bool)
    if shown.shape != numbers.shape:
        raise ValueError(f"retrieved must be one mark a row: expected shape {numbers.shape}, got {shown.shape}")
    if not shown.all():
        complete = [text for text, (name, _) in zip(names, parsed, strict=True) if name in _WHOLE_LIST]
        if complete:
            raise ValueError(f"{complete[0]} needs the whole list, but some rows are not retrieved")
    lists = rank_rows(grades, numbers, groups, policy.ties, ids, shown)
    # tau-b has its own rule for tied scores, so it does not see ties that ids have broken.
    plain = lists
    if ids is not None and ("tau", None) in parsed:
        plain = rank_rows(grades, numbers, groups, policy.ties, None, shown)
    values = {}
    for text, (name, k) in zip(names, parsed, strict=True):
        values[text] = METRICS[name](plain if name == "tau" else lists, policy, k)
    return QueryValues(groups.keys, values)


def _check_scores(scores: ArrayLike) -> FloatArray:
    try:
        numbers = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("scores must hold numbers (higher is better)") from None
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1:
        raise ValueError(f"scores must be one number a row, got an array of shape {numbers.shape}")
    if len(numbers) == 0:
        raise ValueError("scores is empty: there is no row to evaluate")
    check_finite(numbers, "scores")
    return numbers


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    metrics: str | Sequence[str] = ("AP", "nDCG@10"),
    policy: str | Policy = "trec",
    *,
    ids: Any = None,
    retrieved: ArrayLike | None = None,
) -> dict[str, float]:
    r"""Compute metrics of scores, $\frac1{|Q|}\sum_{q\in Q} m(q)$ each.

    Arguments that seem to have changed places raise a ValueError.

    Parameters
    ----------
    y : grades, higher is better.
    scores : one per row, higher is better.
    qid : query of each row, any hashable values in any order; None makes all rows one query.
    metrics : a text or several: AP, RR, nDCG, P, ERR, each with or without @k; MeanNDCG, tau, swaps.
    policy : "trec", "letor4", "sklearn", "lightgbm", "xgboost", or a `Policy`. The named programs break ties by the
        order of rows, or by id; here "sklearn" averages and the others take the worst case.
    ids : item of each row. Then ties are broken as trec_eval does, whatever the policy: scores are compared as 32-bit
        floats, and of equal ones the id that is last in alphabetical order stands first.
    retrieved : False for rows that exist but that the list does not show: they count as relevant rows that were missed
        (in the denominator of AP, in the ideal list of nDCG) and nowhere else, as in trec_eval.

    Returns
    -------
    dict
        From each text in `metrics` to the mean over queries; NaN if the policy skips all of them.

    References
    ----------
    Järvelin and Kekäläinen 2002 (nDCG); Chapelle et al. 2009 (ERR); McSherry and Najork 2008 (expected values under
    ties); Qin and Liu 2013 (LETOR 4.0).

    Examples
    --------
    >>> evaluate([1, 0, 0, 1], [4, 3, 2, 1], ["a", "a", "b", "b"], ["AP", "P@1"])
    {'AP': 0.75, 'P@1': 0.5}
    """
    means = {}
    given = _Given(y, scores, qid, "evaluate(y, scores, qid, metrics)")
    for text, values in _values(given, metrics, policy, ids, retrieved).values.items():
        counted = values[~np.isnan(values)]
        means[text] = float(counted.mean()) if len(counted) else float("nan")
    return means


def compare(
    scores: Mapping[str, ArrayLike],
    y: ArrayLike,
    qid: Any = None,
    metric: str = "AP",
    *,
    policy: str | Policy = "trec",
    n_bootstrap: int = 2000,
    n_permutations: int = 10000,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Comparison:
    """Compare rankers by a metric, query by query: means, intervals and paired tests.

    Parameters
    ----------
    scores : the scores of each ranker, by its name.
    y, qid, policy : as in `evaluate`; queries that the policy skips are left out.
    metric : one metric.
    n_bootstrap, n_permutations, confidence, random_state : as in `rankloom.significance.compare_values`.

    Examples
    --------
    >>> result = compare({"good": [4, 3, 2, 1], "bad": [1, 2, 3, 4]}, [1, 0, 1, 0], [7, 7, 8, 8], "RR")
    >>> result.means, result.pairs[0].difference
    ({'good': 1.0, 'bad': 0.5}, 0.5)
    """
    if not isinstance(scores, Mapping):
        raise ValueError(
            f"scores must map the name of each ranker to its scores, got {type(scores).__name__}; "
            "the order is compare(scores, y, qid, metric)"
        )
    name = parse_metric(metric).name
    call = "compare(scores, y, qid, metric)"
    values = {
        ranker: _values(_Given(y, given, qid, call), metric, policy).values[metric] for ranker, given in scores.items()
    }
    return compare_values(
        values,
        metric,
        n_bootstrap=n_bootstrap,
        n_permutations=n_permutations,
        confidence=confidence,
        random_state=random_state,
        higher_is_better=name != "swaps",
    )
