"""What search must never break: dominance, independence of additions, range, stable ties, one order, honest sums."""

import json
import threading
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankloom.experts.threads
from rankloom.collection import Captions, Collection, Mark, index
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import Engine, SearchOptions, snapshot
from rankloom.engine.diffusion import ALPHA
from rankloom.engine.feedback import Judgements, mark_offsets
from rankloom.reranking import RERANKERS
from tests.archives import alike, copied, ids, like, picture, rgb, write_pictures
from tests.shell import invoke

N = 48


@pytest.fixture(scope="module")
def engine(original):
    return alike(original)


QUERIES = {
    "text": Query("red boat"),
    "phrase and minus": Query('"red boat" things -grey'),
    "example": like(3),
    "several": like(3, 17, 40),
    "mixed": like(9, text="green house"),
    "negative": Query(examples=(Example(item=3), Example(item=30, weight=-1.0))),
    "only negative": Query(examples=(Example(item=30, weight=-2.0),)),
    "heavy": Query("boat", (Example(item=3, weight=5.0), Example(item=8, weight=0.1)), text_weight=0.25),
}


# Dominance -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUERIES)
def test_a_better_item_never_ranks_below_a_worse_one(engine, name):
    query = QUERIES[name]
    phi = engine.features(query)
    used = [engine.weights.get(expert, 0.0) > 0 for expert in phi.names]
    dense = np.asarray(phi)[:, used]
    order = [one - 1 for one in ids(engine.search(query, N, SearchOptions(diffusion=False)))]
    for place, row in enumerate(order):
        behind = dense[order[place + 1 :]]
        better = (behind >= dense[row]).all(axis=1) & (behind > dense[row]).any(axis=1)
        assert not better.any()


@given(st.lists(st.floats(0, 10), min_size=36, max_size=36))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dominance_holds_for_any_weights_that_are_not_negative(engine, weights):
    names = engine.features(like(3)).names
    mine = Engine(engine.collection, dict(zip(names, weights, strict=False)))
    dense = np.asarray(mine.features(like(3)))[:, np.array([mine.weights[name] for name in names]) > 0]
    order = [one - 1 for one in ids(mine.search(like(3), N, SearchOptions(diffusion=False)))]
    scores = mine.scores(like(3))
    assert order == np.lexsort((np.arange(N), -scores)).tolist()
    for place, row in enumerate(order):
        behind = dense[order[place + 1 :]]
        better = (behind >= dense[row]).all(axis=1) & (behind > dense[row] + 1e-6).any(axis=1)
        assert not (better & (scores[order[place + 1 :]] < scores[row] - 1e-9)).any()


# Adding items --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("reopen", [True, False])
def test_adding_items_with_captions_changes_nothing_for_the_others(changing, tmp_path, reopen):
    engine = alike(changing)
    queries = [*QUERIES.values(), Query("r*"), Query("sea"), Query('"at sea"')]
    before = [
        [(one.id, one.score) for one in engine.search(query, N, SearchOptions(diffusion=False))] for query in queries
    ]
    more = write_pictures(tmp_path / "more", 8, seed=5)  # 32 more: not doubled yet
    index(changing, [more], workers=0, captions=Captions(str(more / "captions.csv")))
    if reopen:
        engine = alike(changing)
    for query, old in zip(queries, before, strict=True):
        after = [
            (one.id, one.score) for one in engine.search(query, 200, SearchOptions(diffusion=False)) if one.id <= N
        ]
        assert after == old


@pytest.mark.slow
def test_adding_one_at_a_time_equals_adding_at_once(original, changing, tmp_path):
    more = write_pictures(tmp_path / "more", 3, seed=6, captions=False)
    engine = alike(changing)
    for path in sorted(more.rglob("*.png")):
        index(changing, [path], workers=0)
        engine.search(Query("red"), 3)
    with copied(original, tmp_path / "other") as other:
        index(other, sorted(more.rglob("*.png")), workers=0)
        twin = alike(other)
        for query in QUERIES.values():
            found = [(one.path, one.score) for one in engine.search(query, 100, SearchOptions(diffusion=False))]
            assert found == [(one.path, one.score) for one in twin.search(query, 100, SearchOptions(diffusion=False))]


