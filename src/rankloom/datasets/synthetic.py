"""Generated ranking problems with a known answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.core import FloatArray, RankingData
from rankloom.groups import check_count, check_number

_OFFSET = 2.0


def make_ranking(
    n_queries: int = 100,
    n_items: int = 50,
    n_features: int = 20,
    *,
    n_informative: int = 5,
    noise: float = 1.0,
    grades: int = 3,
    relevant_share: float = 0.2,
    shuffle: bool = False,
    string_qid: bool = False,
    random_state: Any = 0,
) -> RankingData:
    r"""Make a ranking problem with a linear hidden utility.

    Item $i$ of query $q$ has the features $x_{qi} = o_q + z_{qi}$ and the utility

    $$ u_{qi} = w^\top z_{qi} + \mathrm{noise} \cdot \varepsilon_{qi}, \quad \lVert w \rVert = 1, $$

    with standard normal $z$ and $\varepsilon$. $w$ is not 0 in the first `n_informative` features only, with random
    signs. The offset $o_q$, normal with standard deviation 2, is the same for all items of a query: it cannot change
    an order within a query, so it does not hurt a learner of pairs, but it hurts a classifier that pools all rows.

    Grades follow the utility within a query: of levels $0, \dots, G - 1$, about the share `relevant_share`
    $\cdot (G - g) / (G - 1)$ of the items has the grade $g$ or more, and at least one item, never all, more than 0.

    Parameters
    ----------
    n_queries, n_items, n_features : how many queries, items of each query, and features.
    n_informative : how many features matter; the others are noise.
    noise : standard deviation of the noise on the utility; that of the signal is 1.
    grades : number of levels, at least 2.
    relevant_share : share of items with a grade above 0, between 0 and 1.
    shuffle : whether the rows come in random order; otherwise query after query.
    string_qid : whether queries are "q1", "q2", ... instead of 1, 2, ...
    random_state : int, RandomState or None.

    Examples
    --------
    >>> data = make_ranking(n_queries=2, n_items=10, n_features=3, n_informative=2)
    >>> data.X.shape, data.feature_names
    ((20, 3), ['f1', 'f2', 'f3'])
    >>> data.y[:10].astype(int).tolist(), data.qid.tolist()[8:12]
    ([0, 2, 1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 2, 2])
    """
    counts = {"n_queries": n_queries, "n_items": n_items, "n_features": n_features, "n_informative": n_informative}
    for name, count in counts.items():
        check_count(name, count)
    check_count("grades", grades, least=2)
    if n_informative > n_features:
        raise ValueError(f"n_informative={n_informative} is more than n_features={n_features}")
    check_number("noise", noise)
    _check_share(relevant_share)
    random = _generator(random_state)
    X, utility = _items(random, (n_queries, n_items, n_features), n_informative, noise)
    y = _grades(utility, grades, relevant_share).reshape(-1)
    numbers = np.repeat(np.arange(1, n_queries + 1), n_items)
    qid = np.char.add("q", numbers.astype(np.str_)) if string_qid else numbers
    data = RankingData(X, y, qid, None, [f"f{j}" for j in range(1, n_features + 1)])
    return data.take(random.permutation(len(data))) if shuffle else data


def _generator(random_state: Any) -> np.random.RandomState:
    from sklearn.utils import check_random_state  # here, because it brings pandas and pyarrow

    random: np.random.RandomState = check_random_state(random_state)
    return random


def _items(
    random: np.random.RandomState, shape: tuple[int, int, int], n_informative: int, noise: float
) -> tuple[FloatArray, FloatArray]:
    """The features of all items, row by row, and the utility of each item of each query."""
    weights = random.uniform(0.5, 1.5, n_informative) * random.choice([-1.0, 1.0], n_informative)
    weights /= np.linalg.norm(weights)
    Z = random.standard_normal(shape)
    offsets = _OFFSET * random.standard_normal((shape[0], 1, shape[2]))
    utility = Z[:, :, :n_informative] @ weights + noise * random.standard_normal(shape[:2])
    return (Z + offsets).reshape(-1, shape[2]), utility


def _grades(utility: FloatArray, levels: int, relevant_share: float) -> FloatArray:
    """Grades by the rank of the utility within each row."""
    n_items = utility.shape[1]
    rank = utility.argsort(axis=1)[:, ::-1].argsort(axis=1)
    y = np.zeros(utility.shape)
    for grade in range(1, levels):
        n_above = round(n_items * relevant_share * (levels - grade) / (levels - 1))
        y += rank < min(max(n_above, 1 if grade == 1 else 0), n_items - 1)
    return y


def make_weak_models(
    n_items: int = 6000,
    n_models: int = 60,
    *,
    relevant_share: float = 0.02,
    strength: float = 0.3,
    per_descriptor: int = 2,
    random_state: Any = 0,
) -> RankingData:
    r"""Make the outputs of many weak detectors of one rare concept, as boosting combines them.

    Item $i$ shows the concept to the degree $u_i$, normal around 1 for relevant items and around 0 for others, with
    standard deviation 0.3: some relevant items are hard, some others look alike. Detector $k$ gives

    $$ h_k(i) = \sigma(a_k (2 u_i - 1) + \varepsilon_{g(k) i} + \varepsilon_{k i}), $$

    where the quality $a_k$ lies between 0 and twice `strength`. The noise $\varepsilon$ has variance 1; half of it is
    shared by the detectors $g(k)$ of the same descriptor.

    Parameters
    ----------
    n_items, n_models : how many items and detectors.
    relevant_share : share of relevant items, between 0 and 1.
    strength : mean quality of the detectors.
    per_descriptor : how many detectors share a descriptor, and half of their noise.
    random_state : int, RandomState or None.

    Examples
    --------
    >>> data = make_weak_models(1000, 10)
    >>> data.X.shape, float(data.y.sum()), bool((data.X > 0).all() and (data.X < 1).all())
    ((1000, 10), 20.0, True)
    """
    check_count("n_items", n_items, least=2)
    check_count("n_models", n_models)
    check_count("per_descriptor", per_descriptor)
    _check_share(relevant_share)
    check_number("strength", strength)
    random = _generator(random_state)
    n_relevant = min(max(round(relevant_share * n_items), 1), n_items - 1)
    y = random.permutation(np.arange(n_items) < n_relevant).astype(np.float64)
    degree = y + 0.3 * random.standard_normal(n_items)
    quality = strength * random.uniform(0.0, 2.0, n_models)
    descriptor = np.arange(n_models) // per_descriptor
    noise = random.standard_normal((n_items, descriptor[-1] + 1))[:, descriptor]
    noise = (noise + random.standard_normal((n_items, n_models))) / np.sqrt(2)
    X = 1.0 / (1.0 + np.exp(-(quality * (2 * degree[:, None] - 1) + noise)))
    names = [f"descriptor {g + 1}, model {k % per_descriptor + 1}" for k, g in enumerate(descriptor)]
    return RankingData(X, y, np.ones(n_items, dtype=np.int64), None, names)


def _check_share(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"relevant_share must lie between 0 and 1, got {value!r}")
