"""Learning, concepts, trials and the demonstration as a user types them: the same as Python, and errors in one line."""

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom import load_ranker
from rankloom.collection import Captions, Collection, Mark
from rankloom.collection.query import Example, Query
from rankloom.engine import Engine, SearchOptions
from rankloom.experiments import evaluate_collection, learned_weights, load_labeled, simulate_users
from rankloom.rankers import make_ranker
from tests.archives import copied, like, make, write_pictures
from tests.shell import invoke, rankloom

N = 50


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Pictures of four colours, two of them twice, with captions and classes."""
    root = write_pictures(tmp_path_factory.mktemp("pictures"))
    for number in (0, 4):
        image = cv2.imread(str(root / "red_things" / f"00{number:03}.png"))
        cv2.imwrite(str(root / "red_things" / f"twin{number}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 97])
    rows = ["path,class,other"]
    rows += [f"{path.relative_to(root)},{path.parent.name},x" for path in sorted(root.rglob("*.*g"))]
    (root / "labels.csv").write_text("\n".join(rows) + "\n")
    return root


@pytest.fixture(scope="module")
def original(pictures, tmp_path_factory):
    place = make(tmp_path_factory.mktemp("made") / "c", pictures, captions=Captions(str(pictures / "captions.csv")))
    with Collection(place) as opened:
        Engine(opened).refresh()
        yield opened


@pytest.fixture(scope="module")
def judged(original, tmp_path_factory):
    """A copy with true marks of eight queries."""
    with copied(original, tmp_path_factory.mktemp("judged") / "c") as opened:
        engine = Engine(opened)
        kinds = {one.id: Path(one.path).parent.name for one in opened.items()}
        for item in range(1, N, 7):
            marks = [Mark(one, float(kinds[one] == kinds[item])) for one in range(1, N + 1, 3) if one != item]
            engine.feedback(like(item), marks)
        yield opened


@pytest.fixture
def place(original, tmp_path):
    copied(original, tmp_path / "c").close()
    return tmp_path / "c"


@pytest.fixture
def taught(judged, tmp_path):
    copied(judged, tmp_path / "taught").close()
    return tmp_path / "taught"


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["boat"], ["--item", "3"]])
def test_a_search_imports_no_rankers(place, asked):
    code = (
        "import sys\nfrom rankloom.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'sklearn', 'pandas', 'scipy.stats', 'scipy.spatial', 'scipy.linalg', 'numba', 'lightgbm'}\n"
        "print(sorted((heavy | {'onnxruntime', 'cv2', 'psycopg'}) & {*sys.modules}))"
    )
    command = [sys.executable, "-c", code, "search", *asked, "-c", str(place)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 5
    assert lines[-1] == "[]"


def records(*arguments):
    return [json.loads(line) for line in rankloom(*arguments, "--json").stdout.splitlines()]


def fails(*arguments, says, code=1):
    """The command ends with one line that says what is wrong, nothing on standard output, and no traceback."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert lines[-1].startswith("Error: ")
    assert says in lines[-1]
    assert "Traceback" not in result.stderr
    if code == 1:
        assert len(lines) == 1
    return lines[-1]


def plain(found):
    """Results as the commands write them, but for the last digits: a command does without compiled loops."""
    whys = ({} if hit.why is None else {"why": hit.why.by_name()} for hit in found)
    kept = ({key: value for key, value in hit._asdict().items() if value not in (None, ())} for hit in found)
    return close(json.loads(json.dumps([{**hit, **why} for hit, why in zip(kept, whys, strict=True)])))


def close(value):
    """A value of JSON in which every number may differ a little."""
    if isinstance(value, dict):
        return {key: close(part) for key, part in value.items()}
    if isinstance(value, list):
        return [close(part) for part in value]
    return pytest.approx(value, rel=1e-4, abs=1e-4) if isinstance(value, float) else value


def python(folder, ask):
    with Collection(folder) as opened:
        return ask(Engine(opened))


# feedback ------------------------------------------------------------------------------------------------------------