def test_adding_captions_leaves_what_a_long_prefix_means(changing, tmp_path):
    words = [f"pre{number:03}" for number in range(300)]
    with changing.transaction() as db:
        for place, word in enumerate(words):
            db.execute(
                "INSERT INTO texts (item, path, source, text) VALUES (?, '', 'caption', ?)", (place % N + 1, word)
            )
    engine = alike(changing)
    before = engine.scores(Query("pre*"))
    extra = tmp_path / "extra.png"
    cv2.imwrite(str(extra), picture((90, 20, 20), 3))
    (tmp_path / "captions.csv").write_text(f"path,caption\n{extra},{' '.join(words[200:])}\n")
    index(changing, [extra], workers=0, captions=Captions(str(tmp_path / "captions.csv")))
    assert (engine.scores(Query("pre*"))[:N] == before).all()


# Range ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "heavy"])
def test_scores_stay_within_the_sum_of_the_sizes_of_the_weights(engine, name):
    bound = sum(abs(weight) for weight in engine.weights.values())
    assert np.abs(engine.scores(QUERIES[name])).max() <= bound + 1e-9


@pytest.mark.parametrize("items", [(1,), (3, 17, 40)])
def test_diffusion_equals_the_dense_solution(engine, items):
    ranking = engine.rank(like(*items))
    spread = ranking.diffused
    start = np.where(spread.inside, spread.share * (ranking.scores - spread.floor), 0.0)
    assert start.min() >= 0
    assert start.max() == pytest.approx(1.0)
    dense = np.linalg.solve(np.eye(N) - ALPHA * spread.operator.toarray(), start)
    np.testing.assert_allclose(spread.f, dense, atol=1e-7)
    assert (np.argsort(-(dense + spread.own * ranking.scores), kind="stable") + 1).tolist() == ids(
        engine.search(like(*items), N)
    )
    # S has no eigenvalue above 1, so that |f| <= |y| / (1 - alpha)
    assert np.linalg.norm(spread.f) <= np.linalg.norm(start) / (1 - ALPHA) + 1e-9


# Ties, threads, pages, shell -----------------------------------------------------------------------------------------


def test_ties_are_by_number(changing):
    engine = Engine(changing, {"text.bm25": 1.0})
    found = engine.search(Query("things"), N)
    for one, after in pairwise(found):
        assert one.score > after.score or (one.score == after.score and one.id < after.id)
    nothing = Engine(changing, dict.fromkeys(engine.weights, 0.0))
    assert ids(nothing.search(like(7), N)) == [*range(1, N + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2, 3, 7])
def test_the_order_does_not_depend_on_threads(original, monkeypatch, cores):
    expected = {name: alike(original).rank(query).total for name, query in QUERIES.items()}
    monkeypatch.setattr(rankloom.experts.threads, "CORES", cores)
    monkeypatch.setattr(rankloom.experts.threads, "_WORTH_THREADS", 1)
    for name, query in QUERIES.items():
        np.testing.assert_array_equal(alike(original).rank(query).total, expected[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"diffusion": False}, {"collapse": True}, {"diversity": 0.4}, {"method": "prf"}]
)
def test_pages_make_up_the_whole_list(engine, options):
    query = like(9, text="green")
    whole = engine.search(query, N, SearchOptions(explain=True, **options))
    for size in (1, 7, 20):
        pages = [
            one
            for at in range(0, N, size)
            for one in engine.search(query, size, SearchOptions(offset=at, explain=True, **options))
        ]
        assert pages == [*whole]
    assert engine.search(query, 5, SearchOptions(offset=1000)) == []
    assert [one.rank for one in whole] == [*range(1, len(whole) + 1)]


