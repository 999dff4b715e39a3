"""LambdaMART: boosted trees, by LightGBM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, metadata_routing

from rankloom.core import FloatArray, IntArray
from rankloom.groups import preferences
from rankloom.rankers._canonical import canonical
from rankloom.rankers._tree_text import OBJECTIVES, checked_text
from rankloom.rankers.base import Problem, Ranker, Weights, refuse_unknown, warn_nothing_to_learn

LONGEST_LIST = 10_000  # LightGBM refuses a longer one
TOP_GRADE = 30  # the highest whose gain of 2^grade - 1 LightGBM has by default


class LambdaMART(Ranker):
    r"""LambdaMART: trees boosted along the gradients of pairs, each weighed by the change of nDCG that its swap makes.

    .. math:: \lambda_j = \sum_{k : j \succ_q k} \frac{|\Delta \mathrm{nDCG}_{jk}|}{1 + e^{f_j - f_k}}
              - \sum_{k : k \succ_q j} \frac{|\Delta \mathrm{nDCG}_{jk}|}{1 + e^{f_k - f_j}}, \qquad
              f \leftarrow f + \eta \cdot \mathrm{tree}(\lambda)

    This is LightGBM's `lambdarank`, with what it asks for done here: `pip install 'rankloom[trees]'`.

    * Queries may have any names and their rows any order. Rows are sorted by query and, within one, by a hash of their
      content, as LightGBM breaks ties by order. Queries with rows of one grade are left out.
    * LightGBM takes integer grades and gives the grade \(g\) the gain \(2^g - 1\). Integers from 0 to 30 stay as they
      are. Any other grades are numbered from 0 in their order: the lowest that occurs is 0, the next one 1, and so on.
      With more than 31 of them the gain of a grade is its number, as powers of 2 would see the topmost grades only.
    * LightGBM refuses lists of more than 10,000 rows. A longer one than `max_list` is dealt out at random, grade by
      grade, into as few lists of equal length as possible. Pairs of rows in different lists then teach nothing.
    * One row of weight 2 is not the same as two rows to a tree, so `fit` takes no `sample_weight`. A query of weight 2
      has gradients twice as large.

    Parameters
    ----------
    n_estimators : number of trees.
    num_leaves : most leaves of a tree.
    learning_rate : the factor \(\eta\) of each tree.
    min_child_samples : fewest rows of a leaf.
    truncation : pairs count if one of the two is among so many first rows of its list.
    max_list : longest list, at most 10,000.
    options : further parameters of LightGBM by their names there, such as `{"lambda_l2": 1.0}`.
    n_jobs : threads. The result does not depend on them, up to rounding with more than one.
    random_state : seed of LightGBM and of the division of long lists.

    Attributes
    ----------
    model_ : the trees, as LightGBM's text; `lightgbm.Booster(model_str=ranker.model_)` reads it. Empty where there was
        nothing to learn from.

    References
    ----------
    Q. Wu, C. J. C. Burges, K. M. Svore and J. Gao, Adapting boosting for information retrieval measures, Information
    Retrieval 13, 2010; C. J. C. Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82,
    section 7; G. Ke et al., LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = LambdaMART(n_estimators=20).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    __metadata_request__fit = {"qid": True, "sample_weight": metadata_routing.UNUSED}  # noqa: RUF012

    grades_are_ordinal = False
    feature_range = (1e-30, 1e299)  # LightGBM takes numbers below 1e-35 for 0, and 1e300 for infinity

    def __init__(
        self,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        min_child_samples: int = 20,
        *,
        truncation: int = 30,
        max_list: int = LONGEST_LIST,
        options: Mapping[str, Any] | None = None,
        n_jobs: int = 1,
        random_state: Any = 0,
    ):
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples
        self.truncation = truncation
        self.max_list = max_list
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None, *, query_weight: Weights = None, **unknown: Any) -> Self:
        """Learn from graded rows.

        Parameters
        ----------
        X, y, qid, query_weight : as for `Ranker.fit`.
        """
        refuse_unknown("fit", unknown)
        return super().fit(X, y, qid, query_weight=query_weight)

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        lightgbm = lightgbm_module()
        random = check_random_state(self.random_state)
        lists = graded_lists(problem)
        if not len(lists.rows):
            warn_nothing_to_learn()
            self.model_ = ""
            return
        grades = np.unique(problem.y[lists.rows])
        rows, labels, lengths = lists.cut(problem, grades, self.max_list, random)
        weight = problem.query_weight[problem.groups.codes[rows]]
        data = lightgbm.Dataset(
            problem.X[rows], label=labels, group=lengths, weight=None if (weight == 1).all() else weight
        )
        options = self._options(label_gains(grades), random)
        self.model_ = model_text(lightgbm.train(options, data, num_boost_round=self.n_estimators))

    def _options(self, gains: list[int] | None, random: np.random.RandomState) -> dict[str, Any]:
        return {
            "objective": "lambdarank",
            "num_leaves": self.num_leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_child_samples,
            "lambdarank_truncation_level": self.truncation,
            "num_threads": self.n_jobs,
            "seed": int(random.randint(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            **({} if gains is None else {"label_gain": gains}),
            **(self.options or {}),
        }

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        if not self.model_:
            return np.zeros(len(X))
        booster = _booster(self.model_, X.shape[1])
        return np.asarray(booster.predict(X, num_threads=self.n_jobs), dtype=np.float64)

    def _check_parameters(self) -> None:
        if not 2 <= self.max_list <= LONGEST_LIST:
            raise ValueError(f"max_list must be from 2 to {LONGEST_LIST}, LightGBM's limit, got {self.max_list!r}")
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        options = self.options or {}
        if options.get("objective", "lambdarank") not in OBJECTIVES or options.get("linear_tree"):
            raise ValueError(f"options may choose the objective {' or '.join(OBJECTIVES)} and no linear_tree")


def lightgbm_module() -> Any:
    """LightGBM, or an ImportError with the cure."""
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError("LambdaMART needs LightGBM; install it with: pip install 'rankloom[trees]'") from error
    return lightgbm


def model_text(booster: Any) -> str:
    """The trees as text. Prediction does not need the gains, and of thousands of grades they would be most of it."""
    return re.sub(r"\[label_gain: [^\]]*\]\n", "", booster.model_to_string())


# Kept by its text and not with the ranker, whose state is the text alone.
@lru_cache(maxsize=16)
def _booster(model: str, n_features: int) -> Any:
    return lightgbm_module().Booster(model_str=checked_text(model, n_features))


def label_gains(grades: FloatArray) -> list[int] | None:
    """The gains of the different grades that teach, where they are not LightGBM's default ones."""
    return list(range(len(grades))) if not _are_labels(grades) and len(grades) > TOP_GRADE + 1 else None


def _are_labels(grades: FloatArray) -> bool:
    """Whether grades are as LightGBM takes them."""
    return bool(grades.min() >= 0 and grades.max() <= TOP_GRADE and (grades == np.floor(grades)).all())


def labels_of(y: FloatArray, grades: FloatArray) -> IntArray:
    """Grades as LightGBM takes them; `grades` are all that teach, sorted."""
    return y.astype(np.int64) if _are_labels(grades) else np.searchsorted(grades, y).astype(np.int64)


class GradedLists(NamedTuple):
    """The rows of queries with two grades, in the order of queries and hashes, and the query of each."""

    rows: IntArray
    query: IntArray

    def cut(
        self, problem: Problem, grades: FloatArray, longest: int, random: np.random.RandomState
    ) -> tuple[IntArray, IntArray, list[int]]:
        """The rows list by list, their labels, and the lengths of the lists; `grades` are all that teach, sorted."""
        labels = labels_of(problem.y[self.rows], grades)
        places, lengths = _lists(self.query, labels, longest, random)
        return self.rows[places], labels[places], lengths


def graded_lists(problem: Problem) -> GradedLists:
    """The rows of a problem that teach."""
    order, groups, _, query_weight = canonical(problem, merge=False)
    prefs = preferences(problem.y[order], groups, None, query_weight)
    taught = np.sort(prefs.rows)  # in the order of queries and hashes again
    return GradedLists(order[taught], groups.codes[taught])


def _lists(
    query: IntArray, labels: IntArray, longest: int, random: np.random.RandomState
) -> tuple[IntArray, list[int]]:
    """Cut sorted queries into lists: the places of their rows one list after another, and the lengths of the lists."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    lists = []
    for start, length in zip(starts.tolist(), np.diff(starts, append=len(query)).tolist(), strict=True):
        places = np.arange(start, start + length)
        if length > longest:
            n_lists = -(-length // longest)
            dealt = places[np.lexsort((random.random_sample(length), labels[places]))]
            lists += [np.sort(dealt[part::n_lists]) for part in range(n_lists)]
        else:
            lists.append(places)
    return np.concatenate(lists), [len(places) for places in lists]
