"""The learning loop: marks, undo, the library, models, what is asked; taken back, interleaved, shared and broken."""

import multiprocessing
import threading

import cv2
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from rankloom.collection import Collection, Mark, index
from rankloom.collection.export import export_marks
from rankloom.collection.query import Query
from rankloom.datasets.trec import qid_from_trec, qid_to_trec, read_qrels
from rankloom.engine import SearchOptions, feedback, learner
from rankloom.engine.kernel_machine import RIDGE, feedback_coefficients, leave_one_out
from rankloom.engine.online_weights import History, preferences
from rankloom.engine.second_looks import second_looks
from tests.archives import alike, copied, ids, kind, like, picture, write_pictures

N = 48


@pytest.fixture
def fresh(original, tmp_path):
    """Copies of the collection, as many as asked for."""
    opened = []

    def another():
        opened.append(copied(original, tmp_path / f"copy{len(opened)}"))
        return opened[-1]

    yield another
    for one in opened:
        one.close()


@pytest.fixture
def engine(fresh):
    return alike(fresh())


def judge(engine, items, k=12, user=""):
    """Mark the best results of queries by example as their folders say."""
    for item in items:
        found = engine.search(like(item), k, SearchOptions(user=user, feedback=False, diffusion=False))
        wanted = kind(engine.collection, item)
        given = [Mark(one.id, float(one.path.split("/")[-2] == wanted)) for one in found if one.id != item]
        engine.feedback(like(item), given, user)


# Following marks -----------------------------------------------------------------------------------------------------


def test_the_kernel_machine_is_ridge_regression():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    targets = np.where(rng.random(12) < 0.4, 1.0, -1.0)
    weights = rng.uniform(0.2, 1.0, 12)
    found = feedback_coefficients(gram, targets, weights, means=False)
    balanced = weights.copy()
    for sign in (1.0, -1.0):
        balanced[targets == sign] *= 12 / (2 * weights[targets == sign].sum())
    # With the constant taken out, it is scikit-learn's kernel ridge regression on what is left.
    ridge = KernelRidge(alpha=RIDGE, kernel="precomputed").fit(gram, targets - found[-1], sample_weight=balanced)
    np.testing.assert_allclose(found[:-1], ridge.dual_coef_, rtol=1e-8)
    assert found[:-1].sum() == pytest.approx(0.0, abs=1e-10)  # the constant is the best one
    both = feedback_coefficients(gram, targets, weights)
    means = np.where(targets > 0, weights / weights[targets > 0].sum(), -0.5 * weights / weights[targets < 0].sum())
    np.testing.assert_allclose(both[:-1] - found[:-1], means)


def test_leaving_one_out_is_fitting_without_it():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(9, 3))
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    targets, weights, trust = np.array([1.0] * 4 + [-1.0] * 5), rng.uniform(0.2, 1.0, 9), rng.uniform(0.1, 1.0, 9)
    counts = weights * trust
    for side in (targets > 0, targets < 0):
        counts[side] *= 9 / (2 * weights[side].sum())
    found = leave_one_out(gram, targets, weights, trust)
    for one in range(9):
        rest = np.arange(9) != one
        system = np.block(
            [[gram[np.ix_(rest, rest)] + np.diag(RIDGE / counts[rest]), np.ones((8, 1))], [np.ones(8), 0]]
        )
        a = np.linalg.solve(system, np.append(targets[rest], 0.0))
        expected = a[:-1] @ gram[rest, one] + a[-1]
        for sign, share in ((1.0, 1.0), (-1.0, -0.5)):
            side = rest & (targets == sign)
            expected += share * (weights * trust * gram[one])[side].sum() / weights[side].sum()
        assert found[one] == pytest.approx(expected)