def test_command_line_equals_python(original, engine):
    start = Engine(original)
    path = original.items([9])[0].path
    cases = [
        (["red", "boat"], Query("red boat"), {}),
        (["--item", "3", "--item", "9", "--no-diffusion"], like(3, 9), {"diffusion": False}),
        (["sea", "--like", path, "--region", "0.1,0,0.9,1"],
         Query("sea", (Example(path=path, region=(0.1, 0, 0.9, 1)),)), {}),
        (["--item", "3", "--unlike", path], Query(examples=(Example(path=path, weight=-1.0), Example(item=3))), {}),
        (["--item", "3", "--method", "smooth", "--diversity", "0.3"], like(3), {"method": "smooth", "diversity": 0.3}),
        (["--item", "3", "--has-text"], Query(examples=(Example(item=3),), filters=Filters(has_text=True)), {}),
    ]  # fmt: skip
    for words, query, options in cases:
        found = invoke("search", *words, "-c", str(original.folder), "-k", "9", "--json")
        assert found.exit_code == 0, found.output
        records = [
            (one["rank"], one["id"], one["path"], one["score"]) for one in map(json.loads, found.output.splitlines())
        ]
        # The command computes the little of this collection without compiled loops, which changes the last bits.
        expected = start.search(query, 9, SearchOptions(**options))
        assert records == [(*one[:3], pytest.approx(one[3], rel=1e-4)) for one in expected], words


# Explanations --------------------------------------------------------------------------------------------------------


def assert_explained(ranking, tolerance=1e-6):
    total = ranking.total
    for row in range(len(total)):
        parts = [*ranking.why(row).by_name().values()]
        size = max(abs(total[row]), *(abs(part) for part in parts), 0.0) if parts else 0.0
        assert sum(parts) == pytest.approx(total[row], rel=0, abs=tolerance * size)


@pytest.mark.parametrize("diffusion", [True, False])
@pytest.mark.parametrize("name", QUERIES)
def test_explanations_sum_to_the_score(engine, name, diffusion):
    assert_explained(engine.rank(QUERIES[name], SearchOptions(diffusion=diffusion)))


@pytest.mark.slow
@pytest.mark.parametrize("diffusion", [True, False])
@pytest.mark.parametrize("name", QUERIES)
def test_explanations_with_marks(changing, name, diffusion):
    engine = alike(changing)
    given = [Mark(4, 1.0), Mark(9, 3.0), Mark(20, 0.0), Mark(33, 0.4), Mark(12, -1.0), Mark(5, 1.0, 44)]
    for marks in (given[:1], given[2:3], given):
        engine.feedback(QUERIES[name], marks)
        ranking = engine.rank(QUERIES[name], SearchOptions(diffusion=diffusion))
        assert ranking.feedback is not None
        assert_explained(ranking)
    for a, b in ((4, 20), (1, 2), (44, 5), (7, 7)):
        parts = engine.compare(QUERIES[name], a, b, SearchOptions(diffusion=diffusion))
        size = max(
            abs(part) for part in (*ranking.why(a - 1).by_name().values(), *ranking.why(b - 1).by_name().values())
        )
        difference = ranking.total[a - 1] - ranking.total[b - 1]
        assert parts.total == pytest.approx(difference, rel=0, abs=1e-6 * size)


@pytest.mark.slow
def test_explanations_of_pictures_regions_and_concepts(changing):
    engine = alike(changing)
    image = rgb(changing, 11)[4:, :50].copy()
    examples = (Example(image=image), Example(image=image, region=(0.2, 0.1, 0.7, 0.9), weight=-0.5), Example(item=4))
    assert_explained(engine.rank(Query("boat", examples)))
    engine.train_concept("one", [*range(1, 13)], [*range(13, 49)], method="cascade")
    for query in (Query(concept="one"), Query("red", concept="one"), Query("", examples, concept="one")):
        assert_explained(engine.rank(query))


@pytest.mark.parametrize("method", ["experts", *RERANKERS])
def test_explanations_of_every_method(engine, method):
    for one in engine.search(like(9, text="green"), N, SearchOptions(method=method, explain=True)):
        assert sum(one.why.by_name().values()) == pytest.approx(one.score, rel=1e-6, abs=1e-9)
        assert method == "experts" or one.why.by_name().get(method)