def test_marks_from_the_shell_are_those_of_python(place, original, tmp_path):
    given = records(
        "feedback", "red", "boat", "-c", place, "--right", 17, "--right", 4, "--wrong", 9, "--grade", "12=0.5",
        "--grade", "30=2", "--prefer", 7, 20, "--user", "me",
    )  # fmt: skip
    assert [(one["item"], one["grade"], one.get("over")) for one in given] == [
        (17, 1.0, None), (4, 1.0, None), (9, 0.0, None), (12, 0.5, None), (30, 2.0, None), (7, 1.0, 20)
    ]  # fmt: skip
    assert [one["id"] for one in given] == [*range(1, 7)]
    assert {(one["qid"], one["user"]) for one in given} == {("red boat", "me")}
    with copied(original, tmp_path / "twin") as other:
        engine, query = Engine(other), Query("red boat")
        engine.feedback(query, [(17, 1.0), (4, 1.0), (9, 0.0), (12, 0.5), (30, 2.0)], "me")
        engine.prefer(query, 7, 20, "me")
        expected, weights = engine.search(query, N, SearchOptions(user="me")), engine.weights
    found = records("search", "red", "boat", "-c", place, "-k", N, "--user", "me")
    assert found == plain(expected)
    assert [one["id"] for one in found if one.get("mark", 0) > 0] == [30, *sorted_by(found, {17, 4}), 12]
    assert found[-1]["id"] == 9
    assert found[-1]["mark"] == 0.0
    assert python(place, lambda engine: engine.weights) == weights
    assert "mark" not in {key for one in records("search", "red", "boat", "-c", place) for key in one}


def sorted_by(found, items):
    return [one["id"] for one in found if one["id"] in items]


def test_marks_are_listed_and_taken_back(place):
    said = rankloom("feedback", "red", "-c", place, "--right", 5, "--wrong", 6).stdout
    assert said == "2 active marks\n"
    rankloom("feedback", "--item", 3, "-c", place, "--right", 8)
    assert [one["item"] for one in records("feedback", "-c", place)] == [5, 6, 8]
    assert [one["item"] for one in records("feedback", "red", "-c", place, "--list")] == [5, 6]
    listed = rankloom("feedback", "-c", place, "--list").stdout
    assert "red" in listed
    assert len([line for line in listed.splitlines() if line.strip()]) == 2 + 3
    assert rankloom("feedback", "red", "-c", place, "--undo").stdout == "mark 2 undone\n1 active marks\n"
    assert rankloom("feedback", "-c", place, "--undo").stdout == "mark 3 undone\n1 active marks\n"
    assert (
        rankloom("feedback", "-c", place, "--undo", "--user", "b").stdout
        == "there is no mark to undo\n0 active marks\n"
    )
    result = rankloom("feedback", "-c", place, "--undo", "--json")
    assert result.stdout == ""  # nothing stands, and what was done is said elsewhere
    assert result.stderr == "mark 1 undone\n"
    assert python(place, lambda engine: engine.marks()) == []


def test_marks_that_the_others_contradict_are_listed(place):
    order = [one["id"] for one in records("search", "--item", 3, "-c", place, "-k", N) if one["id"] != 3]
    right, wrong = [item for item in order[:10] if item != order[2]], [order[2], *order[-10:]]
    told = [word for item in right for word in ("--right", item)] + [
        word for item in wrong for word in ("--wrong", item)
    ]
    rankloom("feedback", "--item", 3, "-c", place, *told)
    listed = records("feedback", "-c", place, "--list")
    assert [one["item"] for one in listed if one["contradicted"]] == [order[2]]
    lines = rankloom("feedback", "-c", place, "--list").stdout.splitlines()
    assert sum("the other marks say otherwise" in line for line in lines) == 1
    rankloom("feedback", "--item", 3, "-c", place, "--wrong", order[2])
    assert not any(one["contradicted"] for one in records("feedback", "--item", 3, "-c", place, "--list"))


