"""All distances in one pass over stored rows, against scipy and the formulas."""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from scipy.spatial.distance import cdist

import rankloom.experts.distances
import rankloom.experts.threads
from rankloom.experts import (
    EncodedExample,
    Expert,
    StoredVectors,
    _kernels,
    _plain,
    expert_features,
    expert_rows,
    experts_of,
    measure_scales,
)
from rankloom.experts.compact import TAIL, CompactVectors
from rankloom.experts.distances import (
    DISTANCES,
    Weighted,
    add_similarities,
    add_similarities_of,
    all_distances,
    all_distances_of,
    distances_between,
    intersection,
)


def rows(n=60, d=37, seed=0, *, negative=False):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) if negative else rng.random((n, d)) * (rng.random((n, d)) < 0.7)
    values[3] = 0.0
    return CompactVectors.of(values)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("d", [1, 7, 8, 64, 257])
def test_fused_against_formulas_and_scipy(d, negative):
    stored = rows(d=d, negative=negative)
    query = stored[5] + 0.25
    found = all_distances(query, stored)
    exact = stored[:].astype(np.float64)
    for place, function in enumerate(DISTANCES.values()):
        np.testing.assert_allclose(found[:, place], function(query.astype(float), exact), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[:, 0], cdist(query[None], exact, "cityblock")[0], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[:, 1], cdist(query[None], exact, "euclidean")[0], rtol=2e-5, atol=2e-5)
    nonzero = np.flatnonzero(np.abs(exact).sum(axis=1) > 0)
    cosines = cdist(query[None], exact[nonzero], "cosine")[0]
    np.testing.assert_allclose(found[nonzero, 2], cosines, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("d", [1, 37, 257, 70_000])
def test_numpy_computes_what_compiled_loops_do(d, negative):
    stored = rows(n=12 if d > 1000 else 60, d=d, negative=negative)
    query = stored[5] + 0.25
    everything, some = np.empty(0, np.int64), np.array([7, 3, 3, 0])
    for wanted, n_rows in ((everything, len(stored)), (some, len(some))):
        for n in (4, 5):  # a fifth is left for a distance that the loops do not compute
            found, expected = (np.zeros((n_rows, n), np.float32) for _ in range(2))
            _plain.fused(stored.rows, wanted, wanted is everything, query, found, 1, n_rows)
            _kernels.fused(stored.rows, wanted, wanted is everything, query, expected, 1, n_rows)
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
            assert not found[:, 4:].any()
    queries, ends = np.array([2, -1, 9]), np.array([0, 2, 3, 4])
    found, expected = (np.zeros((4, 4), np.float32) for _ in range(2))
    _plain.fused_between(stored.rows, queries, some, ends, found)
    _kernels.fused_between(stored.rows, queries, some, ends, expected)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("weights", [(0.5, 0.0, -1.0, 2.0), (0.5, 0.0, -1.0, 0.0)])
def test_numpy_weighs_what_compiled_loops_do(weights):
    stored, scales = rows(), np.array([5.0, 1.5, 0.4, 3.0], np.float32)
    numbers = np.array(weights, np.float32), scales
    queries = np.stack([stored[5], stored[9] + np.float32(0.1)])
    found, expected = (np.ones((2, len(stored)), np.float32) for _ in range(2))
    for loops, out in ((_plain, found), (_kernels, expected)):
        loops.weighted(stored.rows, np.empty(0, np.int64), True, queries, *numbers, out, 0, 20)
        loops.weighted(stored.rows, np.empty(0, np.int64), True, queries, *numbers, out, 20, len(stored))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_a_damaged_row_shows_in_numpy_too():
    stored = rows()
    stored.rows[4, -TAIL:-8] = 255  # its size
    out = np.zeros((len(stored), 4), np.float32)
    _plain.fused(stored.rows, np.empty(0, np.int64), True, stored[5], out, 0, len(stored))
    assert np.flatnonzero(np.isnan(out).any(axis=1)).tolist() == [4]


@pytest.mark.slow
@pytest.mark.parametrize("features", ["+sse4.2,+popcnt", "+avx2,+fma,+f16c"])
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are features of Intel and AMD processors")
def test_every_code_is_read_exactly_on_any_processor(features, tmp_path):
    script = """
import numpy as np
from numba import njit
from rankloom.experts._kernels import UNIT, _converts_halves, _level
from rankloom.experts.compact import TAIL, CompactVectors

@njit
def read(codes, unit, out):
    for place in range(len(codes)):
        out[place] = _level(codes[place]) * unit

rows = np.zeros((1, 256 + TAIL), np.uint8)
rows[0, :256] = np.arange(256)
rows[0, 256:258] = np.array([3.25], "<f2").view(np.uint8)
out = np.empty(256, np.float32)
read(rows[0, :256], np.float32(3.25) * UNIT, out)
np.testing.assert_array_equal(out, CompactVectors(rows)[0])
assert out.max() == 1984 * 3.25 / 2048
print(_converts_halves())
"""
    name = "haswell" if "avx2" in features else "nehalem"
    environment = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if "+f16c" in features and not get_host_cpu_features().get("f16c", False):
        pytest.skip("this processor has no such instruction")
    assert ran.stdout.split() == [str("f16c" in features)], ran.stderr


def test_some_rows_and_any_number_of_threads_give_the_same_bits():
    stored, query = rows(500, 96), rows(9, 96, 1)[0] + np.float32(0.01)
    whole = all_distances(query, stored)
    some = np.array([400, 3, 3, 77])
    np.testing.assert_array_equal(all_distances(query, stored, some), whole[some])
    np.testing.assert_array_equal(
        np.concatenate([all_distances(query, stored.take(part)) for part in np.array_split(np.arange(500), 7)]), whole
    )
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(all_distances(query, stored), whole)
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("d", [3, 32, 59, 257, 1280])
def test_between_stored_rows_all_distances_are_symmetric_to_the_last_bit(d, negative):
    stored = rows(40, d, negative=negative)
    found = np.array([all_distances(row, stored) for row in stored[:]])
    np.testing.assert_array_equal(found, found.transpose(1, 0, 2))
    scales = np.full(4, 0.7, np.float32)
    # With all distances, and without the one that divides.
    for weights in ([0.2, 0.3, 0.1, 0.4], [0.2, 0.3, 0.1, 0.0]):
        total = np.zeros((40, 40), np.float32)
        for sums, row in zip(total, stored[:], strict=True):
            add_similarities(sums, Weighted(row, stored, np.array(weights, np.float32), scales))
        np.testing.assert_array_equal(total, total.T)
        expected = np.exp(-found.astype(float) / 0.7) @ weights
        np.testing.assert_allclose(total, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loops", [_kernels, _plain], ids=["compiled", "numpy"])
@pytest.mark.parametrize("d", [3, 37, 64, 257])
def test_distances_between_stored_rows_of_very_different_sizes_are_symmetric(d, loops):
    rng = np.random.default_rng(d)
    values = rng.random((60, d)) * (rng.random((60, d)) < 0.7) * 10.0 ** rng.integers(-7, 5, size=(60, 1))
    values[5:20] *= 10.0 ** rng.integers(-6, 1, size=(15, d))
    stored = CompactVectors.of(values)
    found = np.empty((60, 60, 4), np.float32)
    for row, out in zip(stored[:], found, strict=True):
        loops.fused(stored.rows, np.empty(0, np.int64), True, row, out, 0, 60)
    np.testing.assert_array_equal(found, found.transpose(1, 0, 2))
    exact = stored[:].astype(float)
    expected = np.array([DISTANCES["chi2"](row, exact) for row in exact])
    # Of components that are both smaller than LITTLE, each may lose as much.
    np.testing.assert_allclose(found[:, :, 3], expected, rtol=2e-5, atol=d * _plain.LITTLE)


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.1, 0.4], [0.2, 0.3, 0.1, 0.0]])
def test_several_queries_at_once_and_some_rows_give_the_same_bits(weights):
    numbers = np.array(weights, np.float32), np.full(4, 0.7, np.float32)
    described = [rows(300, d) for d in (5, 96)]
    expected = np.zeros((4, 300), np.float32)
    for number, row in enumerate((7, 299, 0, 150)):
        add_similarities(expected[number], *(Weighted(stored[row], stored, *numbers) for stored in described))
    queries = [Weighted(stored[[7, 299, 0, 150]], stored, *numbers) for stored in described]
    total = np.zeros_like(expected)
    add_similarities(total, *queries)
    np.testing.assert_array_equal(total, expected)
    some = np.array([250, 3, 4, 7])
    total = np.zeros((4, 4), np.float32)
    add_similarities(total, *queries, rows=some)
    np.testing.assert_array_equal(total, expected[:, some])


