"""The benchmark of content-aware ranking: features against naive twins, no leak, disjoint parts, sums that agree."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from math import log, sqrt
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom.cli._bench import show
from rankloom.cli.bench_car import car as command
from rankloom.evaluation.metrics import evaluate_queries
from rankloom.experiments.papers import content_aware as car
from rankloom.experiments.papers import content_aware_report as car_report
from rankloom.experiments.papers import flickr8k
from rankloom.experiments.papers.flickr8k import (
    caption_task,
    principal_components,
    read_flickr8k,
    visual_vectors,
    word_task,
)
from rankloom.experiments.papers.flickr8k_text import FEATURES, FINE, VIEWS, CaptionIndex, ManyViews, terms
from rankloom.experiments.papers.sections import car_section
from tests.data import SHARED, needs_shared
from tests.shell import invoke

pytestmark = pytest.mark.slow

WORDS = [
    "ball", "beach", "bike", "boy", "camera", "car", "cat", "dog", "girl", "grass", "hat", "horse", "lake", "mountain",
    "road", "rock", "snow", "tree",
]  # fmt: skip
N_IMAGES = 48


def write_folder(folder: Path) -> Path:
    """A folder with the files of Flickr8k: pictures coloured by their words, and captions that name most of these."""
    random = np.random.RandomState(0)
    (folder / "images").mkdir(parents=True)
    captions, names, shows = [], [], []
    for number in range(N_IMAGES):
        name = f"{number:02d}.png"
        words = random.choice(WORDS, 4, replace=False)
        pixels = random.randint(0, 80, (24, 32, 3))
        for word in words:
            place = WORDS.index(word)
            pixels[:, place % 8 * 4 : place % 8 * 4 + 4, place % 3] += 120
        cv2.imwrite(str(folder / "images" / name), pixels.astype(np.uint8))
        names.append(name)
        shows.append(set(words))
        for caption in range(5):
            said = [word for word in words if random.uniform() < 0.7] + [str(random.choice(WORDS))]
            text = (
                f"A {' and a '.join(said)} ."
                if caption != 2
                else f'The "{said[0]} by a {said[-1]} secret{"x" * number}'
            )
            captions.append((name, caption, text))
    # The fourth caption of the first picture reads like its query, so it may not be indexed either.
    captions[4] = (names[0], 4, captions[2][2].upper())
    lines = ["image\tcaption_no\tcaption", *("\t".join(map(str, row)) for row in captions)]
    (folder / "captions.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ["image,split,width,height", *(f"{name},test,32,24" for name in names)]
    (folder / "images.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    experts = ["image\tcaption_id\texpert1\texpert2\texpert3\tcaption"]
    crowd = ["image\tcaption_id\tfrac_yes\tn_yes\tn_no\tcaption"]
    for query in range(N_IMAGES):
        for image in sorted({query, *random.choice(N_IMAGES, 25, replace=False)}):
            share = len(shows[query] & shows[image])
            if image % 5 == 0:
                experts.append(f"{names[image]}\t{names[query]}#2\t1\t{min(share + 1, 4)}\t4\t-")
            else:
                crowd.append(f"{names[image]}\t{names[query]}#2\t{min(share, 3) / 3}\t0\t0\t-")
    (folder / "expert_judgments.tsv").write_text("\n".join(experts) + "\n", encoding="utf-8")
    (folder / "crowdflower_judgments.tsv").write_text("\n".join(crowd) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module", autouse=True)
def short_grids():
    """Fewer values of gamma and C: what they are is not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(car, "GAMMAS", (0.0, 0.2, 1.0))
        patch.setattr(car, "CS", (0.01, 0.1))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("tiny") / "flickr8k")


@pytest.fixture(scope="module")
def source(folder):
    return read_flickr8k(folder)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def report(source, cache):
    return car.run(source, visual_vectors(source, cache), n_runs=1, n_train=(4, 5), n_validation=3, n_queries=17)