def test_marks_are_written_and_taken_in(place, original, tmp_path):
    rankloom("feedback", "red", "boat", "-c", place, "--right", 5, "--wrong", 6, "--grade", "7=0.5")
    rankloom("feedback", "100% things", "-c", place, "--right", 2)
    rankloom("export", tmp_path / "marks.qrels", "--marks", "-c", place)
    with open(tmp_path / "marks.qrels", "a") as file:
        file.write("red%20boat 0 999 1\nred%20boat 0 none 1\n")
    copied(original, tmp_path / "twin").close()
    said = rankloom("feedback", "-c", tmp_path / "twin", "--import", tmp_path / "marks.qrels", "--user", "them").stdout
    assert said.splitlines()[0] == "4 marks taken in, 2 of unknown items left out"
    first, second = (python(one, lambda engine: engine.marks()) for one in (place, tmp_path / "twin"))
    assert [one[1:5] for one in second] == [one[1:5] for one in first]
    assert {one.user for one in second} == {"them"}


def test_the_owner_takes_over_what_a_profile_marked(place, original, tmp_path):
    here = ("-c", place)
    rankloom("feedback", "red", *here, "--right", 5, "--wrong", 6)
    rankloom("feedback", "boat", *here, "--right", 7, "--wrong", 9, "--user", "phone")
    assert [one["user"] for one in records("feedback", *here, "--list")] == ["", "", "phone", "phone"]
    assert [one["item"] for one in records("feedback", *here, "--list", "--user", "phone")] == [7, 9]
    assert [one["item"] for one in records("feedback", *here, "--list", "--user", "")] == [5, 6]
    listed = rankloom("feedback", *here, "--list").stdout
    assert "phone" in listed
    assert "(owner)" in listed
    assert rankloom("feedback", *here).stdout == "2 active marks\n"
    said = rankloom("feedback", *here, "--adopt", "phone").stdout
    assert said == "2 marks and 0 saved searches of phone are yours now\n4 active marks\n"
    assert "(owner)" not in rankloom("feedback", *here, "--list").stdout
    fails("feedback", *here, "--adopt", "phone", says="no profile 'phone' has marks")
    fails("feedback", *here, "--adopt", "phone", "--user", "me", says="--adopt goes without --user", code=2)
    with copied(original, tmp_path / "twin") as other:
        engine = Engine(other)
        engine.feedback(Query("red"), [(5, 1.0), (6, 0.0)])
        engine.feedback(Query("boat"), [(7, 1.0), (9, 0.0)])
        expected = engine.weights
    assert python(place, lambda engine: engine.weights) == expected


def test_bad_feedback(place, tmp_path):
    here = ("-c", place)
    fails("feedback", *here, "--right", 5, says="say which query the marks are for")
    fails("feedback", "red", *here, "--right", 999, says="there is no item 999")
    fails("feedback", "red", *here, "--right", 5, "--wrong", 0, says="there is no item 0")
    fails("feedback", "red", *here, "--grade", "5=1e7", says="a grade must be a finite number up to 1e+06")
    fails("feedback", "red", *here, "--grade", "5=nan", says="a grade must be a finite number")
    fails("feedback", "red", *here, "--grade", "5", says="expected ITEM=GRADE, got '5'", code=2)
    fails("feedback", "red", *here, "--prefer", 5, 5, says="item 5 cannot be preferred to itself")
    fails("feedback", "--item", 999, *here, "--right", 5, says="999")
    fails("feedback", "red", "-c", tmp_path / "none", "--right", 5, says="none")
    fails("feedback", *here, "--import", tmp_path / "none.qrels", says="none.qrels' does not exist", code=2)
    (tmp_path / "bad.qrels").write_text("a 0 1 1\nb 0\n")
    fails("feedback", *here, "--import", tmp_path / "bad.qrels", says="bad.qrels:2")
    assert python(place, lambda engine: engine.marks()) == []


