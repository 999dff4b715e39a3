"""Words that find what pictures show, in a collection of the sample's drawings."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rankloom import Collection, Engine
from rankloom.collection import index
from rankloom.collection import refined_map as refined_maps
from rankloom.collection.derived import store_derived, store_learned
from rankloom.collection.item_records import all_records, forget_records, record_files, store_records, stored_records
from rankloom.collection.query import Example, Query
from rankloom.collection.record_kinds import colors_kind, looks_kind
from rankloom.collection.refined_map import caption_pairs, mark_pairs, nearness_kind, refined_map, store_refined_map
from rankloom.collection.repair import repair
from rankloom.collection.verify import verify
from rankloom.engine import SearchOptions
from rankloom.engine.face_words import face_scores, people_words
from rankloom.engine.scorers import WeightScorer
from rankloom.experts.color_words import COLORS, color_shares
from rankloom.experts.looks import RECORD, look_scores, unit, word_map
from rankloom.experts.nearness import TextBank
from rankloom.experts.refining import Refined
from rankloom.text.sentences import sentence_encoder
from tests.building import copy_folder
from tests.serving import copied
from tests.shell import rankloom


@pytest.fixture
def collection(tmp_path):
    with Collection(copied(tmp_path / "c")) as opened:
        yield opened


def without_texts(collection):
    """The same pictures, of which nobody has said anything."""
    with collection.transaction() as db:
        db.execute("DELETE FROM texts")
    return Engine(collection)


def _lowered(collection):
    """What the map's scores are lowered by."""
    refined = refined_map(collection)
    kind = nearness_kind(refined)
    return 0.0 if kind is None else _lowering(refined, all_records(collection, kind, len(collection)))


def _lowering(refined, near):
    n_texts = len(refined.bank.texts)
    return 0.3 * n_texts / (n_texts + 200) * (near - refined.bank.usual)


def test_words_rank_all_pictures_by_what_they_show(collection):
    engine = without_texts(collection)
    results = engine.search(Query("a ship on the sea"), len(collection))
    assert results.total == int(collection.present().sum())
    assert results.literal == 0
    assert {hit.literal for hit in results} == {False}
    assert (engine.weights["words.map"], engine.weights["words.classes"]) == (0.5, 0.3)
    sentence = sentence_encoder().encode(["a ship on the sea"])[0]
    query = word_map().refined(refined_map(collection).correction).words(sentence)
    looks = all_records(collection, looks_kind(), len(collection))
    rows = np.array([hit.id - 1 for hit in results])
    near = _lowered(collection)
    by_map, by_names = look_scores(query, looks)
    by_hand = 0.5 * (by_map - near) + 0.3 * by_names
    np.testing.assert_allclose([hit.score for hit in results], by_hand[rows], atol=1e-9)
    assert (np.diff(by_hand[rows]) <= 1e-12).all()


def test_words_alone_ask_no_visual_expert(collection):
    engine = Engine(collection)
    snapshot = engine.snapshot()
    phi = snapshot.features(Query("a boat"), [], [])
    scores = WeightScorer(engine.weights).scores(phi)
    visual = [phi.names.index(expert.name) for expert in snapshot.experts]
    assert phi.evaluations[visual].sum() == 0
    np.testing.assert_array_equal(np.stack([phi.column(place) for place in visual]), 0.0)
    weights = np.array([engine.weights.get(name, 0.0) for name in phi.names])
    np.testing.assert_allclose(scores, weights @ np.stack([phi.column(place) for place in range(len(weights))]))


def test_hits_say_whether_they_have_the_words(collection):
    engine = Engine(collection)
    results = engine.search(Query("boat"), len(collection))
    for hit in results:
        texts = " ".join(text for text, _ in collection.texts(hit.id)).lower()
        assert hit.literal == ("boat" in texts), texts
    assert 0 < results.literal < results.total
    assert all(hit.literal is None for hit in engine.search(Query(examples=(Example(item=1),)), 5))


def test_words_that_people_wrote_are_told_from_automatic_tags(collection):
    with collection.transaction() as db:
        db.execute("DELETE FROM texts")
        rows = [
            (1, "file", "red boat"),
            (2, "file", "red house"),
            (2, "tag", "boat"),
            (3, "tag", "red, boat"),
            (4, "tag", "red"),
        ]
        db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", rows)
    engine = Engine(collection)
    results = engine.search(Query("a red boat"), 5)
    assert (results.in_texts, results.in_tags, results.literal) == (1, 2, 4)
    assert (engine.search(Query("red -house"), 5).in_texts, engine.search(Query('"red boat"'), 5).in_tags) == (1, 1)
    assert engine.search(Query("red boat xqzv"), 5).in_texts == 0
    said = rankloom("search", "a red boat", "-c", collection.folder, "-k", 3).stderr
    assert "1 has these words, 2 more by automatic tags, 1 has some of them, the others are a guess by looks" in said
    assert engine.search(Query(examples=(Example(item=1),)), 5).in_texts is None


