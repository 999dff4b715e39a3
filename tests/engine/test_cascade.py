"""Searching a large collection by sketches: what is found, what it costs, and what holds as in exact search."""

import numpy as np
import pytest

from rankloom.collection import Collection, Mark
from rankloom.collection import sketches as stored_sketches
from rankloom.collection._files import vector_file
from rankloom.collection.derived import store_derived
from rankloom.collection.query import Example, Filters, Query
from rankloom.collection.sketches import learned_cascade, sketch_basis, store_sketches
from rankloom.collection.verify import verify
from rankloom.descriptors import DESCRIPTORS
from rankloom.engine import Engine, SearchOptions, cascade, diffusion
from rankloom.engine.cells import Cells
from rankloom.engine.neighbors import NeighborGraph, build_graph, build_graph_among
from rankloom.experts.compact import CompactVectors
from rankloom.experts.sketches import DIMENSION, SketchBasis, learn_basis, sketch_scores
from tests.archives import copied, ids
from tests.building import built

N, KINDS = 2400, 16
PLAIN = SearchOptions(diffusion=False)


def described(n, seed=0):
    """Vectors by descriptor of items of several kinds, none negative and of unit length, each kind around a center."""
    rng = np.random.default_rng(seed)
    vectors = {}
    kind = np.arange(n) % KINDS
    for number, name in enumerate(("semantic", "gist")):
        width = DESCRIPTORS[name].dimension
        centers = np.random.default_rng(number).gamma(0.3, 1.0, (KINDS, width))
        rows = centers[kind] + rng.gamma(0.3, 0.5, (n, width))
        vectors[name] = CompactVectors.of(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return vectors


def fill(collection, vectors, first=1):
    """Items without pictures: rows of the database, and vectors behind those that are there."""
    n = len(next(iter(vectors.values())))
    numbers = range(first, first + n)
    with collection.transaction() as db:
        db.executemany("INSERT INTO contents VALUES (?, 'picture', 0)", [(f"{k:08x}",) for k in numbers])
        db.executemany("INSERT INTO files VALUES (?, ?, 0, 0)", [(f"/{k % 7}/{k}.jpg", f"{k:08x}") for k in numbers])
        db.executemany(
            "INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, 9, 9, NULL, NULL, ?, 0, 0)",
            [(k, f"{k:08x}", k) for k in numbers],
        )
        words = [(k, f"/{k % 7}/{k}.jpg", "caption", "boat" if k % KINDS < 4 else "tree") for k in numbers]
        db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)", words)
        for name, rows in vectors.items():
            version, kind = DESCRIPTORS[name].version, "visual"
            path = collection.folder / vector_file(name, version)
            path.parent.mkdir(exist_ok=True)
            with open(path, "ab") as file:
                file.write(rows.rows.tobytes())
            row = (name, version, rows.shape[1], kind, first + n - 1)
            db.execute("INSERT OR REPLACE INTO descriptors VALUES (?, ?, ?, ?, ?)", row)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(stored_sketches, "LEAST", 1000)
    monkeypatch.setattr(cascade, "LARGE", 2000)
    monkeypatch.setattr(cascade, "REFERENCE", 60)
    monkeypatch.setattr(diffusion, "EXACT", 2000)
    monkeypatch.setattr(diffusion, "LOCAL", 2000)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    def make(root):
        with pytest.MonkeyPatch.context() as patch, Collection(root / "c", create=True) as collection:
            patch.setattr(stored_sketches, "LEAST", 1000)
            patch.setattr(cascade, "REFERENCE", 60)
            patch.setattr(diffusion, "EXACT", 2000)
            fill(collection, described(N))
            store_derived(collection)
            Engine(collection).refresh()

    with Collection(built("large", make) / "c") as opened:
        yield opened


@pytest.fixture
def changing(original, tmp_path):
    with copied(original, tmp_path / "c") as opened:
        yield opened


def like(*items, text="", **filters):
    examples = tuple(Example(item=abs(item), weight=1.0 if item > 0 else -1.0) for item in items)
    return Query(text, examples, Filters(**filters))


QUERIES = {
    "item": like(5),
    "two": like(5, 21),
    "against": like(5, -7),
    "words": like(5, text="boat"),
    "filter": like(5, folder="/3"),
    "minus": like(5, text="-tree"),
}


def shared(a, b):
    return len({*ids(a)} & {*ids(b)}) / max(1, len({*ids(b)}))


@pytest.mark.parametrize("name", QUERIES)
def test_nearly_the_same_is_found_as_by_looking_at_all(original, name):
    by_sketches, exact = Engine(original), Engine(original, index="exact")
    base = by_sketches.rank(QUERIES[name], PLAIN).base
    assert base.rows is not None
    assert len(base.rows) < N / 2
    assert exact.rank(QUERIES[name], PLAIN).base.rows is None
    some, all_items = (engine.search(QUERIES[name], 30, PLAIN) for engine in (by_sketches, exact))
    assert shared(some, all_items) >= 0.9
    scores = {hit.id: hit.score for hit in all_items}
    for hit in some:
        assert hit.score == pytest.approx(scores.get(hit.id, hit.score), abs=1e-5)