def test_a_mark_that_the_others_contradict_yields_until_it_is_confirmed(engine):
    """Eleven of a color are right, eleven of another wrong; one of each side is said the wrong way round."""
    kinds = {}
    for item in range(1, N + 1):
        kinds.setdefault(kind(engine.collection, item), []).append(item)
    (first, *right), (*wrong,) = [*kinds.values()][:2]
    query = like(first)
    plain = engine.search(query, N)
    engine.feedback(query, [Mark(item, 1.0) for item in right[1:]] + [Mark(item, 0.0) for item in wrong[1:]])
    assert engine.contradicted(query) == frozenset()
    before = engine.search(query, N)
    slips = engine.feedback(query, [Mark(right[0], 0.0), Mark(wrong[0], 1.0)])
    odd = {right[0], wrong[0]}
    assert engine.contradicted(query) == odd
    found = engine.search(query, N, SearchOptions(explain=True))
    assert found.contradicted == 2
    assert {hit.id for hit in found if hit.contradicted} == odd
    order = ids(found)
    assert order.index(right[0]) < 12  # neither is held at the end where its mark would put it
    assert order.index(wrong[0]) >= 12
    for hit in found:
        assert hit.why.total == pytest.approx(hit.score, abs=1e-5)
        assert not any(part.name.startswith("marked") for part in hit.why if hit.id in odd)
    assert second_looks(engine, engine.marks()) == {*slips}
    (again,) = engine.feedback(query, [Mark(right[0], 0.0)])
    assert engine.contradicted(query) == {wrong[0]}
    assert ids(engine.search(query, N))[-1] in {right[0], *wrong[1:]}
    assert right[0] in ids(engine.search(query, N))[-12:]
    engine.undo(mark=again)
    assert engine.search(query, N, SearchOptions(explain=True)) == found
    for slip in slips:
        engine.undo(mark=slip)
    assert engine.search(query, N) == before
    assert ids(plain) != ids(before)


def test_few_marks_contradict_nothing(engine):
    query = like(3)
    order = ids(engine.search(query, N))
    engine.feedback(query, [Mark(order[1], 0.0), Mark(order[-1], 1.0), *(Mark(item, 1.0) for item in order[2:5])])
    assert engine.contradicted(query) == frozenset()
    assert ids(engine.search(query, N))[-1] == order[1]


@pytest.mark.parametrize("query", [like(3), Query("red"), like(3, text="boat")])
def test_right_comes_first_and_wrong_last(engine, query):
    order = ids(engine.search(like(3), N))
    right, wrong = order[30:33], order[1:4]
    engine.feedback(query, [*((item, 1.0) for item in right), *((item, 0.0) for item in wrong)])
    found = engine.search(query, N)
    assert set(ids(found)[:3]) == set(right)
    assert set(ids(found)[-3:]) == set(wrong)
    assert [one.mark for one in found[:3]] == [1.0] * 3
    assert [one.mark for one in found[-3:]] == [0.0] * 3
    assert found.marks == 6
    assert {one.mark for one in engine.search(query, N, SearchOptions(user="another"))} == {None}
    assert engine.search(query, N, SearchOptions(feedback=False)).marks == 0


@pytest.mark.parametrize("options", [
    {"diversity": 0.4}, {"collapse": True},
    {"diversity": 1.0}, {"method": "visual_rank"}, {"method": "smooth"},
])  # fmt: skip
def test_marked_items_stay_at_the_ends_however_the_list_is_made(engine, options):
    for item in (1, 14, 26, 40):
        order = ids(engine.search(like(item), N))
        right, wrong = order[30:33], order[1:4]
        engine.feedback(like(item), [*((one, 1.0) for one in right), *((one, 0.0) for one in wrong)])
        found = ids(engine.search(like(item), N, SearchOptions(**options)))
        assert set(found[:3]) == set(right)
        assert set(found[-3:]) == set(wrong)


@pytest.mark.parametrize("grades", [(1.0, 0.5), (0.9, 0.1), (2.0, 1.0), (3.0, 2.0), (1.1, 1.0)])
def test_a_higher_grade_ranks_above_a_lower_one(engine, grades):
    order = ids(engine.search(like(1), N))
    for user, (worse, better) in enumerate([(1, 40), (2, 45), (0, 20), (3, 4), (30, 47), (5, 10)]):
        engine.feedback(like(1), [Mark(order[better], grades[0]), Mark(order[worse], grades[1])], f"{user}")
        found = ids(engine.search(like(1), N, SearchOptions(user=f"{user}")))
        assert found.index(order[better]) < found.index(order[worse])