def test_similarities_of_known_distances_are_exact():
    distances = np.zeros((1000, 4), np.float32)
    distances[:, 1] = np.linspace(0.0, 60.0, 1000)
    distances[-1, 1] = np.nan  # a damaged vector must show
    total = np.zeros(1000, np.float32)
    add_similarities_of(total, distances, np.array([0, 2, 0, 0], np.float32), np.full(4, 0.7, np.float32))
    np.testing.assert_allclose(total, 2.0 * np.exp(-distances[:, 1].astype(float) / 0.7), rtol=1e-5, atol=1e-35)


def test_several_descriptors_at_once_and_several_threads_at_once_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(rankloom.experts.threads, "_WORTH_THREADS", 1)
    described = [(rows(9, d, 1)[0], rows(200, d)) for d in (5, 96, 33)]
    numbers = np.array([0.2, 0.3, 0.1, 0.4], np.float32), np.full(4, 0.7, np.float32)

    def computed(_):
        total = np.zeros(200, np.float32)
        add_similarities(total, *(Weighted(*pair, *numbers) for pair in described))
        return [total, *all_distances_of(described)]

    expected = [np.zeros(200, np.float32), *(all_distances(*pair) for pair in described)]
    for pair in described:
        add_similarities(expected[0], Weighted(*pair, *numbers))
    with ThreadPoolExecutor(4) as threads:
        for arrays in threads.map(computed, range(20)):
            for array, alone in zip(arrays, expected, strict=True):
                np.testing.assert_array_equal(array, alone)