def test_what_was_learned_is_checked_on_other_searches(original):
    learned = learned_cascade(original)
    assert learned is not None
    assert 0 < learned.share < 0.2
    assert learned.agreement >= 0.97
    assert learned.n_items == N
    assert set(learned.weights) <= {expert.name for expert in Engine(original).snapshot().experts}


def test_small_collections_are_searched_exactly_unless_asked_otherwise(original, monkeypatch):
    monkeypatch.setattr(cascade, "LARGE", N)
    assert Engine(original).rank(like(5)).base.rows is None
    assert Engine(original, index="cascade").rank(like(5)).base.rows is not None
    with pytest.raises(ValueError, match="unknown index 'magic'; known are exact, cascade, faiss"):
        Engine(original, index="magic")


def test_far_down_the_list_all_items_are_looked_at(original):
    engine = Engine(original)
    assert len(engine.search(like(5), N, PLAIN)) == N
    beyond = engine.search(like(5), 10, SearchOptions(offset=N - 10, diffusion=False))
    assert [hit.rank for hit in beyond] == [*range(N - 9, N + 1)]
    few = engine.search(like(5, folder="/3"), N, PLAIN)
    assert len(few) == len([k for k in range(1, N + 1) if k % 7 == 3])


def test_other_weights_are_searched_exactly_until_it_is_learned_anew(changing):
    weights = {**Engine(changing).weights, "gist.l1": 5.0}
    engine = Engine(changing, weights)
    assert engine.rank(like(5)).base.rows is None
    engine.refresh()
    learned = learned_cascade(changing)
    assert learned.weights["gist.l1"] > max(v for name, v in learned.weights.items() if name != "gist.l1")
    assert (engine.rank(like(5)).base.rows is None) == (learned.share > 0.2)


def test_marks_teach_among_the_candidates_and_have_their_places(changing):
    by_sketches, exact = Engine(changing), Engine(changing, index="exact")
    kind = [k for k in range(1, N + 1) if k % KINDS == 8][:4]
    marks = [*(Mark(item, 1.0) for item in kind), Mark(30, 0.0), Mark(31, 0.0)]
    for done in (2, 6):
        by_sketches.feedback(like(5), marks[:done])
        ranking = by_sketches.rank(like(5), PLAIN)
        assert ranking.feedback.columns.shape[1] == len(ranking.base.rows) < N / 2
        some, all_items = (engine.search(like(5), 30, PLAIN) for engine in (by_sketches, exact))
        assert shared(some, all_items) >= 0.9
        assert {*ids(some)[: min(done, 4)]} == {*kind[:done]}
    everything = by_sketches.search(like(5), N, PLAIN)
    assert {*ids(everything)[-2:]} == {30, 31}


def test_preferences_are_kept_among_the_candidates(changing):
    engine = Engine(changing)
    better, worse = (next(k for k in range(1, N + 1) if k % KINDS == kind) for kind in (9, 5))
    engine.prefer(like(5), better, worse)
    results = engine.search(like(5), 200, PLAIN)
    ranks = {hit.id: hit.rank for hit in results}
    assert ranks[better] < ranks.get(worse, N)
    exact = Engine(changing, index="exact").search(like(5), 200, PLAIN)
    assert next(hit.score for hit in results if hit.id == better) == pytest.approx(
        next(hit.score for hit in exact if hit.id == better), abs=1e-4
    )


@pytest.mark.parametrize("options", [PLAIN, SearchOptions()])
def test_the_parts_of_a_score_sum_to_it(changing, options):
    engine = Engine(changing)
    engine.feedback(like(5), [Mark(24, 1.0), Mark(30, 0.0)])
    results = engine.search(like(5), 10, options)
    assert results.diffused == options.diffusion
    explained = engine.explain(like(5), [*ids(results), 31, 30], options)
    for hit, why in zip(results, explained, strict=False):
        assert sum(part.value for part in why) == pytest.approx(hit.score, abs=1e-4)


def test_neighbors_among_candidates_and_near_diffusion_are_nearly_exact(original, monkeypatch):
    engine = Engine(original)
    near = engine.search(like(5), 40)
    assert near.diffused
    monkeypatch.setattr(diffusion, "LOCAL", N)
    assert shared(near, Engine(original, index="exact").search(like(5), 40)) >= 0.9


def test_new_items_are_found_before_and_after_their_sketches_are_stored(changing):
    engine = Engine(changing)
    engine.search(like(5))
    twin = {name: rows.take([4, 0, 1, 2]) for name, rows in described(N).items()}
    fill(changing, twin, N + 1)
    assert engine.snapshot().n_items == N + 4
    assert {5, N + 1} == {*ids(engine.search(like(5), 2, PLAIN))}
    basis = sketch_basis(changing).version
    store_derived(changing)
    assert sketch_basis(changing).version == basis
    assert {5, N + 1} == {*ids(Engine(changing).search(like(5), 2, PLAIN))}
    assert not [problem for problem in verify(changing).problems if "sketches" in problem]