def test_any_grade_that_is_taken_gives_finite_scores(engine):
    for bad in (1e308, -1e308, 1.01e6, -1.01e6):
        with pytest.raises(ValueError, match=r"^a grade must be a finite number up to 1e\+06, got .*$"):
            engine.feedback(like(1), [Mark(6, 1.0), Mark(5, bad)])
        assert engine.marks() == []
    engine.feedback(like(1), [Mark(5, 1e6), Mark(6, 1.0), Mark(7, 1e-300), Mark(8, -1e6), Mark(9, 0.0)])
    found = engine.search(like(1), N, SearchOptions(explain=True))
    assert np.isfinite([one.score for one in found]).all()
    assert np.isfinite([part for one in found for part in one.why.by_name().values()]).all()
    assert ids(found)[:3] == [5, 6, 7]
    assert ids(found)[-2:] == [9, 8]


def test_a_preference_is_followed(engine):
    order = ids(engine.search(like(1), N))
    engine.prefer(like(1), order[40], order[3])
    found = ids(engine.search(like(1), N))
    assert found.index(order[40]) < found.index(order[3])


def test_preferences_in_a_chain_are_all_followed(engine):
    order = ids(engine.search(like(1), N))
    for user, (a, b, c) in enumerate([(40, 20, 3), (45, 1, 0), (30, 5, 4), (47, 10, 46), (9, 8, 7)]):
        engine.prefer(like(1), order[a], order[b], f"{user}")
        engine.prefer(like(1), order[b], order[c], f"{user}")
        found = ids(engine.search(like(1), N, SearchOptions(user=f"{user}")))
        assert found.index(order[a]) < found.index(order[b]) < found.index(order[c])


def test_a_preference_over_a_right_item_is_followed(engine):
    order = ids(engine.search(like(1), N))
    engine.feedback(like(1), [Mark(order[3], 1.0)])
    engine.prefer(like(1), order[30], order[3])
    found = ids(engine.search(like(1), N))
    assert found.index(order[30]) < found.index(order[3])


def test_a_preference_does_not_say_that_the_other_is_wrong(engine):
    order = ids(engine.search(like(1), N))
    for user, (better, worse) in enumerate([(0, 1), (1, 0), (30, 20), (40, 3), (41, 40)]):
        engine.prefer(like(1), order[better], order[worse], f"{user}")
        found = engine.search(like(1), N, SearchOptions(user=f"{user}", explain=True))
        places = {one.id: one for one in found}
        after, before = places[order[worse]], places[order[better]]
        assert before.rank < after.rank
        assert after.rank < worse + 1 + N // 2
        assert after.rank < N
        assert [one.mark for one in found] == [None] * N
        assert found.marks == 1
        assert not {"preferred", "marked wrong"} & {*after.why.by_name()}
        assert not {"marked right", "marked wrong"} & {*before.why.by_name()}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"diversity": 0.3}, {"method": "visual_rank"}, {"method": "smooth"}])
def test_an_item_that_a_preference_lifts_a_little_does_not_come_first(engine, options):
    for item in (14, 26, 40):
        order = ids(engine.search(like(item), N))
        best, better, worse = order[45], order[46], order[20]
        engine.prefer(like(item), best, better)
        engine.prefer(like(item), better, worse)
        assert ids(engine.search(like(item), N, SearchOptions(feedback=True))).index(better) > 10
        assert ids(engine.search(like(item), N, SearchOptions(**options)))[0] != better


def test_an_item_that_a_preference_lifts_says_so(engine):
    order = ids(engine.search(like(1), N))
    engine.feedback(like(1), [Mark(order[3], 1.0)])
    engine.prefer(like(1), order[30], order[3])
    found = {one.id: one for one in engine.search(like(1), N, SearchOptions(explain=True))}
    assert found[order[30]].why.by_name()["preferred"] > 0
    assert "preferred" not in found[order[3]].why.by_name()
    assert found[order[30]].mark is None
    assert found[order[3]].mark == 1.0


