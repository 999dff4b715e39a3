"""Marks and results as files: the shell and the page write the same, other programs read it, and it comes back."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil

import pytest
import pytrec_eval

from rankloom.collection import Captions, Collection, Mark, add_marks, export_items, export_marks, index
from rankloom.collection.export import csv_text
from rankloom.collection.query import Query
from rankloom.datasets.trec import qid_from_trec, qid_to_trec, read_qrels, read_run
from rankloom.engine import Engine
from tests.archives import make, write_pictures
from tests.building import copy_folder
from tests.serving import client
from tests.shell import rankloom

TEXTS = ("red boat", "100% sea", "%20 %zz", "灯台 と 海", "naïve\u00a0house", "a\u3000b", "=1+1", "#x 0 1")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("pictures"), 4)


@pytest.fixture(scope="module")
def made(pictures, tmp_path_factory):
    return make(tmp_path_factory.mktemp("made") / "c", pictures)


@pytest.fixture
def folder(made, tmp_path):
    return copy_folder(made, tmp_path / "c")


def mark_all(folder, user=""):
    """Marks of queries whose names are hard to write; returns them as they stand."""
    with Collection(folder) as collection:
        engine = Engine(collection)
        for text in TEXTS:
            engine.feedback(Query(text), [Mark(1, 1.0), Mark(2, 0.0), Mark(3, 2.0)], user)
        return {(mark.qid, mark.item, mark.grade) for mark in engine.marks(user=user)}


def forget_all(folder):
    with Collection(folder) as collection:
        engine = Engine(collection)
        for mark in engine.marks():
            engine.undo(mark=mark.id)
        assert engine.marks() == []


def standing(folder):
    with Collection(folder) as collection:
        return {(mark.qid, mark.item, mark.grade) for mark in Engine(collection).marks()}


@pytest.mark.parametrize("text", [*TEXTS, "\x00nul", "\ud800", "🙂🚤"])
def test_queries_are_one_word_and_come_back(text):
    word = qid_to_trec(text)
    assert word.split() == [word]
    assert word.encode().split() == [word.encode()]
    assert qid_from_trec(word) == text


@pytest.mark.slow
def test_marks_of_the_shell_come_back(folder, tmp_path):
    marks = mark_all(folder)
    rankloom("export", tmp_path / "qrels.txt", "--marks", "-c", folder)
    with open(tmp_path / "qrels.txt", encoding="utf-8") as file:
        theirs = pytrec_eval.parse_qrel(file)
    assert {
        (qid_from_trec(qid), int(item), grade) for qid, items in theirs.items() for item, grade in items.items()
    } == {(qid, item, int(grade)) for qid, item, grade in marks}
    forget_all(folder)
    rankloom("feedback", "--import", tmp_path / "qrels.txt", "-c", folder)
    assert standing(folder) == marks


def test_marks_of_the_page_come_back(folder, tmp_path):
    with client(folder) as web:
        for text in TEXTS:
            marks = [{"item": 1, "grade": 0}, {"item": 1, "grade": 1}, {"item": 2, "grade": 0}]
            assert web.post("/api/feedback", json={"query": {"text": text}, "marks": marks}).status_code == 200
        written = web.post("/api/export", json={"what": "marks", "format": "trec"}).text
        one = web.post("/api/export", json={"what": "marks", "format": "trec", "query": {"text": TEXTS[0]}}).text
    assert one.splitlines() == [f"{qid_to_trec(TEXTS[0])} 0 1 1", f"{qid_to_trec(TEXTS[0])} 0 2 0"]
    (tmp_path / "page.txt").write_text(written, encoding="utf-8")
    with Collection(folder) as collection:
        export_marks(collection, tmp_path / "shell.txt")
    assert (tmp_path / "shell.txt").read_text(encoding="utf-8") == written
    assert len(pytrec_eval.parse_qrel(written.splitlines())) == len(TEXTS)
    forget_all(folder)
    rankloom("feedback", "--import", tmp_path / "page.txt", "-c", folder)
    queries = {" ".join(text.split()) for text in TEXTS}
    assert standing(folder) == {(qid, item, float(item == 1)) for qid in queries for item in (1, 2)}


def test_results_of_the_page_as_a_run(folder, tmp_path):
    query = {"text": "red boat"}
    with client(folder) as web:
        hits = web.post("/api/search", json={"query": query}).json()["hits"]
        written = web.post("/api/export", json={"query": query, "format": "trec"}).text
        listed = {"query": {"filters": {"kind": "picture"}}}
        assert "TREC run needs scores" in web.post("/api/export", json={**listed, "format": "trec"}).json()["error"]
        assert web.post("/api/export", json={**listed, "format": "csv"}).text.count("\n") == 17
    (tmp_path / "run.txt").write_text(written, encoding="utf-8")
    ((qid, run),) = read_run(tmp_path / "run.txt").items()
    assert qid_from_trec(qid) == "red boat"
    assert {(hit.id, hit.score) for hit in run} == {(str(hit["id"]), hit["score"]) for hit in hits}
    assert pytrec_eval.parse_run(written.splitlines())[qid]


def test_two_users_who_judge_one_item(folder, tmp_path):
    with Collection(folder) as collection:
        engine = Engine(collection)
        engine.feedback(Query("boat"), [Mark(1, 1.0), Mark(2, 0.0)], "anna")
        engine.feedback(Query("boat"), [Mark(1, 0.0), Mark(3, 1.0, 4)], "bert")
    ran = rankloom("export", tmp_path / "qrels.txt", "--marks", "-c", folder)
    assert [(qrel.id, qrel.grade) for qrel in read_qrels(tmp_path / "qrels.txt")] == [("1", 0.0), ("2", 0.0)]
    assert ran.stdout == f"2 marks -> {tmp_path / 'qrels.txt'}\n"
    assert "1 of these are merged from several users, who differ on 1: the grade that most gave" in ran.stderr
    ran = rankloom("export", tmp_path / "qrels.txt", "--marks", "--json", "-c", folder)
    counts = {"marks": 2, "left_out": 1, "merged": 1, "disputed": 1}
    assert json.loads(ran.stdout) == {**counts, "output": str(tmp_path / "qrels.txt")}
    rankloom("export", tmp_path / "anna.txt", "--marks", "--user", "anna", "-c", folder)
    assert [(qrel.id, qrel.grade) for qrel in read_qrels(tmp_path / "anna.txt")] == [("1", 1.0), ("2", 0.0)]
    ran = rankloom("export", tmp_path / "bert.txt", "--marks", "--user", "bert", "-c", folder)
    assert "1 preferences left out" in ran.stderr
    rankloom("export", tmp_path / "marks.csv", "--marks", "-c", folder)
    with open(tmp_path / "marks.csv", newline="", encoding="utf-8") as file:
        rows = [(row["user"], row["item"], row["grade"], row["over"]) for row in csv.DictReader(file)]
    assert rows == [
        ("anna", "1", "1.0", ""), ("anna", "2", "0.0", ""), ("bert", "1", "0.0", ""), ("bert", "3", "1.0", "4"),
    ]  # fmt: skip
    rankloom("export", tmp_path / "items.csv", "--user", "anna", "-c", folder, code=2)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("a", 1.0), ("b", 1.0), ("c", 0.0)], 1.0),  # two of three
        ([("a", 1.0), ("b", 0.0)], 0.0),  # the latest of two that are equally frequent
        ([("a", 2.0), ("b", 0.0), ("c", 1.0), ("c", 2.0)], 2.0),  # a user has one vote, the last
        ([("a", 2.0), ("b", 2.0), ("c", 0.0), ("", 0.0), ("d", 1.0)], 0.0),  # the latest of the most frequent
    ],
)
def test_the_grade_of_most_users(folder, tmp_path, given, expected):
    with Collection(folder) as collection:
        for user, grade in given:
            add_marks(collection, "boat", [Mark(1, grade)], user)
        counts = export_marks(collection, tmp_path / "qrels.txt")
        alone = export_marks(collection, tmp_path / "one.txt", "a")
    assert read_qrels(tmp_path / "qrels.txt") == [("boat", "1", expected)]
    assert counts == (1, 0, 1, 1)
    assert alone == (1, 0, 0, 0)


@pytest.mark.slow
def test_no_text_is_a_formula(pictures, tmp_path):
    first = sorted(pictures.rglob("*.png"))[0]
    (tmp_path / "p").mkdir()
    shutil.copy(first, tmp_path / "p" / "=1+1 boat.png")
    (tmp_path / "captions.csv").write_text(f"path,caption\n{tmp_path / 'p' / '=1+1 boat.png'},@boat\n")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [tmp_path / "p"], workers=0, captions=Captions(str(tmp_path / "captions.csv")))
        Engine(collection).feedback(Query("=1+1 boat"), [Mark(1, 1.0)])
        for name in ("items.csv", "items.tsv"):
            export_items(collection, tmp_path / name)
        export_marks(collection, tmp_path / "marks.csv")
    files = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("items.csv", "items.tsv", "marks.csv")}
    with client(tmp_path / "c") as web:
        web.post("/api/feedback", json={"query": {"text": "=1+1 boat"}, "marks": [{"item": 1}]})
        files["page marks"] = web.post("/api/export", json={"what": "marks", "format": "csv"}).text
        files["page results"] = web.post("/api/export", json={"query": {"text": "boat"}, "format": "csv"}).text
    for name, text in files.items():
        delimiter = "\t" if name.endswith(".tsv") else ","
        cells = [cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row]
        assert len(cells) > 10
        cells = [cell for cell in cells if not re.fullmatch(r"-[0-9.e-]+", cell)]  # scores may be negative
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        if not name.startswith("items"):  # what those begin with is a path, or the words of a name
            assert "'=1+1 boat" in {cell.removesuffix(".png") for cell in cells}


@pytest.mark.slow
def test_results_are_exported_as_they_were_searched(folder):
    query = {"examples": [{"item": 1}]}
    options = ({"diffusion": False}, {"method": "smooth"}, {"collapse": True}, {"diversity": 0.7}, {})
    with client(folder) as web:
        orders = []
        for option in options:
            hits = web.post("/api/search", json={"query": query, **option}).json()["hits"]
            body = {"query": query, **option}
            written = web.post("/api/export", json={**body, "format": "json"}).json()["results"]
            assert [(hit["id"], hit["score"]) for hit in written] == [(hit["id"], hit["score"]) for hit in hits]
            run = pytrec_eval.parse_run(web.post("/api/export", json={**body, "format": "trec"}).text.splitlines())
            ((_, scores),) = run.items()
            ranked = sorted(scores, key=lambda item: -scores[item])
            assert ranked == [str(hit["id"]) for hit in hits]
            orders.append(tuple((hit["id"], round(hit["score"], 6)) for hit in hits))
    assert len({*orders}) >= 3  # the options matter here


@pytest.mark.parametrize("sign", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_whatever_a_formula_begins_with(sign):
    rows = [{"text": f"{sign}1", "n": -1}, {"text": f"boat\r {sign}1", "n": -2}]
    written = [*csv.DictReader(io.StringIO(csv_text(rows, ("text", "n")), newline=""))]
    sign = sign.replace("\r", "\n")
    assert written == [{"text": f"'{sign}1", "n": "-1"}, {"text": f"boat\n {sign}1", "n": "-2"}]
