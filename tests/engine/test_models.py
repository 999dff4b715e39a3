"""Models, concepts among the experts, what is worth asking, kept pictures and searches, and older collections."""

import json
import sqlite3
import threading

import numpy as np
import pytest

from rankloom.collection import Collection, Mark, index
from rankloom.collection._schema import MIGRATIONS
from rankloom.collection.query import Example, Query
from rankloom.engine import Engine, SearchOptions
from rankloom.evaluation.metrics import evaluate
from tests.archives import alike, copied, ids, kind, like, rgb

N = 48
NOT_LINEAR = ("rankboost", "irankboost", "ranknet", "lambdamart")


@pytest.fixture(scope="module")
def judged(original, tmp_path_factory):
    """A collection with marks of many queries by example and of some words, all of them true."""
    with copied(original, tmp_path_factory.mktemp("judged") / "c") as opened:
        engine = alike(opened)
        for item in range(1, N, 4):
            judge(engine, like(item), kind(opened, item), range(1, N + 1, 3))
        for word in ("red", "green", "blue", "grey"):
            judge(engine, Query(word), f"{word}_things", range(2, N + 1, 3))
        yield opened


@pytest.fixture
def taught(judged, tmp_path):
    with copied(judged, tmp_path / "taught") as opened:
        yield alike(opened)


def judge(engine, query, wanted, items, user=""):
    engine.feedback(query, [Mark(one, float(kind(engine.collection, one) == wanted)) for one in items], user)


# Models --------------------------------------------------------------------------------------------------------------


def test_training_needs_marks_of_some_queries(changing):
    engine = alike(changing)
    with pytest.raises(ValueError, match="nothing to learn from"):
        engine.train()
    for item in (1, 20):
        judge(engine, like(item), kind(changing, item), range(1, N + 1, 5))
    with pytest.raises(ValueError, match="2 queries are too few"):
        engine.train()
    with pytest.raises(ValueError, match="nothing to go back to"):
        engine.rollback()
    for bad in (lambda: engine.use(7), lambda: engine.ranker(7), lambda: engine.compare_models([7])):
        with pytest.raises(ValueError, match="there is no model 7"):
            bad()
    assert engine.models() == []


@pytest.mark.parametrize("ranker", ["nope", "rlr"])
def test_bad_rankers_and_parameters_leave_no_model(taught, ranker):
    with pytest.raises(ValueError):
        taught.train(ranker, {"nope": 1})
    assert taught.models() == []


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["rlr", "ranksvm", *NOT_LINEAR])
def test_a_model_in_use_ranks_and_explains(taught, ranker):
    model = taught.train(ranker)
    assert model.n_marks == len(taught.marks())
    assert model.low <= model.value <= model.high
    assert model.gain_low <= model.gain <= model.gain_high
    assert (model.status == "in use") == (model.gain >= 0)
    taught.use(model.id)
    assert taught.models()[-1].status == "in use"
    for query in (like(3), like(7, text="boat"), Query("red")):
        for user in ("", "another"):
            ranking = taught.rank(query, SearchOptions(user=user))
            total = ranking.total
            for row in range(N):
                parts = [*ranking.why(row).by_name().values()]
                size = max((abs(part) for part in parts), default=0.0)
                assert sum(parts) == pytest.approx(total[row], rel=0, abs=1e-6 * max(size, abs(total[row])))
    again = alike(taught.collection)
    np.testing.assert_array_equal(again.rank(like(3)).total, taught.rank(like(3)).total)


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["rlr", "ranksvm", *NOT_LINEAR])
def test_words_find_the_same_items_whatever_the_model(taught, ranker):
    words = ("boat", "red boat", "xyzzy", "things -red")
    before = [sorted(ids(taught.search(Query(word), N, SearchOptions(user="another")))) for word in words]
    taught.use(taught.train(ranker).id)
    assert [sorted(ids(taught.search(Query(word), N, SearchOptions(user="another")))) for word in words] == before


