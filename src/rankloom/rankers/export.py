"""Rankers for other engines: JSON for the learning-to-rank plugin of Elasticsearch and OpenSearch, and ONNX graphs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import rankloom
from rankloom.core import FloatArray
from rankloom.groups import check_finite
from rankloom.rankers import ImbalancedRankBoost, LinearRanker, RankBoost, Ranker, SoftCascade
from rankloom.rankers.boost import FARTHEST
from rankloom.rankers.imbalanced import RANGES

_OPSET, _IR = 17, 8  # read by every onnxruntime since 1.12


class GoldenVectors(NamedTuple):
    """Rows of features and the scores that a ranker gives them: what an export has to give, too."""

    rows: FloatArray
    scores: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        return {"rows": self.rows.tolist(), "scores": self.scores.tolist()}


def names_of(ranker: Ranker) -> list[str]:
    """The names that the ranker's features had when it was fitted, else f1, f2 ..."""
    check_is_fitted(ranker)
    names = getattr(ranker, "feature_names_in_", None)
    return [f"f{j + 1}" for j in range(ranker.n_features_in_)] if names is None else [str(name) for name in names]


def golden_vectors(
    ranker: Ranker, X: ArrayLike, *, mean: ArrayLike | None = None, scale: ArrayLike | None = None
) -> GoldenVectors:
    """Score some rows, to compare an export with.

    Parameters
    ----------
    ranker : a fitted ranker.
    X : the rows, as the other engine will have them.
    mean, scale : as for `elasticsearch_model`: the ranker scores (X - mean) / scale.

    Examples
    --------
    >>> from rankloom.rankers import UniformCombination
    >>> golden_vectors(UniformCombination().fit([[0.0, 2.0]], [1]), [[1.0, 3.0]]).to_dict()
    {'rows': [[1.0, 3.0]], 'scores': [2.0]}
    """
    rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
    scaled = rows
    if mean is not None or scale is not None:
        center, spread = _scaling(mean, scale, rows.shape[1])
        scaled = (rows - center) / spread
    return GoldenVectors(rows, _unnamed(ranker).predict(scaled))


def golden_rows(ranker: Ranker, n_random: int = 8, random_state: int = 0) -> FloatArray:
    """Rows on which an export may go wrong: zeros, ones, every edge exactly and just above it, and random rows.

    Parameters
    ----------
    ranker : a fitted ranker.
    n_random : how many random rows, a quarter wider than the values that the ranker was fitted on, where it knows them.
    random_state : their seed.
    """
    check_is_fitted(ranker)
    width = ranker.n_features_in_
    inner = getattr(ranker, "ranker_", None) or ranker  # a cascade asks those of its ranker
    low, high = -np.ones(width), np.ones(width)
    if len(getattr(inner, "low_", ())):
        low, high = inner.low_, inner.high_
    rows = [np.zeros(width), np.ones(width), low, high]
    if isinstance(inner, RankBoost) and len(inner.thresholds_):
        edges = [np.unique(inner.thresholds_[inner.features_ == j]) for j in range(width)]
        low = np.array([edge[0] if len(edge) else -1.0 for edge in edges])
        high = np.array([edge[-1] if len(edge) else 1.0 for edge in edges])
        for number in range(max(map(len, edges))):
            row = np.array([edge[number % len(edge)] if len(edge) else 0.0 for edge in edges])
            rows += [row, np.nextafter(row, np.inf)]
    random = np.random.default_rng(random_state).uniform(-1.0, 1.0, (n_random, width))
    with np.errstate(over="ignore"):  # of a range near the greatest number
        rows += [*(low / 2 + high / 2 + random * np.maximum(1.25 * (high / 2 - low / 2), 1e-3))]
    greatest = np.finfo(np.float64).max
    return np.clip(np.stack(rows), -greatest, greatest)