# search --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--method", "visual_rank"], {"method": "visual_rank"}),
        (["--method", "prf", "--explain"], {"method": "prf", "explain": True}),
        (["--diversity", "0.6"], {"diversity": 0.6}),
        (["--collapse"], {"collapse": True}),
        (["--collapse", "--diversity", "0.2", "--method", "smooth", "--no-diffusion"],
         {"collapse": True, "diversity": 0.2, "method": "smooth", "diffusion": False}),
        (["--no-marks", "--explain"], {"feedback": False, "explain": True}),
        (["--user", "nobody"], {"user": "nobody"}),
    ],
)  # fmt: skip
def test_search_options_are_those_of_python(judged, words, options):
    for query, asked in ((like(8), ["--item", "8"]), (Query("red boat"), ["red", "boat"])):
        found = records("search", *asked, "-c", judged.folder, "-k", N, *words)
        assert found == plain(Engine(judged).search(query, N, SearchOptions(**options)))
        assert rankloom("search", *asked, "-c", judged.folder, *words).stdout


def test_search_collapses_near_duplicates(judged):
    groups = {name: records("search", "red", "-c", judged.folder, "-k", N, *name) for name in ((), ("--collapse",))}
    shown = groups["--collapse",]
    assert sum("duplicates" in one for one in shown) == 2
    every = [one["id"] for one in shown] + [other for one in shown for other in one.get("duplicates", ())]
    assert sorted(every) == sorted(one["id"] for one in groups[()])
    assert "(+1)" in rankloom("search", "red", "-c", judged.folder, "-k", N, "--collapse").stdout


@pytest.mark.slow
@pytest.mark.parametrize("diffusion", [True, False])
def test_search_says_why_one_item_is_above_another(judged, diffusion):
    more = [] if diffusion else ["--no-diffusion"]
    best, other = (one.id for one in Engine(judged).search(like(8), N, SearchOptions(diffusion=diffusion))[1:12:10])
    for a, b, word in ((best, other, "above"), (other, best, "not above")):
        (found,) = records("search", "--item", 8, "-c", judged.folder, "--above", a, b, *more)
        expected = Engine(judged).compare(like(8), a, b, SearchOptions(diffusion=diffusion))
        assert found["why"] == close(json.loads(json.dumps(expected.by_name())))
        assert found["difference"] == close(float(expected.total))
        assert (found["above"], found["below"]) == (a, b)
        said = rankloom("search", "--item", 8, "-c", judged.folder, "--above", a, b, *more).stdout
        assert said.startswith(f"item {a} is {word} item {b}: the scores differ by {found['difference']:+.4f}")


def test_search_shows_where_the_list_may_end(judged):
    cut = Engine(judged).search(like(3), N).cutoff
    assert cut
    lines = rankloom("search", "--item", 3, "-c", judged.folder, "-k", N).stdout.splitlines()
    (at,) = (place for place, line in enumerate(lines) if "the rest is probably not it" in line)
    assert lines[at - 1].split()[0] == str(cut)
    assert "probably" not in rankloom("search", "--item", 3, "-c", judged.folder, "-k", cut).stdout
    assert "probably" not in rankloom("search", "red", "-c", judged.folder, "-k", N).stdout


def test_search_says_how_many_are_likely(judged):
    for query, asked in ((like(3), ("--item", 3)), (Query("red"), ("red",))):
        found = Engine(judged).search(query, N)
        said = rankloom("search", *asked, "-c", judged.folder, "-k", N).stderr.splitlines()[0]
        assert said == (f"{found.total} items, best first" if found.likely is None else f"about {found.likely} likely")
    assert Engine(judged).search(like(3), N).likely < N  # below 100 all digits are said
    assert rankloom("search", "--item", 3, "-c", judged.folder, "--json").stderr == ""


def test_search_says_what_may_be_meant(judged):
    here = ("-c", judged.folder)
    assert "did you mean: a house" in rankloom("search", "a", "hosue", *here).stderr
    assert 'did you mean: "house"' in rankloom("search", '"hosue"', *here).stderr  # which finds nothing
    for right in ("house", "red hosue", "zebra"):  # a word is there, or nothing is near
        assert "did you mean" not in rankloom("search", right, *here).stderr, right