def naive_features(texts: list[list[str]], query: list[str]) -> np.ndarray:
    """The features one number at a time, but for those of expanded queries."""
    n, total = len(texts), sum(map(len, texts))
    mean = total / n
    known = [term for term in dict.fromkeys(query) if any(term in text for text in texts)]
    idf = {}
    for term in {term for text in texts for term in text}:
        holding = sum(term in text for text in texts)
        idf[term] = log(1 + (n - holding + 0.5) / (holding + 0.5))
    rows = []
    for text in texts:
        found = dict.fromkeys(FEATURES, 0.0)
        for term in known:
            times, tf, share = query.count(term), text.count(term), sum(one.count(term) for one in texts) / total
            found["tf"] += times * tf
            found["log tf"] += times * log(1 + tf)
            found["tf / length"] += times * tf / len(text)
            found["coverage"] += times * (tf > 0) / len(query)
            found["sum of idf"] += times * (tf > 0) * idf[term]
            found["largest idf"] = max(found["largest idf"], (tf > 0) * idf[term])
            found["tf-idf"] += times * tf * idf[term]
            for k1, b in ((1.2, 0.75), (2.0, 0.4), (0.5, 0.2)):
                part = tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / mean))
                found[f"BM25 {k1:g} {b:g}"] += times * idf[term] * part
            for kept in (0.1, 0.5, 0.9):
                found[f"LM mixed {kept:g}"] += times * log(kept * tf / len(text) + (1 - kept) * share)
            for mu in (5, 50):
                found[f"LM Dirichlet {mu:g}"] += times * log((tf + mu * share) / (len(text) + mu))
        ours = {term: text.count(term) * idf[term] for term in set(text)}
        theirs = {term: query.count(term) * idf[term] for term in known}
        product = sum(ours.get(term, 0.0) * value for term, value in theirs.items())
        norms = [sqrt(sum(value**2 for value in some.values())) for some in (ours, theirs)]
        found["tf-idf cosine"] = product / (norms[0] * norms[1]) if norms[1] else 0.0
        places = [place for place, term in enumerate(text) if term in query]
        found["earliness"] = 1 - places[0] / len(text) if places else 0.0
        found["length"] = len(text)
        found["exact"] = any(text[i : i + len(query)] == query for i in range(len(text)))
        pairs = {*pairwise(query)}
        common = pairs & {*pairwise(text)}
        found["neighbouring pairs"] = len(common) / len(pairs) if pairs else 0.0
        rows.append(list(found.values()))
    return np.array(rows)


@pytest.mark.parametrize(
    "query", [["dog"], ["dog", "beach"], ["dog", "dog", "cat", "unheard"], ["snow", "tree", "snow"], ["unheard"]]
)
def test_features_are_those_of_a_naive_twin(query):
    random = np.random.RandomState(3)
    texts = [[str(word) for word in random.choice(WORDS, random.randint(1, 9))] for _ in range(40)]
    texts[0] = ["dog", "beach", "cat"]
    found, expected = CaptionIndex(texts).features(query), naive_features(texts, query)
    assert found.shape == (40, len(FEATURES))
    for name, ours, theirs in zip(FEATURES, found.T, expected.T, strict=True):
        if not name.startswith("expanded"):
            np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=name)


def test_expansion_finds_terms_of_the_same_texts():
    texts = [["dog", "run", "run"], ["dog", "run"], ["cat", "sleep"], ["cat", "sit"], ["run"]]
    index = CaptionIndex(texts)
    expansion = index.expansion(["dog"])
    assert set(expansion) == {"dog", "run"}
    assert max(expansion.values()) == 1.0
    expanded = index.features(["dog"])[:, FEATURES.index("expanded")]
    assert expanded[4] > 0 == expanded[2] == expanded[3]  # a related text without the word, and unrelated ones


def test_many_views_are_the_features_of_each_way_to_take_a_text_apart():
    texts = ["Two dogs run on the beach", "A dog in the snow", "The boy has a red ball", "snow"]
    many, query = ManyViews(texts), "dogs in the snow"
    found = many.features(query, np.array([1, 3]))
    assert found.shape == (2, len(many.names)) == (2, 22 + 6 * 43)
    plain = CaptionIndex([terms(text) for text in texts]).features(terms(query), np.array([1, 3]))
    np.testing.assert_array_equal(found[:, : len(FEATURES)], plain)
    place = len(FEATURES)
    for name, view in VIEWS.items():
        expected = CaptionIndex([view(text) for text in texts], FINE).features(view(query), np.array([1, 3]))
        np.testing.assert_array_equal(found[:, place : place + len(FINE.names)], expected, err_msg=name)
        place += len(FINE.names)
    assert VIEWS["letters"]("a dogged cat") == ["dog", "ogg", "gge", "ged", "cat"]
    assert VIEWS["pairs"]("big dogs run") == ["big dog", "dog run"]


