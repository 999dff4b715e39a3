"""Indexes of candidates: exact, by FAISS, or of one's own, and what an engine makes of them."""

import cv2
import numpy as np
import pytest

from rankloom.collection import Mark, index
from rankloom.collection.query import Query
from rankloom.engine import Engine, SearchOptions
from rankloom.engine.index import ExactIndex, FaissIndex
from tests.archives import alike, ids, like, picture

faiss = pytest.importorskip("faiss")
N = 48


def with_faiss(collection, stored=None):
    weights = dict(alike(collection).weights)
    return Engine(collection, weights, index=FaissIndex(collection.vectors("lbp") if stored is None else stored, "lbp"))


def test_exact_index_takes_all():
    exact = ExactIndex()
    exact.grow({"lbp": np.ones((4, 3), np.float16)})
    assert exact.candidates([{"lbp": np.ones(3)}], 1) is None


class Odd:
    """An index that anybody could write: items with odd numbers, and what it was told of."""

    def __init__(self):
        self.n = []

    def grow(self, vectors):
        self.n.append(len(vectors["lbp"]))

    def candidates(self, sightings, n):
        return np.arange(0, self.n[-1], 2)


def test_any_index_that_keeps_to_the_protocol_works(changing, tmp_path):
    chosen = Odd()
    engine = Engine(changing, dict(alike(changing).weights), index=chosen)
    exact = [one for one in ids(alike(changing).search(like(3), N, SearchOptions(diffusion=False))) if one % 2]
    assert ids(engine.search(like(3), N, SearchOptions(diffusion=False))) == exact
    assert len(engine.search(Query("things"), N)) == N  # words count: all items
    cv2.imwrite(str(tmp_path / "new.png"), picture((30, 30, 200), 99))
    index(changing, [tmp_path / "new.png"], workers=0)
    assert N + 1 in ids(engine.search(like(3), 100))
    assert chosen.n[0] == N
    assert chosen.n[-1] == N + 1


def test_faiss_candidates_are_the_nearest_by_cosine(tmp_path):
    rng = np.random.default_rng(0)
    stored = rng.normal(size=(300, 16)).astype(np.float16)
    stored[7] = 0
    found = FaissIndex(stored[:200], "d")
    found.grow({"d": stored, "other": stored[:5]})
    found.grow({"d": stored})
    found.grow({"other": stored})
    found.grow({"d": stored[:10]})
    assert len(found) == 300
    unit = stored.astype(np.float32) / np.maximum(
        np.linalg.norm(stored.astype(np.float32), axis=1, keepdims=True), 1e-9
    )
    for rows in ([3], [3, 90, 41]):
        nearest = {row for query in rows for row in np.argsort(-(unit @ unit[query]), kind="stable")[:12].tolist()}
        assert set(found.candidates([{"d": stored[row]} for row in rows], 12).tolist()) == nearest
    assert found.candidates([{"other": stored[0]}], 5) is None
    assert found.candidates([], 5) is None
    assert len(found.candidates([{"d": stored[0]}], 10_000)) == 300
    found.save(tmp_path / "i.faiss")
    again = FaissIndex.load(tmp_path / "i.faiss", "d")
    assert again.candidates([{"d": stored[9]}], 8).tolist() == found.candidates([{"d": stored[9]}], 8).tolist()
    with pytest.raises(FileNotFoundError):
        FaissIndex.load(tmp_path / "none", "d")
    best = np.argsort(-(unit @ unit.T), axis=1, kind="stable")[:, :5]
    assert found.recall(stored[:20], best[:20], 5) == pytest.approx(1.0, abs=0.02)


def test_an_empty_faiss_index_has_no_candidates():
    found = FaissIndex(np.zeros((0, 4), np.float16), "d").candidates([{"d": np.ones(4)}], 3)
    assert found is None or found.tolist() == []


@pytest.mark.parametrize("query", [like(3), like(3, 20), Query("red boat"), like(9, text="sea")])
def test_an_engine_with_all_candidates_is_exact(original, query):
    exact, some = alike(original).search(query, N), with_faiss(original).search(query, N)
    assert ids(some) == ids(exact)
    np.testing.assert_allclose([one.score for one in some], [one.score for one in exact], atol=1e-5)


def test_an_engine_with_an_index_finds_new_items(changing, tmp_path):
    engine = with_faiss(changing)
    engine.search(like(3))
    cv2.imwrite(str(tmp_path / "new.png"), picture((30, 30, 200), 99))
    index(changing, [tmp_path / "new.png"], workers=0)
    assert ids(engine.search(like(N + 1), 1, SearchOptions(diffusion=False))) == [N + 1]


def test_a_marked_item_is_shown_whatever_the_index_proposes(changing):
    engine = with_faiss(changing, changing.vectors("lbp")[:20])
    engine.feedback(like(3), [Mark(40, 1.0)])
    assert ids(engine.search(like(3), N))[0] == 40


def test_an_index_that_knows_more_than_the_collection(changing):
    stored = np.vstack([changing.vectors("lbp"), changing.vectors("lbp")])
    assert len(with_faiss(changing, stored).search(like(3), 100)) == N