def test_the_shell_says_what_is_a_guess(collection):
    some = rankloom("search", "boat", "-c", collection.folder, "-k", 3)
    assert re.search(r"^\d+ (has|have) these words.*, the others are a guess by looks$", some.stderr, re.M)
    none = rankloom("search", "xqzv", "-c", collection.folder, "-k", 3)
    assert "no text or tag has these words: the order is a guess by looks" in none.stderr
    assert "guess" not in some.stdout + none.stdout


def test_the_shell_does_not_learn_a_map_in_vain(collection, tmp_path):
    missing = tmp_path / "missing" / "map.npz"
    said = rankloom("train-words", collection.folder, "-o", missing, code=1).output
    assert said.strip().splitlines() == [f"Error: cannot write {missing}: the folder {missing.parent} does not exist"]
    said = rankloom("train-words", collection.folder, "-o", tmp_path / "map.npz", code=1).output
    assert "captions are too few to learn from: give 1,000 or more" in said
    assert not (tmp_path / "map.npz").exists()


def test_a_phrase_is_needed(collection):
    results = Engine(collection).search(Query('"no such words"'), 5)
    assert results.total == 0


def test_explanations_with_words_sum_to_the_score(collection):
    for hit in Engine(collection).search(Query("two red boats"), 5, SearchOptions(explain=True)):
        assert hit.why.total == pytest.approx(hit.score)
        assert {"words.map", "words.classes"} <= set(hit.why.by_name())


def test_stop_words_find_nothing_by_themselves(collection):
    item = Engine(collection).search(Query("boat"), 1)[0].id
    with collection.transaction() as db:
        db.execute("DELETE FROM texts")
        db.execute("INSERT INTO texts (item, path, source, text) VALUES (?, '', 'tag', 'hen-of-the-woods')", (item,))
    engine = Engine(collection)
    assert engine.search(Query("the boats of the town"), 5).literal == 0
    assert engine.search(Query("hen of the woods"), 5).literal == 1


def test_a_file_is_found_by_its_name_as_typed(tmp_path):
    names = ["IMG_4025", "IMG_4026", "2120411340_104eb610b1", "redBoat", "DSC00017"]
    (tmp_path / "pictures").mkdir()
    for number, name in enumerate(names):
        Image.new("RGB", (40, 30), (50 * number, 90, 200)).save(tmp_path / "pictures" / f"{name}.jpg")
    with Collection(tmp_path / "c", create=True) as made:
        index(made, [tmp_path / "pictures"], workers=0, ocr=False)
        for typed, name in [
            ("IMG_4026.jpg", "IMG_4026"),
            ("IMG_4026", "IMG_4026"),
            ("4026", "IMG_4026"),
            ("img 4026", "IMG_4026"),
            ("2120411340", "2120411340_104eb610b1"),
            ("redBoat.jpg", "redBoat"),
            ("DSC000*", "DSC00017"),
        ]:
            hit = Engine(made).search(Query(typed), 1)[0]
            assert (Path(hit.path).stem, hit.literal) == (name, True), typed


def test_a_concept_answers_its_name(collection):
    engine, right = without_texts(collection), [1, 2, 3, 4]
    before = [hit.id for hit in engine.search(Query("zorblax"), len(collection))]
    engine.train_concept("Zorblax", right, [40, 50, 60, 70])
    hits = engine.search(Query("zorblax"), len(collection), SearchOptions(explain=True))
    after = [hit.id for hit in hits]
    assert np.mean([after.index(item) for item in right]) < np.mean([before.index(item) for item in right])
    assert "concept.Zorblax" in hits[0].why.by_name()


def _alike(records, others):
    """Records that are equal but for rounding: a product of matrices depends a little on the rows beside."""
    steps = np.abs(records["map"].astype(int) - others["map"].astype(int))
    return (
        len(records) == len(others) and steps.max() <= 1 and np.abs(records["weights"] - others["weights"]).max() < 0.01
    )


def test_records_are_stored_and_grow(collection):
    n_items, kind = len(collection), looks_kind()
    fresh = word_map().looks(collection.vectors("semantic"))
    assert _alike(stored_records(collection, kind), fresh)
    assert _alike(all_records(collection, kind, n_items, fresh[:50]), fresh)
    path = _file_of(collection, "looks")
    with open(path, "r+b") as file:
        file.truncate(10 * RECORD.itemsize)
    assert len(stored_records(collection, kind)) == 10
    assert _alike(all_records(collection, kind, n_items), fresh)
    assert len(stored_records(collection, kind)) == 10  # reading writes nothing
    store_records(collection, kind)
    assert _alike(stored_records(collection, kind), fresh)
    assert not verify(collection).problems
    forget_records(collection)
    assert len(stored_records(collection, kind)) == len(stored_records(collection, colors_kind())) == 0
    store_derived(collection)
    assert _alike(stored_records(collection, kind), fresh)
    assert not verify(collection).problems