# Bad marks -----------------------------------------------------------------------------------------------------------


def test_bad_marks_change_nothing(engine):
    before = engine.rank(like(1)).total
    for bad, error in (
        ([Mark(4, 1.0), Mark(999, 1.0)], KeyError),
        ([Mark(4, 1.0), Mark(0, 1.0)], KeyError),
        ([Mark(4, 1.0), Mark(5, float("nan"))], ValueError),
        ([Mark(4, float("inf"))], ValueError),
        ([Mark(4, 1.0, 4)], ValueError),
        ([Mark(4, 1.0, 999)], KeyError),
    ):
        with pytest.raises(error):
            engine.feedback(like(1), bad)
        assert engine.marks() == []
    assert engine.feedback(like(1), []) == []
    assert engine.undo() is None
    with pytest.raises(KeyError, match="there is no mark 7"):
        engine.undo(mark=7)
    np.testing.assert_array_equal(engine.rank(like(1)).total, before)


@pytest.mark.parametrize("shown", [[999, 2], [0, 2], [-3, 2]])
def test_unknown_items_that_were_shown_break_nothing(engine, shown):
    try:
        engine.feedback(Query("red"), [Mark(2, 1.0)], shown=shown)
    except (KeyError, ValueError):
        assert engine.marks() == []
    assert len(engine.search(Query("red"), 5)) == 5
    assert engine.weights


def test_numbers_of_numpy_are_numbers(engine):
    row = np.argsort(-engine.scores(like(1)))[3]
    engine.feedback(like(1), [Mark(row + 1, 1.0)])
    assert engine.marks()[0].item == row + 1


def test_shown_may_be_an_array(engine):
    engine.feedback(like(1), [Mark(3, 1.0)], shown=np.array([2, 3]))
    assert engine.marks()[0].skipped == (2,)


@pytest.mark.parametrize("query", [Query(), Query("  "), like(999)])
def test_marks_of_a_query_that_cannot_be_asked_are_refused(engine, query):
    with pytest.raises(ValueError):
        engine.feedback(query, [Mark(2, 1.0)])


@pytest.mark.parametrize("text", [
    "red " * 2500, "🙂🚤 blue", "קַו אדום boat", "مركب أحمر", "a\tb\nc", "100% 'sure' -- ; DROP TABLE qrels",
    "% %20 %zz", "q0123456789abcdef", "#comment", "红色的花",
    pytest.param("\x00nul", marks=pytest.mark.sqlite),  # which PostgreSQL does not store
])  # fmt: skip
def test_any_text_can_be_marked_taken_back_and_written(engine, text, tmp_path):
    query = Query(text)
    engine.search(query)
    engine.feedback(query, [Mark(5, 1.0), Mark(6, 0.0)])
    assert ids(engine.search(query, N))[0] == 5
    assert len(engine.marks(query)) == 2
    assert engine.asked(query.qid) == query
    export_marks(engine.collection, tmp_path / "marks.qrels")
    read = [(qid_from_trec(qid), item, grade) for qid, item, grade in read_qrels(tmp_path / "marks.qrels")]
    assert read == [(query.qid, "5", 1.0), (query.qid, "6", 0.0)]
    assert qid_from_trec(qid_to_trec(query.qid)) == query.qid
    assert engine.undo(query) == 2
    assert ids(engine.search(query, N))[0] == 5


def test_a_mark_on_an_item_that_is_gone(fresh, tmp_path):
    collection = fresh()
    extra = tmp_path / "extra.png"
    cv2.imwrite(str(extra), picture((30, 30, 210), 77))
    index(collection, [extra], workers=0)
    engine = alike(collection)
    engine.feedback(like(1), [Mark(N + 1, 1.0), Mark(40, 0.0)])
    weights = engine.weights
    extra.unlink()
    index(collection, [tmp_path], workers=0, forget_missing=True)
    found = engine.search(like(1), 100)
    assert N + 1 not in ids(found)
    assert found.marks == 2  # it still says what is wanted
    assert engine.weights == weights
    engine.feedback(like(1), [Mark(N + 1, 0.0)])
    assert len(engine.search(like(1), 100)) == N