@pytest.mark.slow
def test_words_find_the_same_items_when_a_concept_has_a_weight(changing):
    engine = alike(changing)
    grey = [item for item in range(1, N + 1) if kind(changing, item) == "grey_things"]
    others = [item for item in range(1, N + 1) if item not in grey]
    before = [sorted(ids(engine.search(Query(word), N))) for word in ("boat", "xyzzy")]
    engine.train_concept("grey", grey, others, method="cascade")
    engine.feedback(like(others[0]), [*((item, 1.0) for item in grey[:4]), *((item, 0.0) for item in others[-4:])])
    assert engine.weights["concept.grey"] > 0
    assert [sorted(ids(engine.search(Query(word), N))) for word in ("boat", "xyzzy")] == before


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["rlr", "rankboost"])
def test_interleaved_models_both_know_the_concept_of_a_query(taught, ranker):
    grey = [item for item in range(1, N + 1) if kind(taught.collection, item) == "grey_things"]
    others = [item for item in range(1, N + 1) if item not in grey]
    number = taught.train(ranker).id
    taught.use(None)
    taught.train_concept("grey", grey, others, method="cascade")
    query = Query(concept="grey")
    mixed = taught.interleave(query, number, k=2 * len(grey))
    expected = []
    for used in (None, number):
        taught.use(used)
        expected.append(ids(taught.search(query, len(grey))))
    assert {*grey} == {*expected[0]} == {*expected[1]}
    assert {*ids(mixed)[: len(grey)]} == {*grey}


@pytest.mark.slow
def test_another_model_gives_its_own_scores(taught):
    numbers = [taught.train(ranker).id for ranker in ("rankboost", "irankboost", "ranknet", "lambdamart")]
    expected = {}
    for number in numbers:
        taught.use(number)
        expected[number] = alike(taught.collection).scores(like(9))
    for turn in range(200):
        taught.use(numbers[turn % len(numbers)])
        np.testing.assert_array_equal(taught.scores(like(9)), expected[numbers[turn % len(numbers)]])


def test_a_worse_model_is_refused_and_rollback_goes_back(taught):
    before = taught.rank(like(3)).total
    first = taught.train("rlr")
    taught.use(first.id)
    good = taught.rank(like(3)).total
    bad = taught.train("best")
    if bad.gain < 0:
        assert bad.status == "refused"
        np.testing.assert_array_equal(taught.rank(like(3)).total, good)
    taught.use(bad.id)
    taught.use(None)
    np.testing.assert_array_equal(taught.rank(like(3)).total, before)
    assert taught.rollback() == bad.id
    while taught.rollback() is not None:
        pass
    np.testing.assert_array_equal(taught.rank(like(3)).total, before)
    with pytest.raises(ValueError, match="nothing to go back to"):
        taught.rollback()


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["rlr", "rankboost", "ranknet"])
def test_a_model_works_after_a_descriptor_was_added(taught, ranker):
    taught = Engine(taught.collection)
    taught.use(taught.train(ranker).id)
    before = taught.scores(like(3))
    index(taught.collection, descriptors=["wavelet"], workers=0)
    assert "wavelet.l1" in taught.weights
    np.testing.assert_allclose(taught.scores(like(3)), before, atol=1e-6)
    assert len(taught.search(like(3), N)) == N
    taught.feedback(like(3), [Mark(5, 1.0), Mark(40, 0.0)])
    assert Engine(taught.collection).weights == taught.weights
    taught.train(ranker)