def test_bad_arguments():
    with pytest.raises(ValueError, match="rows of bytes, got float64"):
        CompactVectors(np.zeros((2, 30)))
    with pytest.raises(ValueError, match="rows of an array"):
        CompactVectors.of(np.zeros(3))
    with pytest.raises(ValueError, match="3 components"):
        all_distances(np.zeros(4), CompactVectors.of(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="unknown distance"):
        experts_of(["hog"], ["l9"])


def test_scale_is_the_median_distance():
    stored = rows(80, 16)
    present = np.ones(80, dtype=bool)
    present[::4] = False
    scales = measure_scales(stored, present)
    exact = stored[present].astype(float)
    for name, function in DISTANCES.items():
        pairs = [function(exact[i], np.delete(exact, i, axis=0)) for i in range(len(exact))]
        assert scales[name] == pytest.approx(np.median(np.concatenate(pairs)), rel=1e-4)
    assert measure_scales(stored.take(slice(1)), np.ones(1, dtype=bool)) == dict.fromkeys(DISTANCES, 1.0)


def features(sightings, experts=None, n=50):
    stored = {"a": rows(n, 9), "b": rows(n, 5, 1)}
    scales = {name: measure_scales(vectors, np.ones(n, dtype=bool)) for name, vectors in stored.items()}
    chosen = experts or experts_of(["a", "b"])
    return expert_features(chosen, stored, scales, sightings, n), stored, scales


def test_one_example_is_exp_of_minus_distance():
    query = {"a": np.full(9, 0.3), "b": np.full(5, 0.2)}
    lazy, stored, scales = features([EncodedExample(query)])
    dense = np.asarray(lazy)
    for place, expert in enumerate(experts_of(["a", "b"])):
        exact = stored[expert.descriptor][:].astype(float)
        distance = DISTANCES[expert.distance](query[expert.descriptor], exact)
        expected = np.exp(-distance / scales[expert.descriptor][expert.distance])
        np.testing.assert_allclose(dense[:, place], expected, rtol=1e-4, atol=1e-5)
    assert dense.min() >= 0
    assert dense.max() <= 1


def test_several_examples_best_and_mean_and_those_against():
    one, two, bad = (np.full(9, value) for value in (0.1, 0.6, 0.9))
    single = [np.asarray(features([EncodedExample({"a": v})], [Expert("a", "l1")])[0])[:, 0] for v in (one, two, bad)]
    sightings = [EncodedExample({"a": one}, 2.0), EncodedExample({"a": two}, 1.0), EncodedExample({"a": bad}, -1.0)]
    found = np.asarray(features(sightings, [Expert("a", "l1")])[0])[:, 0]
    best = np.maximum(single[0], 0.5 * single[1])
    mean = (2 * single[0] + single[1]) / 3
    np.testing.assert_allclose(found, (best + mean) / 2 - single[2] / 2, atol=1e-6)


def test_a_missing_modality_is_no_evidence():
    lazy, _, _ = features([EncodedExample({"b": np.full(5, 0.2)})])
    dense = np.asarray(lazy)
    assert not dense[:, :4].any()
    assert dense[:, 4:].all()
    assert not np.asarray(features([])[0]).any()


def test_columns_are_lazy_and_share_a_pass():
    lazy, _, _ = features([EncodedExample({"a": np.full(9, 0.3)})])
    some = lazy.column(0, [4, 9])
    assert lazy.n_evaluations == 2
    np.testing.assert_array_equal(np.asarray(lazy)[[4, 9], 0], some)


def test_rows_of_many_queries_are_the_bits_of_their_matrices():
    _, stored, scales = features([])
    experts = experts_of(["b", "a"], ("l2", "chi2", "l1", "cosine"))
    unrounded = {"a": np.full(9, 0.3), "b": np.full(5, 0.2)}
    queries = [
        [EncodedExample(StoredVectors(stored, 4))],
        [],
        [EncodedExample(unrounded)],
        [EncodedExample({"b": unrounded["b"]}), EncodedExample(StoredVectors(stored, 9), 2.0)],
        [EncodedExample(StoredVectors(stored, 7), -1.0)],
        [EncodedExample(StoredVectors(stored, row), weight) for row, weight in ((1, 1.0), (2, -0.5), (3, 0.7))],
    ]
    wanted = [np.array(some, dtype=np.int64) for some in ([4, 0, 31], [2], [7, 7], [9, 3], [], [49, 1])]
    dense = expert_rows(experts, stored, scales, queries, wanted)
    matrices = [np.asarray(expert_features(experts, stored, scales, examples, 50)) for examples in queries]
    expected = np.concatenate([matrix[some] for matrix, some in zip(matrices, wanted, strict=True)])
    np.testing.assert_array_equal(dense, expected)
    assert expected.any(axis=1).tolist() == [True] * 3 + [False] + [True] * 6
    alone = expert_rows(experts, stored, scales, queries[:1], wanted[:1])
    np.testing.assert_array_equal(alone, dense[:3])


def canberra(query, rows):
    total = np.abs(query) + np.abs(rows)
    return np.divide(np.abs(query - rows), total, out=np.zeros_like(total), where=total > 0).sum(axis=1)


@pytest.fixture(params=["last", "first"])
def registered(request, monkeypatch):
    """Two more distances than the loops know, at the end of the registry or at its beginning."""
    known = dict(DISTANCES)
    more = {"canberra": canberra, "intersection": intersection}
    monkeypatch.setattr(rankloom.experts.distances, "_BLOCK", 100)  # rows are read in several blocks
    DISTANCES.clear()
    DISTANCES.update(known | more if request.param == "last" else more | known)
    yield list(DISTANCES).index("canberra")
    DISTANCES.clear()
    DISTANCES.update(known)  # in its own order, which is that of the columns


def exact_distances(query, exact):
    """All registered distances by scipy and by the definition of the intersection."""
    kinds = {"l1": "cityblock", "l2": "euclidean", "canberra": "canberra"}
    found = {name: cdist(query[None], exact, kind)[0] for name, kind in kinds.items()}
    shared = np.array([min(query.sum(), row.sum()) and np.minimum(query, row).sum() for row in exact])
    found["intersection"] = 1 - shared / np.maximum(exact.sum(axis=1), query.sum())
    return found


def test_a_registered_distance_is_computed_in_all_ways(registered):
    stored, some = rows(60, 37), np.array([7, 3, 3, 0])
    query = stored[5] + np.float32(0.25)
    exact = stored[:].astype(float)
    whole = all_distances(query, stored)
    assert whole.shape == (60, 6)
    for name, expected in exact_distances(query.astype(float), exact).items():
        np.testing.assert_allclose(whole[:, list(DISTANCES).index(name)], expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(all_distances(query, stored, some), whole[some])
    between = distances_between(stored, np.array([2, -1, 9]), some, np.array([0, 2, 3, 4]))
    np.testing.assert_array_equal(between[:2], all_distances(stored[2], stored)[[7, 3]])
    np.testing.assert_array_equal(between[3], all_distances(stored[9], stored)[0])


def test_a_registered_distance_adds_to_similarities(registered):
    stored, some = rows(60, 37), np.array([7, 3, 3, 0])
    weights, scales = np.array([0.5, 0.25, 0.0, 2.0, -1.0, 0.1], np.float32), np.arange(1, 7, dtype=np.float32)
    queries = np.stack([stored[5], stored[9]])
    distances = np.stack([all_distances(query, stored) for query in queries]).astype(float)
    expected = np.exp(-distances / scales) @ weights.astype(float)
    total = np.ones((2, 60), np.float32)
    add_similarities(total, Weighted(queries, stored, weights, scales))
    np.testing.assert_allclose(total, 1 + expected, rtol=1e-4, atol=1e-5)
    part = np.ones((2, 4), np.float32)
    add_similarities(part, Weighted(queries, stored, weights, scales), rows=some)
    np.testing.assert_array_equal(part, total[:, some])
    known = np.zeros(60, np.float32)
    add_similarities_of(known, distances[0].astype(np.float32), weights, scales)
    np.testing.assert_allclose(known, expected[0], rtol=1e-4, atol=1e-5)


def test_a_registered_distance_makes_experts(registered):
    query = {"a": np.full(9, 0.3), "b": np.full(5, 0.2)}
    lazy, stored, scales = features([EncodedExample(query)])
    names = [expert.name for expert in experts_of(["a", "b"])]
    assert lazy.names == names
    assert len(names) == 12
    for descriptor, vector in query.items():
        exact = stored[descriptor][:].astype(float)
        pairs = cdist(exact, exact, "canberra")
        assert scales[descriptor]["canberra"] == pytest.approx(np.median(pairs[np.triu_indices(50, 1)]), rel=1e-5)
        expected = np.exp(-cdist(vector[None], exact, "canberra")[0] / scales[descriptor]["canberra"])
        place = names.index(f"{descriptor}.canberra")
        np.testing.assert_allclose(lazy.column(place), expected, rtol=1e-5)
        np.testing.assert_allclose(
            expert_rows(experts_of(["a", "b"]), stored, scales, [[EncodedExample(query)]], [np.array([4, 9])])[
                :, place
            ],
            expected[[4, 9]],
            rtol=1e-5,
        )