def elasticsearch_model(
    ranker: Ranker,
    feature_names: Sequence[str],
    *,
    name: str = "rankloom",
    mean: ArrayLike | None = None,
    scale: ArrayLike | None = None,
) -> dict[str, Any]:
    r"""A linear ranker as the body of `POST _ltr/_featureset/.../_createmodel`.

    The plugin's score of raw features x is the ranker's, without any constant between them:

    $$ \sum_j \lambda_j \frac{x_j - m_j}{s_j} = f\Big( \frac{x - m}{s} \Big), $$

    with the ranker's own weights \(\lambda\). A ranker that was fitted on rows as they are needs neither m nor s, and
    none is written. The plugin computes in single precision, so its scores agree to about seven digits.

    Parameters
    ----------
    ranker : a fitted linear ranker.
    feature_names : the names of its features in the feature set of the engine, in the ranker's order.
    name : the name of the model in the engine.
    mean, scale : the scaling that the rows had gone through before the ranker was fitted on them, such as `mean_` and
        `scale_` of scikit-learn's StandardScaler; one number per feature, or one for all. The engine does it from then.

    References
    ----------
    The plugin's documentation, "Uploading a trained model" and "Creating a model with feature normalization":
    elasticsearch-learning-to-rank.readthedocs.io.

    Examples
    --------
    >>> from rankloom.rankers import UniformCombination
    >>> ranker = UniformCombination().fit([[0.0, 2.0], [4.0, 1.0]], [0, 1])
    >>> elasticsearch_model(ranker, ["title", "body"])["model"]["model"]
    {'type': 'model/linear', 'definition': {'title': 0.5, 'body': 0.5}}
    >>> scaled = elasticsearch_model(ranker, ["title", "body"], mean=[3.0, 0.0], scale=2.0)
    >>> scaled["model"]["model"]["feature_normalizers"]["title"]
    {'standard': {'mean': 3.0, 'standard_deviation': 2.0}}
    """
    if not isinstance(ranker, LinearRanker):
        raise ValueError(
            f"the plugin takes a ranker that is one weight a feature, {type(ranker).__name__} is not; "
            "export it as ONNX, or fit a linear one (rlr, frlr, ranksvm, opar2 ...)"
        )
    check_is_fitted(ranker)
    names = _check_names(feature_names, len(ranker.coef_))
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a text that is not empty, got {name!r}")
    single = np.abs(ranker.coef_) <= np.finfo(np.float32).max
    if not single.all():
        raise ValueError(f"the weight of {names[int(np.argmin(single))]!r} is beyond single precision; scale the rows")
    body: dict[str, Any] = {"type": "model/linear", "definition": dict(zip(names, ranker.coef_.tolist(), strict=True))}
    if mean is not None or scale is not None:
        center, spread = _scaling(mean, scale, len(names))
        body["feature_normalizers"] = {
            feature: {"standard": {"mean": m, "standard_deviation": s}}
            for feature, m, s in zip(names, center.tolist(), spread.tolist(), strict=True)
        }
    return {"model": {"name": name, "model": body}}