def test_scores_of_a_picture(engine):
    path = engine.collection.items([5])[0].path
    np.testing.assert_allclose(engine.scores(Query(examples=(Example(path=path),))), engine.scores(like(5)), atol=1e-3)


# Reordering ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["experts", *RERANKERS])
@pytest.mark.parametrize("query", [like(9), Query("boat")])
def test_methods_and_diversity_reorder_and_lose_nothing(engine, method, query):
    plain = engine.search(query, N)
    found = engine.search(query, N, SearchOptions(method=method))
    assert sorted(ids(found)) == sorted(ids(plain))
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert np.isfinite(scores).all()
    for diversity in (0.0, 0.5, 1.0):
        other = engine.search(query, N, SearchOptions(method=method, diversity=diversity))
        assert sorted(ids(other)) == sorted(ids(plain))
        assert other[0].id == found[0].id
        assert diversity or ids(other) == ids(found)


def test_diversity_is_maximal_marginal_relevance(engine):
    plain = engine.search(like(9), N)
    score = {one.id: one.score for one in plain}
    low, span = min(score.values()), np.ptp([*score.values()])
    kernel = {name: weight for name, weight in engine.weights.items() if "." in name and "bm25" not in name}
    snapshot = engine.snapshot()
    total = sum(kernel.values())
    K = np.stack([snapshot.similarity(snapshot.vectors_of(row), kernel) / total for row in range(N)])
    left, chosen = ids(plain), []
    while left:
        near = [max((K[j - 1, i - 1] for j in chosen), default=0.0) for i in left]
        merit = [0.7 * (score[i] - low) / span - 0.3 * value for i, value in zip(left, near, strict=True)]
        chosen.append(left.pop(int(np.argmax(merit))))
    assert ids(engine.search(like(9), N, SearchOptions(diversity=0.3))) == chosen


def test_collapse_keeps_the_best_of_each_group(changing, tmp_path):
    twin = tmp_path / "twins"
    twin.mkdir()
    for item in (3, 9, 20):
        cv2.imwrite(
            str(twin / f"{item}.jpg"), cv2.imread(changing.items([item])[0].path), [cv2.IMWRITE_JPEG_QUALITY, 97]
        )
    index(changing, [twin], workers=0)
    from rankloom.collection import duplicate_groups

    groups = [set(group) for group in duplicate_groups(changing)]
    assert groups
    engine = alike(changing)
    plain, found = engine.search(like(9), 60), engine.search(like(9), 60, SearchOptions(collapse=True))
    assert sorted([*ids(found), *(other for one in found for other in one.duplicates)]) == sorted(ids(plain))
    for one in found:
        group = next((group for group in groups if one.id in group), {one.id})
        assert {one.id, *one.duplicates} == group
        assert one.id == next(other.id for other in plain if other.id in group)


def test_a_cutoff_is_suggested_for_examples_without_marks_only(changing):
    engine = alike(changing)
    for query in (like(9), like(9, text="green"), like(3, 17)):
        found = engine.search(query, 5)
        assert found.cutoff is None or 1 <= found.cutoff < found.total
        assert found.likely is None if found.cutoff is None else 1 <= found.likely <= found.cutoff
        whole = engine.search(query, N)
        assert (whole.cutoff, whole.likely) == (found.cutoff, found.likely)  # whatever page is asked for
        for options in ({"method": "smooth"}, {"diversity": 0.5}, {"diffusion": False}):
            assert engine.search(query, N, SearchOptions(**options)).cutoff is None
    assert engine.search(like(9), N).cutoff is not None
    assert engine.search(Query("boat"), N).cutoff is None
    few = Query(examples=(Example(item=9),), filters=Filters(kind="shot"))
    assert engine.search(few, N).cutoff is None
    engine.feedback(like(9), [Mark(4, 1.0)])
    assert engine.search(like(9), N).cutoff is None
    assert engine.search(like(9), N, SearchOptions(feedback=False)).cutoff is not None