def test_bad_searches(judged):
    here = ("-c", judged.folder)
    said = fails(
        "search", "red", *here, "--method", "nope", says="unknown method 'nope'; known are experts, visual_rank"
    )
    assert said.count("\n") == 0
    fails("search", "red", *here, "--concept", "nope", says="there is no concept 'nope'; known are none")
    fails("search", "red", *here, "--diversity", "2", says="diversity", code=2)
    fails("search", "red", *here, "--above", 1, 999, says="there is no item 999")
    fails("search", *here, "--above", 1, 2, says="the query is empty")
    fails("search", "red", *here, "--above", 1, says="requires 2 arguments", code=2)
    fails("search", "--item", 999, *here, says="999")


# train and models ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_models_are_trained_listed_chosen_and_written(taught, tmp_path):
    here = ("-c", taught)
    assert records("models", "list", *here) == []
    (model,) = records("train", *here, "--set", "nu=0.1")
    with Collection(taught) as opened:
        engine = Engine(opened)
        assert model == json.loads(json.dumps(engine.models()[0]._asdict()))
        again = engine.train("rlr", {"nu": 0.1})
        timed = ("id", "at", "seconds", "gain", "gain_low", "gain_high", "status")
        assert {**model, **dict.fromkeys(timed)} == {**again._asdict(), **dict.fromkeys(timed)}
        assert engine.ranker(1).get_params()["nu"] == 0.1
    assert model["n_marks"] == len(python(taught, lambda engine: engine.marks()))
    said = rankloom("train", *here, "--ranker", "ranksvm").stdout.splitlines()
    assert said[0].startswith("model 3 (ranksvm) from ")
    assert said[1] in ("it is in use now", "it is worse there, so it was not put in use")

    listed = records("models", "list", *here)
    assert [one["ranker"] for one in listed] == ["rlr", "rlr", "ranksvm"]
    assert listed == [json.loads(json.dumps(one._asdict())) for one in python(taught, lambda engine: engine.models())]
    assert "ranksvm" in rankloom("models", "list", *here).stdout

    (compared,) = records("models", "compare", 1, 3, *here)
    assert compared == json.loads(json.dumps(python(taught, lambda engine: engine.compare_models([1, 3]).to_dict())))
    assert "model 3" in rankloom("models", "compare", *here).stdout

    before = records("search", "--item", 8, *here)
    assert rankloom("models", "use", 3, *here).stdout == "model 3 is in use\n"
    assert records("models", "list", *here)[-1]["status"] == "in use"
    third = records("search", "--item", 8, *here, "--no-marks")
    assert third == plain(python(taught, lambda engine: engine.search(like(8), options=SearchOptions(feedback=False))))
    assert rankloom("models", "use", 0, *here).stdout == "the weights that follow every mark are in use\n"
    assert "in use" not in {one["status"] for one in records("models", "list", *here)}
    assert rankloom("models", "rollback", *here).stdout == "model 3 is in use\n"
    assert records("search", "--item", 8, *here, "--no-marks") == third
    assert rankloom("models", "rollback", *here).stdout.endswith("in use\n")
    assert records("search", "--item", 8, *here) == before

    assert rankloom("models", "export", 3, tmp_path / "three.json", *here).stdout == f"-> {tmp_path / 'three.json'}\n"
    written, kept = load_ranker(tmp_path / "three.json"), python(taught, lambda engine: engine.ranker(3))
    np.testing.assert_array_equal(written.coef_, kept.coef_)
    rankloom("models", "use", 0, *here)
    rankloom("models", "export", 0, tmp_path / "library.json", *here)
    weights = python(taught, lambda engine: engine.weights)
    library = load_ranker(tmp_path / "library.json")
    assert dict(zip(library.feature_names_in_.tolist(), library.coef_.tolist(), strict=True)) == pytest.approx(weights)