def onnx_model(ranker: Ranker, feature_names: Sequence[str] | None = None) -> Any:
    """A ranker as an ONNX graph: doubles `X` of shape (n, features) in, doubles `scores` of shape (n,) out.

    Linear rankers, RankBoost, Imbalanced RankBoost and soft cascades can be exported. Boosted rankers and cascades do
    the same operations in the same order as `predict` and give the same numbers, also on an edge or a cut-off; the sum
    of a linear ranker may be rounded otherwise. A graph computes all cells: what a cascade saves, it saves here only.
    The metadata hold the class of the `ranker`, its `feature_names` and `golden_vectors` (rows and scores, as JSON).

    Parameters
    ----------
    ranker : a fitted ranker.
    feature_names : the names of its features for the metadata; those it was fitted with unless given.

    References
    ----------
    Open Neural Network Exchange, operators of opset 17: onnx.ai.

    Examples
    --------
    >>> import onnxruntime
    >>> from rankloom.rankers import UniformCombination
    >>> ranker = UniformCombination().fit([[0.0, 2.0], [4.0, 1.0]], [0, 1])
    >>> session = onnxruntime.InferenceSession(onnx_model(ranker).SerializeToString())
    >>> session.run(["scores"], {"X": np.array([[1.0, 3.0]])})[0].tolist()
    [2.0]
    """
    from onnx import TensorProto, checker, helper

    known = {kind: build for kind, build in _BUILDERS.items() if isinstance(ranker, kind)}
    if not known:
        raise ValueError(
            "ONNX export knows linear rankers, RankBoost, ImbalancedRankBoost and SoftCascade, not "
            f"{type(ranker).__name__}; fit one of these"
        )
    check_is_fitted(ranker)
    width = int(ranker.n_features_in_)
    names = _check_names(names_of(ranker) if feature_names is None else feature_names, width)
    g = _Graph()
    g.node("Identity", next(iter(known.values()))(g, ranker), output="scores")
    graph = helper.make_graph(
        g.nodes,
        type(ranker).__name__,
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", width])],
        [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"])],
        g.constants,
    )
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR, producer_name="rankloom")
    model.producer_version = rankloom.__version__
    golden = golden_vectors(ranker, golden_rows(ranker))
    properties = {"ranker": type(ranker).__name__, "feature_names": names, "golden_vectors": golden.to_dict()}
    helper.set_model_props(
        model, {key: value if isinstance(value, str) else json.dumps(value) for key, value in properties.items()}
    )
    checker.check_model(model)
    return model


class _Graph:
    """The ONNX graph while it grows; values are named by number."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add an operation; inputs that are no names become constants."""
        from onnx import helper

        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        name = f"v{len(self.nodes)}" if output is None else output
        self.nodes.append(helper.make_node(kind, names, [name], name=f"{kind} {len(self.nodes)}", **attributes))
        return name

    def column(self, j: int) -> str:
        return self.node("Gather", "X", np.int64(j), axis=1)

    def filled(self, value: float) -> str:
        """One number for every row."""
        from onnx import numpy_helper

        rows = self.node("Gather", self.node("Shape", "X"), np.array([0]), axis=0)
        return self.node("ConstantOfShape", rows, value=numpy_helper.from_array(np.array([value], dtype=np.float64)))

    def share(self, j: int, low: float, high: float) -> str:
        """Where a feature lies between low and high, as `rankers._boosting.shares` has it."""
        x = self.column(j)
        with np.errstate(over="ignore"):
            width = np.subtract(high, low)
        if not np.isfinite(width):
            x, low, width = self.node("Mul", x, np.float64(0.5)), low * 0.5, high * 0.5 - low * 0.5
        if not width > 0:
            return self.filled(0.0)
        return self.node("Div", self.node("Sub", x, np.float64(low)), np.float64(width))


def _linear(g: _Graph, ranker: LinearRanker) -> str:
    return g.node("MatMul", "X", ranker.coef_.astype(np.float64))


def _rank_boost(g: _Graph, ranker: RankBoost) -> str:
    scores = g.filled(0.0)
    for j in ranker.used_features.tolist():
        scores = g.node("Add", scores, _contribution(g, ranker, j))
    return scores


def _contribution(g: _Graph, ranker: Any, j: int) -> str:
    """What feature j adds to the score of an additive ranker, rounded as in its `contribution`."""
    if isinstance(ranker, LinearRanker):
        return g.node("Mul", np.float64(ranker.coef_[j]), g.column(j))
    if not isinstance(ranker, RankBoost):
        raise ValueError(f"a cascade over {type(ranker).__name__} has no ONNX form; use RankBoost or a linear ranker")
    chosen = ranker.features_ == j
    steps = ranker.alphas_[chosen]
    if ranker.weak == "feature":
        share = g.share(j, float(ranker.low_[j]), float(ranker.high_[j]))
        return g.node("Mul", steps.sum(), g.node("Clip", share, np.float64(-FARTHEST), np.float64(FARTHEST)))
    from onnx import TensorProto

    order = np.argsort(ranker.thresholds_[chosen], kind="stable")
    column = g.node("Unsqueeze", g.column(j), np.array([1]))
    above = g.node("Greater", column, ranker.thresholds_[chosen][order])
    n_below = g.node("ReduceSum", g.node("Cast", above, to=TensorProto.INT64), np.array([1]), keepdims=0)
    return g.node("Gather", np.concatenate([[0.0], np.cumsum(steps[order])]), n_below, axis=0)