def test_boosting_chooses_features_on_the_training_part(source):
    task = word_task(source, np.random.RandomState(0), n_selected=20)
    assert task.data.X.shape[1] == len(ManyViews.names)
    split = car.split_queries(sorted(set(task.data.qid)), 5, 3, np.random.RandomState(0))
    fold = car._Fold(task, split)
    assert 1 <= fold.data.X.shape[1] <= 20
    other = task.data.X.copy()
    held = np.isin(task.data.qid, split.test)
    other[held] = other[held][::-1]
    again = car._Fold(replace(task, data=replace(task.data, X=other)), split)
    np.testing.assert_array_equal(again.part("train").X, fold.part("train").X)


def test_terms():
    assert terms("Two DOGS chase the berries & glass-like buses") == ["dog", "chase", "berry", "glass", "like", "buse"]


def test_text_of_the_folder_is_read(source):
    assert len(source.images) == N_IMAGES
    assert all(sorted(some) == [0, 1, 2, 3, 4] for some in source.captions)
    assert len(source.grades) == N_IMAGES
    for (image, number), grades in source.grades.items():
        assert number == 2
        assert image in grades
        assert set(grades.values()) <= {0, 1, 2, 3}


def draw(source, seed):
    random = np.random.RandomState(seed)
    return [int(random.choice(sorted(some))) for some in source.terms]


def test_grades_of_words_count_the_hidden_captions(source):
    task, shown = word_task(source, np.random.RandomState(5), n_candidates=20), draw(source, 5)
    assert len(set(task.data.qid)) > 10
    for row in range(0, len(task.data), 7):
        image, word = task.image[row], task.data.qid[row]
        captions = source.terms[image]
        others = sum(word in text for number, text in captions.items() if number != shown[image])
        assert task.data.y[row] == min(others, 3)
        assert task.data.X[row, 0] == captions[shown[image]].count(word)


def test_features_of_words_do_not_know_hidden_captions(source):
    """The hidden captions are mixed up among the pictures: grades change, features may not."""
    shown, random = draw(source, 5), np.random.RandomState(0)
    order = random.permutation(N_IMAGES)
    mixed = [
        {number: text if number == shown[i] else source.captions[order[i]][number] for number, text in some.items()}
        for i, some in enumerate(source.captions)
    ]
    tasks = [word_task(one, np.random.RandomState(5)) for one in (source, replace(source, captions=mixed))]
    features = [{(q, i): x for q, i, x in zip(task.data.qid, task.image, task.data.X, strict=True)} for task in tasks]
    common = features[0].keys() & features[1].keys()
    assert len(common) > 100
    assert all((features[0][key] == features[1][key]).all() for key in common)
    grades = [{(q, i): y for q, i, y in zip(t.data.qid, t.image, t.data.y, strict=True)} for t in tasks]
    assert any(grades[0][key] != grades[1][key] for key in common)


def own_coverage(source, texts_or_task):
    """The share of each query's terms that the text of its own picture holds."""
    task = texts_or_task
    own = [query == f"{source.images[image]}#2" for query, image in zip(task.data.qid, task.image, strict=True)]
    assert sum(own) > 30
    return task.data.X[own, FEATURES.index("coverage")]


@pytest.mark.parametrize("seed", range(5))
def test_query_captions_are_hidden(source, seed):
    """Each query holds a word that no other caption has, so a text that covers it all would be the query itself."""
    assert own_coverage(source, caption_task(source, np.random.RandomState(seed))).max() < 1


def test_the_test_of_hidden_captions_can_fail(source, monkeypatch):
    class Leaky(CaptionIndex):
        def __init__(self, texts):
            super().__init__([some[2] for some in source.terms])

    monkeypatch.setattr(flickr8k, "CaptionIndex", Leaky)
    assert own_coverage(source, caption_task(source, np.random.RandomState(0))).min() == pytest.approx(1)


def test_grades_of_captions_are_those_of_people(source):
    task = caption_task(source, np.random.RandomState(0))
    for row in range(0, len(task.data), 11):
        name, _, number = task.data.qid[row].rpartition("#")
        caption = source.images.index(name), int(number)
        assert task.data.y[row] == source.grades[caption][task.image[row]]