def test_two_models_in_one_list(taught):
    here = ("-c", taught)
    rankloom("train", *here)
    rankloom("models", "use", 0, *here)
    found = records("models", "interleave", 1, "--item", 9, *here, "-k", 10, "--user", "me")
    assert [one["rank"] for one in found] == [*range(1, 11)]
    assert len({one["id"] for one in found}) == 10
    assert {one["team"] for one in found} <= {0, 1, 2}
    assert {1, 2} <= {one["team"] for one in found}
    assert records("models", "preferences", *here)[0]["wins"] == 0
    mine = next(one["id"] for one in found if one["team"] == 2)
    rankloom("feedback", "--item", 9, *here, "--right", mine, "--user", "me")
    (said,) = records("models", "preferences", *here)
    assert (said["first"], said["second"], said["wins"], said["losses"], said["ties"]) == (None, 1, 0, 1, 0)
    (result,) = python(taught, lambda engine: engine.interleaving_results())
    assert said["p"] == result.preference.p_value
    assert said["interval"] == [*result.preference.interval]
    assert said["verdict"] == result.preference.verdict
    assert "0 : 1 (0 ties)" in rankloom("models", "preferences", *here).stdout
    shown = rankloom("models", "interleave", 1, "red", *here, "-k", 5).stdout
    assert len([line for line in shown.splitlines() if line.strip()]) == 2 + 5
    rankloom("models", "use", 1, *here)
    assert len(records("models", "interleave", 0, "--item", 9, *here, "-k", 5)) == 5


def test_bad_training_and_models(place, taught, tmp_path):
    fails("train", "-c", place, says="there is nothing to learn from")
    rankloom("feedback", "--item", 3, "-c", place, "--right", 4, "--wrong", 30)
    fails("train", "-c", place, says="marks of 1 queries are too few")
    here = ("-c", taught)
    fails("train", *here, "--ranker", "nope", says="unknown ranker 'nope'")
    fails("train", *here, "--set", "nope=1", says="nope")
    fails("train", *here, "--set", "nu", says="expected NAME=VALUE", code=2)
    fails("models", "rollback", *here, says="there is nothing to go back to")
    for command in (("use", 7), ("compare", 7), ("export", 7, tmp_path / "m.json"), ("interleave", 7, "red")):
        fails("models", *command, *here, says="there is no model 7")
    assert not (tmp_path / "m.json").exists()
    fails("models", "interleave", 0, "red", *here, says="cannot be compared with itself")
    fails("models", "use", "x", *here, says="not a valid integer", code=2)
    fails("models", "export", 0, tmp_path / "no" / "m.json", *here, says="no")
    assert records("models", "list", *here) == []
    assert records("models", "preferences", *here) == []


# concepts ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_concepts_are_trained_ranked_searched_and_dropped(place, original):
    here = ("-c", place)
    kinds = {one.id: Path(one.path).parent.name for one in original.items()}
    red = [item for item, kind in kinds.items() if kind == "red_things"]
    first = original.items([red[0]])[0].path
    right = [word for item in red[1:9] for word in ("-p", item)]
    wrong = [word for item, kind in kinds.items() if kind == "blue_things" for word in ("-n", item)]
    (made,) = records("concepts", "train", "red", *here, "-p", first, *right, *wrong, "--method", "linear")
    assert (made["name"], made["method"], made["n_positive"]) == ("red", "linear", 9)
    (listed,) = records("concepts", "list", *here)
    assert listed == made
    assert listed == json.loads(json.dumps(python(place, lambda engine: engine.concepts()[0]._asdict())))
    assert "linear" in rankloom("concepts", "list", *here).stdout

    ranked = records("concepts", "rank", "red", *here, "-k", 8)
    expected = python(place, lambda engine: engine.rank_concept("red", 8))
    assert [one["id"] for one in ranked] == (expected.rows + 1).tolist()
    assert [one["score"] for one in ranked] == expected.scores.tolist()
    assert sum(kinds[one["id"]] == "red_things" for one in ranked) >= 6
    result = rankloom("concepts", "rank", "red", *here, "-k", 3)
    assert "outputs of models were computed" in result.stderr

    found = records("search", "--concept", "red", *here, "-k", N)
    assert found == plain(python(place, lambda engine: engine.search(Query(concept="red"), N)))
    mixed = records("search", "sea", "--item", 30, "--concept", "red", *here, "--explain")
    query = Query("sea", (Example(item=30),), concept="red")
    assert mixed == plain(python(place, lambda engine: engine.search(query, options=SearchOptions(explain=True))))
    assert any("concept.red" in one["why"] for one in mixed)
    fails("search", *here, "--concept", "blue", says="there is no concept 'blue'; known are red")

    assert rankloom("concepts", "drop", "red", *here).stdout == "red is forgotten\n"
    assert records("concepts", "list", *here) == []
    for command in ("rank", "drop"):
        fails("concepts", command, "red", *here, says="there is no concept 'red'; known are none")