# Undo ----------------------------------------------------------------------------------------------------------------


def steps(n, seed=0):
    """Marks of two users on three queries, in turn."""
    rng = np.random.default_rng(seed)
    asked = (like(1), like(20), Query("red"))
    return [
        (asked[rng.integers(3)], Mark(int(rng.integers(1, N + 1)), float(rng.integers(0, 3))), "ab"[rng.integers(2)])
        for _ in range(n)
    ]


def play(engine, given, without=()):
    numbers = {}
    for place, (query, mark, user) in enumerate(given):
        if place not in without:
            numbers[place] = engine.feedback(query, [mark], user)[0]
    return numbers


def assert_same(one, other, *, diffusion=False):
    assert one.weights == other.weights
    for query in (like(1), like(20), Query("red"), like(33)):
        for user in ("a", "b"):
            ranked = [which.rank(query, SearchOptions(user=user, diffusion=diffusion)).total for which in (one, other)]
            np.testing.assert_array_equal(*ranked)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [{0}, {3, 4}, {60}, {119}, {5, 55, 110}])
def test_undo_equals_never_having_marked(fresh, gone):
    given = steps(120)
    engine, never = alike(fresh()), alike(fresh())
    numbers = play(engine, given)
    assert engine.weight_state.n_marks == 120
    for place in sorted(gone, reverse=True):
        engine.undo(mark=numbers[place])
        engine.search(like(1), 1)
    play(never, given, gone)
    assert_same(engine, never)
    assert_same(alike(engine.collection), never)  # opened again


@pytest.mark.slow
def test_undo_equals_never_having_marked_with_neighbours(fresh):
    given = steps(120)
    engine, never = alike(fresh()), alike(fresh())
    numbers = play(engine, given)
    for place in (4, 3):
        engine.undo(mark=numbers[place])
        engine.search(like(1), 1)
    play(never, given, {3, 4})
    assert_same(engine, never, diffusion=True)


def test_undo_goes_back_one_by_one_to_nothing(fresh):
    engine, untouched = alike(fresh()), alike(fresh())
    numbers = play(engine, steps(55))
    mine = [numbers[place] for place, (_, _, user) in enumerate(steps(55)) if user == "a"]
    assert [engine.undo(user="a") for _ in range(2)] == [mine[-1], mine[-2]]
    while engine.undo(user="a") or engine.undo(user="b"):
        pass
    assert engine.marks() == []
    assert_same(engine, untouched)


def test_undo_then_mark_again_equals_marking_once(fresh):
    engine, once = alike(fresh()), alike(fresh())
    given = steps(30)
    play(engine, given)
    query, mark, user = given[-1]
    engine.undo(query, user)
    engine.feedback(query, [mark], user)
    play(once, given)
    assert_same(engine, once)


def test_undo_of_a_query_leaves_other_queries_and_users(engine):
    engine.feedback(like(1), [Mark(5, 1.0)], "a")
    engine.feedback(like(2), [Mark(6, 1.0)], "a")
    engine.feedback(like(1), [Mark(7, 1.0)], "b")
    engine.undo(like(1), "a")
    assert [(one.item, one.user) for one in engine.marks()] == [(6, "a"), (7, "b")]
    assert engine.undo(like(1), "a") is None


def test_undo_of_a_mark_makes_the_item_one_that_was_passed_over(fresh):
    engine, never = alike(fresh()), alike(fresh())
    number = engine.feedback(like(1), [Mark(5, 0.0)])[0]
    for one in (engine, never):
        one.feedback(like(1), [Mark(9, 1.0)], shown=[5, 7, 9])
    engine.undo(mark=number)
    assert engine.weights == never.weights