def test_parts_are_disjoint():
    queries = [f"q{i}" for i in range(30)]
    split = car.split_queries(queries, 10, 5, np.random.RandomState(0))
    assert [len(part) for part in split] == [10, 5, 5, 10]
    assert sorted(query for part in split for query in part) == sorted(queries)
    with pytest.raises(ValueError, match="leave none of 20"):
        car.split_queries(queries[:20], 10, 5, np.random.RandomState(0))


def test_vectors_are_kept(source, cache):
    first = visual_vectors(source, cache)
    second = visual_vectors(source, cache, progress=pytest.fail)  # nothing is described again
    for name, vectors in first.items():
        assert (vectors == second[name]).all()
        apart = ((vectors[:, None] - vectors) ** 2).sum(axis=2)
        n_blocks = 1 if name == "semantic" else len(flickr8k.CLASSICAL)
        assert apart.mean() == pytest.approx(n_blocks)
        np.testing.assert_allclose(principal_components(vectors, 60) @ principal_components(vectors, 60).T,
                                   vectors @ vectors.T, atol=1e-9)  # fmt: skip


def test_every_setting_and_method_is_measured(report):
    assert len(report.settings) == 2 * 2 * 2
    for measured in report.settings.values():
        assert set(measured.values) == set(measured.params) == set(car_report.METHODS)
        assert set(measured.by_gamma) == set(car.GAMMAS)
        for values in measured.values.values():
            assert values.shape == (len(measured.queries), 20)
            assert np.isfinite(values).all()
            assert (values >= 0).all()
            assert (values <= 1).all()
        assert all(len(params) == 1 for params in measured.params.values())
        assert (measured.values["CAR0"] == measured.by_gamma[0.0]).all()


def test_text_alone_does_not_depend_on_the_graph(report):
    for setting, measured in report.settings.items():
        twin = report.settings[setting._replace(graph="classical")]
        for method in car_report.TEXT:
            assert (measured.values[method] == twin.values[method]).all()
    semantic, classical = (report.settings[car_report.Setting("words", name, 5)] for name in ("semantic", "classical"))
    assert any((semantic.values[method] != classical.values[method]).any() for method in car_report.RERANKED)


def test_bm25_is_what_its_feature_says(source, report):
    measured = report.settings[car_report.Setting("words", "semantic", 4)]
    seed = int(np.random.RandomState(0).randint(2**31, size=1)[0])
    task = word_task(source, np.random.RandomState(seed))
    test = np.isin(task.data.qid, measured.queries)
    scores = task.data.X[test, FEATURES.index("BM25 1.2 0.75")]
    values = evaluate_queries(task.data.y[test], scores, task.data.qid[test], ["nDCG@10"], car.POLICY)
    expected = dict(zip(values.qids, values.values["nDCG@10"], strict=True))
    np.testing.assert_allclose(measured.values["BM25"][:, 9], [expected[query] for query in measured.queries])


def test_a_query_counts_once_however_many_runs_tested_it():
    def tested(queries, value):
        values = np.full((len(queries), 20), value)
        return car._Tested(queries, dict.fromkeys(car_report.METHODS, values), dict.fromkeys(car.GAMMAS, values),
                           {method: {"C": value} for method in car_report.METHODS})  # fmt: skip

    found = car._joined([tested(["b", "a"], 0.2), tested(["b", "c"], 0.6)])
    assert found.queries == ["a", "b", "c"]
    assert found.values["CAR"][:, 9] == pytest.approx([0.2, 0.4, 0.6])
    assert found.by_gamma[1.0][:, 0] == pytest.approx([0.2, 0.4, 0.6])
    assert found.params["CAR"] == [{"C": 0.2}, {"C": 0.6}]


def test_best_counts_add_up(report):
    for measured in report.settings.values():
        for methods in (car_report.PAPER_METHODS, car_report.METHODS):
            counts = measured.best_counts(methods)
            assert set(counts) == {*methods, "tied"}
            assert [sum(column) for column in zip(*counts.values(), strict=True)] == [len(measured.queries)] * 5


def test_best_counts_of_known_values():
    values = {"a": np.tile([[0.5], [0.2], [0.9]], 20), "b": np.tile([[0.5], [0.3], [0.1]], 20)}
    measured = car_report.SettingResult(["x", "y", "z"], values, {}, {})
    assert measured.best_counts(["a", "b"]) == {"a": [1] * 5, "b": [1] * 5, "tied": [1] * 5}