@pytest.mark.slow
def test_directions_are_learned_anew_when_the_file_is_lost_or_damaged(changing):
    path = changing.folder / stored_sketches.SKETCH_FILE
    for damage in (b"", path.read_bytes()[:-100]):
        path.write_bytes(damage)
        assert sketch_basis(changing) is None
        assert Engine(changing).rank(like(5)).base.rows is None
        store_sketches(changing)
        assert sketch_basis(changing) is not None


def test_sketch_scores_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    sketches = rng.integers(-127, 128, (500, DIMENSION)).astype(np.int8)
    wanted, against = sketches[[3, 4, 5]], sketches[[9]]
    scale = 1.3e6

    def similarity(probes):
        squares = ((sketches[:, None].astype(float) - probes.astype(float)) ** 2).sum(axis=2)
        return np.exp(-squares / scale)

    def combined(probes):
        return (similarity(probes).max(axis=1) + similarity(probes).mean(axis=1)) / 2

    for right, wrong in ((wanted[:1], []), (wanted, []), (wanted, against), ([], against)):
        expected = sum(f * combined(p) for f, p in ((1.0, right), (-0.5, wrong)) if len(p))
        np.testing.assert_allclose(sketch_scores(sketches, scale, right, wrong), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_a_basis_keeps_distances_and_survives_a_file():
    vectors = described(1500)["semantic"]
    basis = learn_basis(vectors)
    again = SketchBasis.from_bytes(basis.to_bytes())
    assert again.version == basis.version
    sketches = again.sketches(vectors[:300]).astype(float)
    assert sketches.shape == (300, DIMENSION)
    roots = np.sqrt(vectors[:300].astype(float))
    roots /= np.linalg.norm(roots, axis=1, keepdims=True)
    exact = ((roots[:, None] - roots) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    short = ((sketches[:, None] - sketches) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    assert np.corrcoef(exact, short)[0, 1] > 0.9


def test_cells_find_the_nearest_sketches():
    sketches = learn_basis(described(1500)["semantic"]).sketches(described(1500)["semantic"])
    rows = np.array([700, 3, 44])
    found = dict(Cells(sketches).near(rows, 20))
    assert {*found} == {*rows.tolist()}
    for row, near in found.items():
        squares = ((sketches.astype(int) - sketches[row].astype(int)) ** 2).sum(axis=1)
        assert (np.diff(near) > 0).all()
        assert row in near
        assert np.isin(np.argsort(squares, kind="stable")[:20], near).mean() >= 0.9


def test_a_graph_among_all_candidates_is_exact():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3))
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    present = rng.random(60) < 0.9
    everything = np.arange(60)
    backwards = build_graph_among(
        lambda rows: ((row, everything) for row in rows[::-1].tolist()), lambda row, rows: K[row, rows], present, 5
    )
    assert backwards.ids.tolist() == build_graph(lambda row: K[row], present, 5).ids.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_pushing_is_near_to_the_solution(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(400, 4))
    graph = build_graph(lambda row: -((points - points[row]) ** 2).sum(axis=1), np.ones(400, dtype=bool), 8)
    assert isinstance(graph, NeighborGraph)
    start = np.zeros(400)
    start[rng.choice(400, 6, replace=False)] = rng.random(6)
    exact = graph.diffuse(start)
    f, g = graph.diffuse_nearby(start)
    np.testing.assert_allclose(g, start + 0.9 * (graph.operator() @ f), atol=1e-12)
    np.testing.assert_allclose(g, exact, atol=0.01 * exact.max())
    assert (g <= exact + 1e-12).all()
    assert graph.diffuse_nearby(np.zeros(400))[1].max() == 0


def test_an_index_by_faiss_is_kept_and_made_again_if_damaged(changing):
    pytest.importorskip("faiss")
    exact = Engine(changing, index="exact").search(like(5), 20, PLAIN)
    engine = Engine(changing, index="faiss")
    assert ids(engine.search(like(5), 20, PLAIN)) == ids(exact)
    (file,) = changing.folder.glob("semantic-*.faiss")
    before = file.stat().st_mtime_ns
    assert ids(Engine(changing, index="faiss").search(like(5), 20, PLAIN)) == ids(exact)
    assert file.stat().st_mtime_ns == before
    fill(changing, {name: rows.take(slice(4)) for name, rows in described(N).items()}, N + 1)
    assert N + 1 in ids(engine.search(like(1), 3, PLAIN))
    file.write_bytes(file.read_bytes()[:100])
    assert ids(Engine(changing, index="faiss").search(like(5), 20, PLAIN)) == ids(exact)


def test_an_index_by_faiss_needs_the_semantic_descriptor(tmp_path):
    pytest.importorskip("faiss")
    with Collection(tmp_path / "c", create=True) as collection:
        fill(collection, {"gist": described(30)["gist"]})
        store_derived(collection)
        with pytest.raises(ValueError, match="which this collection has no vectors of"):
            Engine(collection, index="faiss").search(like(5))