def test_what_was_shown_is_kept_and_what_was_passed_over_is_decided_later(engine):
    engine.feedback(like(1), [Mark(5, 0.0)])
    engine.feedback(like(1), [Mark(9, 1.0), Mark(6, 1.0), Mark(8, 0.0)], shown=[5, 6, 7, 8, 9])
    first, mark, *_ = engine.marks()
    assert [one.skipped for one in engine.marks()] == [(), (5, 6, 7, 8), (5,), ()]
    together = {9, 6, 8}
    assert preferences(mark, History([first]), together) == [(9, 5), (9, 7)]
    assert preferences(mark, History(), together) == [(9, 5), (9, 7)]  # item 5 was passed over then
    assert preferences(mark, History([first])) == [(9, 5), (9, 6), (9, 7), (9, 8)]
    assert preferences(mark, History([first._replace(grade=1.0)]), together) == [(9, 7)]
    assert preferences(mark._replace(over=5), History([first]), together) == [(9, 5)]


@pytest.mark.slow
def test_undo_equals_never_having_marked_after_the_collection_doubled(fresh, tmp_path):
    given = steps(60)
    engine, never = alike(fresh()), alike(fresh())
    numbers = play(engine, given)
    play(never, given, {3})
    more = write_pictures(tmp_path / "more", 13, seed=3, captions=False)
    for one in (engine, never):
        one.search(like(1), 1)
        index(one.collection, [more], workers=0)
    engine.undo(mark=numbers[3])
    never.settle()
    assert engine.weights == never.weights


# Several at once -----------------------------------------------------------------------------------------------------


def test_two_engines_see_each_others_marks(fresh):
    collection = fresh()
    one, other = alike(collection), alike(Collection(collection.folder))
    other.search(like(1))
    one.feedback(like(1), [Mark(40, 1.0), Mark(2, 0.0)])
    assert ids(other.search(like(1), N))[0] == 40
    other.settle()
    assert one.weights == other.weights
    other.undo(like(1))
    one.settle()
    assert one.weights == other.weights
    other.set_weight("lbp.l1", 0.7)
    assert one.weights["lbp.l1"] == 0.7
    other.collection.close()


def test_two_engines_see_each_others_reset(fresh):
    collection = fresh()
    one, other = alike(collection), alike(collection)
    one.feedback(like(1), [Mark(40, 1.0), Mark(2, 0.0)])
    assert one.weights == other.weights
    one.reset_weights()
    other.settle()
    assert one.weights == other.weights


def _mark(folder):
    with Collection(folder) as opened:
        alike(opened).feedback(like(1), [Mark(40, 1.0), Mark(2, 0.0)])