def test_bad_concepts(place):
    here = ("-c", place)
    fails("concepts", "train", "red", *here, says="Missing option", code=2)
    fails("concepts", "train", "red", *here, "-p", 999, "-p", 2, says="there is no item 999")
    fails("concepts", "train", "red", *here, "-p", "none.jpg", says="none.jpg is not in the collection; index it first")
    fails("concepts", "train", "a/b", *here, "-p", 1, "-p", 2, says="letters, digits, spaces")
    fails("concepts", "train", "red", *here, "-p", 1, "-p", 2, "-p", 3, "--method", "nope", says="nope")
    assert records("concepts", "list", *here) == []


# Trials --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_evaluate_collection_is_that_of_python(original, pictures, tmp_path):
    folder, labels = original.folder, pictures / "labels.csv"
    words = ("--queries", 16, "--folds", 4, "--set", "nu=0.5", "--ranker", "rlr")
    (found,) = records("evaluate-collection", folder, "--labels", labels, *words, "-o", tmp_path / "q.json")
    data = load_labeled(folder, labels)
    assert (found["items"], found["experts"]) == (len(data), len(data.experts)) == (N, len(data.experts))
    for kind in ("seen", "unseen"):
        options = {"n_queries": 16, "folds": 4, "unseen": kind == "unseen"}
        expected = evaluate_collection(data, {"rlr": make_ranker("rlr", nu=0.5)}, **options).to_dict()
        assert found[kind] == json.loads(json.dumps(expected))
    assert json.loads((tmp_path / "q.json").read_text()) == found

    plain_words = ("--no-diffusion", "--classes", "--preset", "paper36", "--ranker", "uniform", "--queries", 10)
    said = rankloom("evaluate-collection", folder, "--labels", labels, *plain_words, "--folds", 2).stdout
    assert said.startswith(f"{N} items, {len(data.experts)} experts, 10 queries")
    assert "+ neighbours" not in said
    assert "grey_things" in said


def test_bad_trials(original, pictures, tmp_path):
    folder, labels = original.folder, pictures / "labels.csv"
    few = ("--queries", 10, "--folds", 2, "--no-diffusion")
    fails("evaluate-collection", folder, says="Missing option '--labels'", code=2)
    fails("evaluate-collection", tmp_path / "none", "--labels", labels, says="does not exist", code=2)
    fails("evaluate-collection", folder, "--labels", tmp_path / "none.csv", says="none.csv: no such file or folder")
    fails("evaluate-collection", folder, "--labels", labels, "--column", "nope", says="needs the columns path and nope")
    fails("evaluate-collection", folder, "--labels", labels, "--preset", "nope", *few, says="unknown preset 'nope'")
    fails(
        "evaluate-collection", folder, "--labels", labels, "--preset", "full", *few, says="rankloom index --preset full"
    )
    fails("evaluate-collection", folder, "--labels", labels, "--ranker", "nope", *few, says="unknown ranker 'nope'")
    fails("evaluate-collection", folder, "--labels", labels, "--set", "nope=1", *few, says="nope")
    fails(
        "evaluate-collection", folder, "--labels", labels, "--column", "other", "--ranker", "uniform", *few,
        says="1 classes cannot be split into 2 folds of unseen classes",
    )  # fmt: skip
    (tmp_path / "labels.csv").write_text("path,class\nnowhere.png,x\n")
    fails("evaluate-collection", folder, "--labels", tmp_path / "labels.csv", says="none of the files of")
    fails("simulate", says="give DATA", code=2)
    fails("simulate", "--data", folder, says="--data needs --labels", code=2)
    fails("simulate", "--data", folder, "--labels", tmp_path / "none.csv", says="none.csv: no such file or folder")
    fails("simulate", "--data", pictures, "--labels", labels, says="is not a collection; index it first")