def test_marks_go_on_teaching_a_linear_model_in_use(taught):
    model = taught.train("rlr")
    taught.use(model.id)
    start = taught.weights
    others = next(item for item in range(1, N) if kind(taught.collection, item) != kind(taught.collection, 2))
    judge(taught, like(2), kind(taught.collection, others), range(1, N + 1, 2))  # something to learn
    assert taught.weights != start
    assert taught.weight_state.n_marks == N // 2
    for _ in range(N // 2):
        taught.undo()
    assert taught.weights == start


# Learning helps ------------------------------------------------------------------------------------------------------


def quality(engine, items, **options):
    found = []
    for item in items:
        relevant = np.array([kind(engine.collection, one) == kind(engine.collection, item) for one in range(1, N + 1)])
        total = engine.rank(like(item), SearchOptions(**options)).total
        others = np.arange(N) != item - 1
        found.append(evaluate(relevant[others].astype(float), total[others], None, ["AP"])["AP"])
    return float(np.mean(found))


def test_the_library_learns_which_expert_to_trust(changing):
    names = [name for name in alike(changing).weights if "." in name and "bm25" not in name]
    # Only the colour moments tell the kinds apart, and they have next to no say at the start.
    bad = [name for name in names if name.startswith(("lbp", "gabor", "gist", "hog"))]
    # As sizes of weights at the start are: how fast marks move them depends on it.
    engine = Engine(changing, {**dict.fromkeys(bad, 1 / len(bad)), "color_moments.l1": 0.01 / len(bad)})
    unseen = range(2, N, 7)
    before = quality(engine, unseen, diffusion=False)
    for item in [one for one in range(1, N + 1) if one not in unseen][:30]:
        judge(engine, like(item), kind(changing, item), [one for one in range(1, N + 1, 4) if one != item])
    after = quality(engine, unseen, diffusion=False)
    assert after > before + 0.2
    curve = engine.learning_curve()
    assert np.mean([one["learned"] for one in curve[10:]]) > np.mean([one["start"] for one in curve[10:]])


@pytest.mark.parametrize("diffusion", [True, False])
def test_marks_of_a_search_improve_it(changing, diffusion):
    weights = {name: 1.0 for name in alike(changing).weights if name.startswith(("lbp", "gabor", "hog"))}
    engine = Engine(changing, weights)
    asked = range(1, N, 5)
    before = quality(engine, asked, diffusion=diffusion)
    for item in asked:
        shown = [one for one in ids(engine.search(like(item), 13, SearchOptions(diffusion=diffusion))) if one != item]
        judge(engine, like(item), kind(changing, item), shown)
    assert quality(engine, asked, diffusion=diffusion) > before + 0.05


# Kept pictures and searches ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pictures_are_kept_once_and_found_again(changing):
    engine = alike(changing)
    image = rgb(changing, 7)[5:, :50].copy()
    key = engine.upload(image)
    assert engine.upload(image.copy()) == key
    assert engine.picture(key)[:2] == b"\xff\xd8"
    assert changing.db.execute("SELECT count(*) FROM pictures").fetchone() == (1,)
    query = Query(examples=(Example(picture=key),))
    order = ids(engine.search(query, N))
    with Collection(changing.folder) as reopened:
        again = alike(reopened)
        assert ids(again.search(query, N)) == order
        index(reopened, descriptors=["wavelet"], workers=0)
        assert len(again.search(query, N)) == N
        assert np.asarray(again.features(query))[:, again.features(query).names.index("wavelet.l1")].max() > 0
    with pytest.raises(ValueError, match="there is no picture"):
        engine.search(Query(examples=(Example(picture="0" * 32),)))


def test_a_picture_gives_the_same_scores_and_lessons_after_reopening(changing):
    engine = alike(changing)
    query = Query(examples=(Example(image=rgb(changing, 7)[5:, :50].copy()),))
    plain = engine.rank(query).total
    engine.feedback(query, [Mark(9, 1.0), Mark(30, 0.0)])
    kept = engine.asked(engine.marks()[0].qid)
    again = alike(changing)
    np.testing.assert_array_equal(
        again.rank(kept, SearchOptions(feedback=False)).total, engine.rank(query, SearchOptions(feedback=False)).total
    )
    assert again.weights == engine.weights
    assert len(plain) == N


def test_saved_searches(changing):
    engine = alike(changing)
    image = rgb(changing, 7)
    queries = {"b": Query("red 🙂"), "a": Query("x", (Example(image=image), Example(item=4, weight=-0.5)))}
    for name, query in queries.items():
        engine.save_search(name, query, "me")
    engine.save_search("a", queries["a"], "you")
    engine.save_search("b", like(5), "me")
    with Collection(changing.folder) as reopened:
        saved = alike(reopened).saved("me")
        assert [one.name for one in saved] == ["a", "b"]
        assert saved[1].query.examples[0].item == 5
        assert len(alike(reopened).search(saved[0].query, N)) == N
    engine.forget_search("a", "me")
    assert [one.name for one in engine.saved("me")] == ["b"]
    assert [one.name for one in engine.saved("you")] == ["a"]
    with pytest.raises(ValueError, match="there is no saved search"):
        engine.forget_search("a", "me")
    with pytest.raises(ValueError, match="made of letters"):
        engine.save_search("  ", like(5))


@pytest.mark.slow
def test_explaining_one_query_in_many_threads(changing):
    failed = []
    engine = alike(changing)

    def explain(query, gate):
        gate.wait()
        try:
            for one in engine.search(query, N, SearchOptions(explain=True, diffusion=False)):
                assert sum(one.why.by_name().values()) == pytest.approx(one.score, abs=1e-5)
        except Exception as error:
            failed.append(error)

    for item in range(1, N + 1, 3):
        engine.search(like(item), 1, SearchOptions(diffusion=False))
        gate = threading.Barrier(4)
        threads = [threading.Thread(target=explain, args=(like(item), gate)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert not failed, failed[0]


# Older collections ---------------------------------------------------------------------------------------------------


@pytest.mark.sqlite
def test_a_collection_of_version_1_keeps_everything(original, tmp_path):
    with copied(original, tmp_path / "new") as new:
        tables = ("meta", "contents", "files", "items", "errors", "descriptors", "missing", "blocks", "encoders")
        rows = {name: new.db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
        texts = new.db.execute("SELECT item, path, source, text FROM texts ORDER BY rowid").fetchall()
        expected = alike(new).search(like(3, text="red boat"), N)
    (tmp_path / "new" / "rankloom.db").unlink()
    for left in ("-wal", "-shm"):
        (tmp_path / "new" / f"rankloom.db{left}").unlink(missing_ok=True)
    for name in ("texts.index", "tags.index", "neighbours.npz"):
        (tmp_path / "new" / name).unlink(missing_ok=True)
    old = sqlite3.connect(tmp_path / "new" / "rankloom.db")
    old.executescript(MIGRATIONS[0])
    for name, found in rows.items():
        found = [row for row in found if name != "meta" or row[0] not in ("counted", "library")]
        if found:
            old.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(found[0]))})", found)
    old.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", texts)
    marks = [("red boat", 5, 1.0, "me", "2024-01-01"), ("red boat", 6, 0.0, "me", "2024-01-02")]
    old.executemany("INSERT INTO qrels (qid, item, grade, user, at) VALUES (?, ?, ?, ?, ?)", marks)
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    with Collection(tmp_path / "new") as opened:
        assert opened.db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        assert opened.db.execute("SELECT item, path, source, text FROM texts ORDER BY rowid").fetchall() == texts
        for name in tables:
            found = opened.db.execute(f"SELECT * FROM {name}").fetchall()
            assert [row for row in found if name != "meta" or row[0] not in ("counted", "library")] == [
                row for row in rows[name] if name != "meta" or row[0] not in ("counted", "library")
            ]
        engine = alike(opened)
        assert [one.id for one in engine.search(like(3, text="red boat"), N)] == ids(expected)
        assert [(one.qid, one.item, one.grade, one.user, one.at) for one in engine.marks()] == marks
        assert ids(engine.search(Query("red boat"), N, SearchOptions(user="me")))[0] == 5
        assert opened.db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert engine.undo(user="me") == 2
        assert json.loads(json.dumps(engine.weight_state._asdict(), default=sorted))["n_marks"] == 1