@pytest.mark.slow
def test_a_mark_of_another_process_is_seen(engine):
    engine.search(like(1))
    process = multiprocessing.get_context("spawn").Process(target=_mark, args=(engine.collection.folder,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    found = ids(engine.search(like(1), N))
    assert found[0] == 40
    assert found[-1] == 2
    engine.settle()
    assert engine.weight_state.n_marks == 2


@pytest.mark.slow
def test_marks_of_many_threads_all_count(engine):
    failed = []

    def work(number):
        try:
            for turn in range(12):
                query = (like(1), like(20))[turn % 2]
                engine.feedback(query, [Mark(1 + (7 * turn + number) % N, float(turn % 2))], f"user{number}")
                found = engine.search(query, N, SearchOptions(user=f"user{number}"))
                assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
                if turn % 4 == 3:
                    engine.undo(user=f"user{number}")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed, failed[0]
    assert len(engine.marks()) == 4 * 9
    replayed = alike(engine.collection)
    assert replayed.weights == engine.weights
    with engine.collection.transaction() as db:
        db.execute("DELETE FROM checkpoints")
    assert alike(engine.collection).weights == engine.weights


def test_thousands_of_marks_of_one_query(engine):
    engine.feedback(like(2), [Mark(1 + place % N, float(place * 7 % 3)) for place in range(2000)])
    found = engine.search(like(2), N)
    last = {1 + place % N: float(place * 7 % 3) for place in range(2000)}
    assert {one.id: one.mark for one in found} == last
    assert [one.mark for one in found] == sorted(last.values(), reverse=True)


def test_the_first_search_does_not_wait_for_a_long_replay(engine, monkeypatch):
    monkeypatch.setattr(learner, "WAY_SECONDS", 300.0)  # until no search runs
    with engine._weights.searches.running():
        engine.feedback(like(2), [Mark(1 + place % N, float(place % 2)) for place in range(1001)])
        assert len(engine.search(like(2), N)) == N  # the time limit of the tests ends it if both wait for each other
        assert engine.weight_state.n_marks == 0
    engine.settle()
    assert engine.weight_state.n_marks == 1001


def test_only_the_latest_marks_teach_but_all_keep_their_places(engine, monkeypatch):
    monkeypatch.setattr(feedback, "CACHE_BYTES", 0)  # the least that may teach: 30
    order = ids(engine.search(like(2), N))
    engine.feedback(like(2), [Mark(item, float(place % 2)) for place, item in enumerate(order[:40])])
    ranking = engine.rank(like(2))
    assert ranking.feedback.items == (0, *order[10:40])  # 0 stands for the example
    assert ranking.judgements.n_marks == 40
    found = ids(engine.search(like(2), N))
    assert {*found[:20]} == {*order[1:40:2]}
    assert {*found[-20:]} == {*order[0:40:2]}
    assert feedback.MOST_MARKS == 300


# Locks and reset -----------------------------------------------------------------------------------------------------


def test_locked_weights_stay(engine):
    engine.set_weight("lbp.l1", 0.9)
    engine.lock("gist.l2")
    kept = engine.weights["gist.l2"]
    judge(engine, range(1, 40, 6))
    weights = engine.weights
    assert weights["lbp.l1"] == 0.9
    assert weights["gist.l2"] == kept
    assert engine.weight_state.locked == {"lbp.l1", "gist.l2"}
    engine.lock("lbp.l1", False)
    never = alike(engine.collection)
    assert engine.weights == never.weights
    assert engine.weights["lbp.l1"] != 0.9
    for name, value in (("nope", 1.0), ("lbp.l1", float("nan")), ("lbp.l1", float("inf"))):
        with pytest.raises(ValueError):
            engine.set_weight(name, value)
    scores = engine.scores(like(3))
    assert np.abs(scores - np.asarray(engine.features(like(3))) @ [*engine.weights.values()]).max() < 1e-6


def test_reset_forgets_but_keeps_the_marks(engine):
    start = engine.weights
    judge(engine, (1, 20))
    engine.set_weight("lbp.l1", 0.9)
    assert engine.weights != start
    n = len(engine.marks())
    engine.reset_weights()
    assert engine.weights == start
    assert engine.weight_state.n_marks == 0
    assert engine.weight_state.moved == pytest.approx(0.0, abs=1e-12)
    assert len(engine.marks()) == n
    assert engine.search(like(1)).marks > 0
    assert alike(engine.collection).weights == start
    judge(engine, (30,), k=40)
    assert engine.weights != start
    for _ in range(3):
        engine.undo()
    engine.undo(mark=1)  # before the reset: nothing that counts
    assert engine.weights == alike(engine.collection).weights


def test_any_online_ranker_may_learn(engine):
    query = like(3)
    found = engine.search(query, 12)
    engine.feedback(query, [Mark(one.id, float(place % 2)) for place, one in enumerate(found)])
    weights = {}
    for name in ("opar1", "opr", "opar2", "ogdr", "arow"):
        engine.learn_with(name)
        weights[name] = engine.weights
        assert weights[name] == type(engine)(engine.collection, engine._weights._given).weights
    assert len({tuple(one.values()) for one in weights.values()}) == 5
    for name in ("rlr", "nonsense"):
        with pytest.raises(ValueError, match=r"does not learn mark by mark|unknown ranker"):
            engine.learn_with(name)
    assert engine.weights == weights["arow"]