def _imbalanced(g: _Graph, ranker: ImbalancedRankBoost) -> str:
    least, greatest = RANGES[ranker.scaling]
    passes = "GreaterOrEqual" if ranker.inclusive else "Greater"
    scores, alive = g.filled(0.0), ""
    rounds = zip(ranker.features_.tolist(), ranker.inverted_.tolist(), ranker.thresholds_, ranker.alphas_, strict=True)
    for j, turned, theta, step in rounds:
        now = g.node(passes, scores, theta)
        alive = g.node("And", alive, now) if alive else now
        share = g.share(j, float(ranker.low_[j]), float(ranker.high_[j]))
        h = g.node("Add", np.float64(least), g.node("Mul", np.float64(greatest - least), share))
        h = g.node("Clip", h, np.float64(least), np.float64(greatest))
        if turned:
            h = g.node("Sub", np.float64(1.0), h) if ranker.scaling == "unit" else g.node("Neg", h)
        scores = g.node("Where", alive, g.node("Add", scores, g.node("Mul", step, h)), scores)
    return scores


def _soft_cascade(g: _Graph, ranker: SoftCascade) -> str:
    scores, alive = g.filled(float(ranker.means_.sum())), ""
    for j, mean, cut in zip(ranker.order_.tolist(), ranker.means_, ranker.cuts_, strict=True):
        now = g.node("Add", scores, g.node("Sub", _contribution(g, ranker.ranker_, j), mean))
        scores = g.node("Where", alive, now, scores) if alive else now
        above = g.node("Greater", now, cut)
        alive = g.node("And", alive, above) if alive else above
    return scores


_BUILDERS: dict[Any, Callable[[_Graph, Any], str]] = {
    LinearRanker: _linear,
    RankBoost: _rank_boost,
    ImbalancedRankBoost: _imbalanced,
    SoftCascade: _soft_cascade,
}


def _unnamed(ranker: Ranker) -> Ranker:
    """The ranker for plain arrays, of which scikit-learn would warn where it was fitted with names."""
    plain = copy(ranker)
    if hasattr(plain, "feature_names_in_"):
        del plain.feature_names_in_
    return plain


def _check_names(names: Sequence[str], width: int) -> list[str]:
    checked = [*names] if not isinstance(names, str) else [names]
    if len(checked) != width:
        raise ValueError(f"the ranker has {width} features but {len(checked)} names were given; name every one")
    wrong = [name for name in checked if not isinstance(name, str) or not name]
    if wrong:
        raise ValueError(f"a feature must have a text as its name, got {wrong[0]!r}")
    double = [name for i, name in enumerate(checked) if name in checked[:i]]
    if double:
        raise ValueError(f"two features are named {double[0]!r}; names must differ")
    return checked


def _scaling(mean: ArrayLike | None, scale: ArrayLike | None, width: int) -> tuple[FloatArray, FloatArray]:
    vectors = []
    for what, given, default in (("mean", mean, 0.0), ("scale", scale, 1.0)):
        values = np.asarray(default if given is None else given, dtype=np.float64)
        if values.shape not in ((), (width,)):
            raise ValueError(f"{what} must be one number a feature: expected {width}, got the shape {values.shape}")
        values = np.broadcast_to(values, (width,)).copy()
        check_finite(values, what)
        vectors.append(values)
    if not (vectors[1].astype(np.float32) > 0).all():
        raise ValueError("every scale must be above 0, also in single precision; leave out constant features")
    return vectors[0], vectors[1]