# While it changes ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_searching_and_marking_while_items_are_added(changing, tmp_path):
    engine = alike(changing)
    failed, stop = [], threading.Event()

    def search(number):
        while not stop.is_set():
            for query in (Query("red"), like(3), like(5, text="boat")):
                try:
                    found = engine.search(query, 500, SearchOptions(diffusion=bool(number)))
                    scores = [one.score for one in found]
                    assert scores == sorted(scores, reverse=True)
                except Exception as error:
                    failed.append(error)

    threads = [threading.Thread(target=search, args=(number,)) for number in (0, 1)]
    for one in threads:
        one.start()
    try:
        for number in range(12):
            cv2.imwrite(str(tmp_path / f"{number}.png"), picture((20 * number, 60, 90), 7000 + number))
            index(changing, [tmp_path / f"{number}.png"], workers=0)
            engine.feedback(like(3), [Mark(1 + number, float(number % 2))], user="someone")
    finally:
        stop.set()
        for one in threads:
            one.join()
    assert not failed, failed[0]


@pytest.mark.parametrize("at", ["counters", "state_of", "take_snapshot"])
@pytest.mark.parametrize("warm", [True, False])
def test_a_change_while_a_snapshot_is_taken_is_seen_by_the_next_search(changing, monkeypatch, at, warm):
    """Somebody commits right after a step of looking at the collection: its change, its state, all of it."""

    def commit(word):
        with Collection(changing.folder) as other, other.transaction() as db:
            db.execute("INSERT INTO texts (item, path, source, text) VALUES (5, '', 'caption', ?)", (word,))

    engine = alike(changing)
    if warm:
        engine.search(Query("red"), 1)
        commit("airship")  # so that there is something to look at
    step, done = getattr(snapshot, at), []

    def meanwhile(*arguments):
        found = step(*arguments)
        if not done:
            done.append(at)
            commit("zeppelin")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(snapshot, at, meanwhile)
        engine.search(Query("red"), 1)
    assert done or (at == "counters" and not warm)  # without a snapshot there is no state to compare
    if not done:
        commit("zeppelin")
    assert ids(engine.search(Query("zeppelin"))) == [5]
    assert ids(engine.search(Query("airship"))) == ([5] if warm else [])


@pytest.mark.slow
def test_a_snapshot_stays_as_it_was_made(changing, tmp_path):
    engine = alike(changing)
    before = engine.snapshot()
    words = ["boat", "things", "fresh"]
    scores = [before.texts.text.scores(word).tolist() for word in words]
    more = write_pictures(tmp_path / "fresh_things", 14, seed=9)  # so many that statistics are taken anew
    index(changing, [more], workers=0, captions=Captions(str(more / "captions.csv")))
    after = engine.snapshot()
    assert after is not before
    assert len(after.texts.text) > len(before.texts.text)
    assert [before.texts.text.scores(word).tolist() for word in words] == scores


# Preferences ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda pair: pair[0] != pair[1]), max_size=40))
def test_preferences_that_do_not_contradict_each_other_hold(pairs):
    total = np.linspace(1.0, 0.0, 12)
    offsets = mark_offsets(Judgements({3: 1.0, 7: 0.0}, pairs), total)
    placed = {item: total[item - 1] + offsets.get(item - 1, 0.0) for item in range(1, 13)}
    last = {frozenset(pair): pair for pair in pairs}.values()
    reached = {pair: _reaches(last, *reversed(pair)) for pair in last}
    for (better, worse), contradicted in reached.items():
        assert contradicted or placed[better] > placed[worse]


def _reaches(pairs, start, end):
    """Whether a chain of preferences leads from one item to another: by brute force."""
    known = {start}
    while len(grown := known | {worse for better, worse in pairs if better in known}) > len(known):
        known = grown
    return end in known


def test_thousands_of_contradicting_preferences_are_looked_at_once_each():
    random = np.random.default_rng(0)
    pairs = [(int(a), int(b)) for a, b in random.integers(1, 60, (20_000, 2)) if a != b]
    offsets = mark_offsets(Judgements({}, pairs), np.zeros(60))
    assert max(offsets.values(), default=0.0) <= 60  # each preference raises an item once, if at all