def test_an_error_is_the_last_line_after_those_of_progress(original, pictures):
    few = ("--queries", 10, "--folds", 2, "--no-diffusion", "--column", "other", "--ranker", "uniform")
    asked = ("evaluate-collection", original.folder, "--labels", pictures / "labels.csv", *few)
    *progress, error = invoke(*asked, pace=0.0).stderr.splitlines()
    assert progress
    assert error.startswith("Error: 1 classes cannot be split")


@pytest.mark.slow
def test_simulated_users_are_those_of_python(original, pictures, tmp_path):
    folder, labels = original.folder, pictures / "labels.csv"
    words = ("--data", folder, "--labels", labels, "--users", 8, "--rounds", 2, "--per-round", 5, "--noise", 0.1)
    found = records("simulate", *words, "--seed", 2, "-o", tmp_path / "users.json", "--plot", tmp_path / "users.png")
    data = load_labeled(folder, labels)
    expected = simulate_users(
        data, learned_weights(data, random_state=3), n_queries=8, rounds=2, per_round=5, noise=0.1, random_state=2
    )
    assert {one["strategy"]: one["AP"] for one in found} == {name: expected.mean(name) for name in expected.values}
    document = json.loads((tmp_path / "users.json").read_text())
    assert document == json.loads(json.dumps(expected.to_dict()))
    assert [one["interval"] for one in found] == [one["interval"] for one in document.values()]
    assert (tmp_path / "users.png").read_bytes()[1:4] == b"PNG"
    said = rankloom("simulate", *words).stdout
    assert f"{N} items, 8 users, 10% of marks wrong" in said
    assert "after 10 marks" in said


# The demonstration ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_demo_ends_by_itself_only_where_there_is_no_terminal():
    asked = [sys.executable, "-c", "from rankloom.cli.demo import _attended; print(_attended())"]
    nowhere = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "check": True}
    assert subprocess.run(asked, stdout=subprocess.PIPE, **nowhere).stdout == "False\n"
    terminal, other = pty.openpty()
    try:
        subprocess.run(asked, stdout=other, **nowhere)
        assert os.read(terminal, 100).strip() == b"True"
    finally:
        os.close(terminal)
        os.close(other)


@pytest.mark.slow
def test_the_demonstration(tmp_path):
    """With pictures that are there already: drawing the least number of them takes longer than all the rest."""
    pictures = write_pictures(tmp_path / "pictures", 2)
    with open(pictures / "labels.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "label"])
        for path in sorted(pictures.rglob("*.png")):
            rows.writerow([path.relative_to(pictures), "lighthouse" if path.parent.name == "red_things" else "thing"])
    said = rankloom("demo", "--no-serve", "--folder", tmp_path).stdout
    assert "8 pictures and shots described" in said
    for title in ('Words: "sunset boat"', "A picture of a lighthouse (00000.png)", "Both: that picture"):
        assert title in said
    assert '2 of the first 20 results for "sea" showed a lighthouse' in said  # words rank all eight pictures
    assert "others wrong, 2 do." in said
    assert said.splitlines()[-1].endswith(f"serve -c {tmp_path / 'collection'}")
    with Collection(tmp_path / "collection") as opened:
        assert len(opened) == 8
        assert Engine(opened).marks() == []  # taken back
        assert Engine(opened).graph_ready
    again = rankloom("demo", "--no-serve", "--folder", tmp_path).stdout
    assert again.splitlines()[4:] == said.splitlines()[4:]  # below the seconds that it took
    fails("demo", "--no-serve", "--folder", tmp_path, "--pictures", 3, says="is not in the range", code=2)