def test_shares_of_colors_are_stored_and_grow(collection):
    kind = colors_kind()
    shares = np.array(stored_records(collection, kind)["shares"])
    assert shares.shape == (len(collection), len(COLORS))
    later = all_records(collection, kind, len(collection), color_shares(collection.vectors(kind.source)[:30]))
    np.testing.assert_array_equal(later["shares"], shares)
    engine, red = Engine(collection), COLORS.index("red")
    reddest = engine.snapshot().features(Query("red"), [], [])
    column = reddest.column(reddest.names.index("words.colors"))
    np.testing.assert_array_equal(np.argsort(-column, kind="stable"), np.argsort(-shares[:, red], kind="stable"))


def test_pictures_near_to_all_captions_are_lowered(collection):
    """As the records of a bank say, whose own captions do not count; what was learned is stored and used."""
    random = np.random.default_rng(0)
    texts = unit(random.standard_normal((60, 256)))
    refined = Refined(None, TextBank(texts, np.arange(1, 61), 0.125), 0.1, 0.2)
    n_captions = len(caption_pairs(collection))
    refined_maps._store(collection, None, n_captions, [])
    before = _column(Engine(collection), "a boat")
    refined_maps._store(collection, refined, n_captions, [])
    store_learned(collection)
    stored = stored_records(collection, nearness_kind(refined_map(collection)))
    pictures = word_map().pictured(collection.vectors("semantic"))
    cosines = pictures @ texts.T
    cosines[np.arange(60), np.arange(60)] = -1
    by_hand = np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    np.testing.assert_allclose(stored, by_hand, atol=2e-3)
    np.testing.assert_allclose(_column(Engine(collection), "a boat"), before - _lowering(refined, by_hand), atol=1e-3)
    assert not verify(collection).problems


def _column(engine, text, name="words.map"):
    phi = engine.snapshot().features(Query(text), [], [])
    return phi.column(phi.names.index(name))


def _file_of(collection, key):
    return next(collection.folder / name for name in record_files(collection) if key in name)


def test_damaged_records_are_noticed_and_made_again(collection):
    path = _file_of(collection, "looks")
    whole = path.read_bytes()
    path.write_bytes(whole[: 5 * RECORD.itemsize] + b"\x55" * 40 + whole[5 * RECORD.itemsize + 40 :])
    assert verify(collection).problems
    folder = collection.folder
    collection.close()
    repair(folder, workers=0)
    assert _alike(np.frombuffer(path.read_bytes(), RECORD), np.frombuffer(whole, RECORD))
    path.unlink()
    with Collection(folder) as opened:
        assert Engine(opened).search(Query("boat"), 3).total > 0  # computed, as nothing is there to be read


def _mark_right(engine, text, n):
    query = Query(text)
    return engine.feedback(query, [(hit.id, 1.0) for hit in engine.search(query, n)])


def test_pairs_come_from_captions_and_from_marks_of_words_alone(collection):
    engine = Engine(collection)
    assert {text for _, text in caption_pairs(collection)} <= {
        text for item in collection.items() for text, _ in collection.texts(item.id)
    }
    _mark_right(engine, "sail* -cat", 3)
    engine.feedback(Query("boat", examples=(Example(item=3),)), [(5, 1.0)])
    engine.feedback(Query("house"), [(9, 0.0)])
    pairs = mark_pairs(collection)
    assert len(pairs) == 3
    assert {pair.text for pair in pairs} == {"sail"}


@pytest.mark.slow
def test_only_who_indexes_learns(collection):
    """Naming people, say, brings derived files up to date within a request, which must not take seconds."""

    def learned():
        return collection.db.execute("SELECT count(*) FROM meta WHERE key = 'refined map'").fetchone()[0]

    assert learned()
    with collection.transaction() as db:
        db.execute("DELETE FROM meta WHERE key = 'refined map'")
    store_derived(collection)
    assert not learned()
    store_learned(collection)
    assert learned()


@pytest.mark.slow
def test_what_is_learned_depends_on_captions_and_active_marks_alone(collection, tmp_path):
    """Marks that were undone leave no trace, and the map in use is the one that was stored."""
    store_refined_map(collection)
    before = refined_map(collection)
    other = tmp_path / "other"
    collection.close()
    copy_folder(collection.folder, other)
    with Collection(other) as opened:
        engine = Engine(opened)
        marks = [mark for word in ("boat", "house", "tree") for mark in _mark_right(engine, word, 8)]
        store_refined_map(opened)
        for _ in marks:
            engine.undo()
        store_refined_map(opened)
        after = refined_map(opened)
        assert mark_pairs(opened) == []
        assert after.version == before.version
        assert (after.correction is None) == (before.correction is None)


@pytest.mark.parametrize(
    ("text", "best"), [("two people", 2), ("a portrait", 1), ("three women", 3), ("zwei Kinder", 2), ("crowd", 9)]
)
def test_words_for_people_ask_for_numbers_of_faces(text, best):
    counts = np.array([0.0, 1.0, 2.0, 3.0, 9.0])
    scores = face_scores(counts, people_words(text))
    assert counts[scores.argmax()] == best
    assert scores[0] == 0