def test_gains_and_verdicts_agree(report):
    for setting, gain in car_report.verdicts(report):
        measured = report.settings[setting]
        ours, theirs = measured.values["CAR"][:, 9], measured.values[gain.other][:, 9]
        assert gain.difference == pytest.approx((ours - theirs).mean())
        assert (gain.wins, gain.losses) == ((ours > theirs + 1e-12).sum(), (ours < theirs - 1e-12).sum())
        assert gain.p <= gain.holm
    setting = next(iter(report.settings))
    rows = report.gains(setting, "ListNet", 5)
    assert [gain.method for gain in rows] == [method for method in car_report.METHODS if method != "ListNet"]
    base = report.settings[setting].mean("ListNet")[4]
    assert all(gain.value == pytest.approx(base + gain.difference) for gain in rows)


def test_report_is_plain(report):
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert len(plain["settings"]) == len(report.settings)
    assert plain["paper"]["nDCG"]["50"]["1"]["CAR"] == 0.4913
    assert all(np.isfinite(finding.found) for finding in car_report.findings(report))


def test_gains_beside_those_of_the_paper_are_plain_and_notable(report):
    settings = {setting._replace(n_train=50): one for setting, one in report.settings.items() if setting.n_train == 4}
    found = [one for one in car_report.findings(car_report.CarReport(1, settings)) if one.paper is not None]
    plain = json.loads(json.dumps([one._asdict() for one in found]))
    for one in plain:
        notable = abs(one["paper"]) >= 0.01
        same = one["found"] * np.sign(one["paper"]) >= 0.01
        assert one["holds"] == (bool(same) if notable else None)
    assert None in {one["holds"] for one in plain}  # nDCG@20 of ListNet-BR


def test_gains_of_the_paper_are_those_it_prints():
    printed = {50: (0.1692, 0.0868, 0.0506, 0.0327), 100: (0.1286, 0.0990, 0.0500, 0.0215)}
    for size, gains in printed.items():
        for (depth, row), gain in zip(car_report.PAPER["nDCG"][size].items(), gains, strict=True):
            assert row["CAR"] / row["ListNet"] - 1 == pytest.approx(gain, abs=1e-4), depth


def test_command(folder, cache, tmp_path):
    out = tmp_path / "out"
    options = ["--data", str(folder), "--cache", str(cache), "--quick", "--train", "4", "--validation", "3"]
    found = invoke(*options, "-o", str(out), "--json", command=command)
    assert found.exit_code == 0, found.output
    findings = [json.loads(line) for line in found.stdout.splitlines()]
    assert any(finding["what"] == "words, semantic graph, 4 queries: gain of CAR over ListNet, nDCG@10"
               for finding in findings)  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == [
        "car-against.png", "car-best.png", "car-curves.png", "car-gamma.png", "car.json",
    ]  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in out.iterdir())


def test_tables(report, capsys):
    show(car_section(report), False, None)
    printed = capsys.readouterr().out
    assert "captions, classical graph, 4 queries" in printed
    assert "ListNet-BR" in printed
    assert "The same text model, reranked" in printed


def test_missing_files_are_named(folder, tmp_path):
    with pytest.raises(ValueError, match=r"has no captions\.tsv; --data names the folder of Flickr8k"):
        read_flickr8k(tmp_path)
    for name in flickr8k.FILES[:-1]:
        (tmp_path / name).write_text("nothing\n", encoding="utf-8")
    (tmp_path / "images").mkdir()
    with pytest.raises(ValueError, match=r"images\.csv has no column 'image'"):
        read_flickr8k(tmp_path)


@needs_shared
@pytest.mark.shared
def test_flickr8k_is_as_measured():
    """Nothing is learned here: both tasks with BM25."""
    source = read_flickr8k(SHARED / "imagetext-flickr8k")
    assert (len(source.images), len(source.grades)) == (2000, 1000)
    for make, n_queries in ((word_task, 340), (caption_task, 900)):
        data = make(source, np.random.RandomState(0)).data
        assert len(set(data.qid)) > n_queries
        scores = data.X[:, FEATURES.index("BM25 1.2 0.75")]
        found = evaluate_queries(data.y, scores, data.qid, ["nDCG@10"], car.POLICY).values["nDCG@10"].mean()
        assert 0.46 < found < 0.54
