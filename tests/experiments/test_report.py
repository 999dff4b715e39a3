"""One report of all papers: what is kept, and what the two files hold."""

from html.parser import HTMLParser

import pytest

from rankloom.experiments.papers import Finding, cascade, cascade_plots, everything, margin, online, online_plots
from rankloom.experiments.papers.report import Section, Table, html, markdown
from tests.shell import rankloom

STEP_FIGURES = (cascade_plots.FIGURES, online_plots.FIGURES)

SECTION = Section(
    "A paper", "A. Author, <Title>, 2009.", "Data: few | generated.",
    (Finding("a ratio", 1.23456, 2.0, True), Finding("b", 3, None), Finding("c", 0.5, 1.0, False)),
    (Table("All", ("method", "MAP"), (("one & two", ".5"),)),
     Table("More", ("a", "b"), (("c", "d"),), folded=True)), (("a/figure.png", "what it shows"),),
    ("c is less, for <reasons>.",), (("MAP", ".4", ".5", ".6 (ours)"),),
    (Finding("a detail", 7.5, None),),
)  # fmt: skip


class Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.images = [], []

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.images.append(dict(attributes))


def test_a_section_survives_json():
    assert Section.from_dict(SECTION.to_dict()) == SECTION


def test_markdown_and_html_hold_the_same(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "figure.png").write_bytes(b"picture")
    text = markdown("Title", "Intro.", [SECTION])
    assert "| A paper | 1 of 2 |" in text
    assert "| MAP | .4 | .5 | .6 (ours) |" in text
    assert "| a ratio | 1.235 | 2 | yes |" in text
    assert "| b | 3 |  |  |" in text
    assert "| c | 0.5 | 1 | no |" in text
    assert "* c is less, for <reasons>." in text
    assert "![what it shows](a/figure.png)" in text
    page = Texts()
    page.feed(html("Title", "Intro.", [SECTION], tmp_path))
    assert {
        "A paper",
        "A. Author, <Title>, 2009.",
        "a ratio",
        "1.235",
        "one & two",
        ".5",
        "1 of 2 conclusions appear",
        ".6 (ours)",
        "c is less, for <reasons>.",
    } <= {*page.texts}
    assert [image["alt"] for image in page.images] == ["what it shows"]
    assert page.images[0]["src"].startswith("data:image/png;base64,")


def test_a_step_is_measured_once_for_the_same_data(tmp_path, monkeypatch):
    measured = []

    def step(job, say):
        say("works")
        measured.append(job.data)
        return [Section("A step", "citation", f"{len(measured)}")]

    def killed(job, say):
        raise KeyboardInterrupt

    monkeypatch.setattr(everything, "STEPS", {"first": step, "second": killed})
    data = tmp_path / "data"
    data.mkdir()
    job = everything.Job(data, True, tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        everything.run(job)
    monkeypatch.setattr(everything, "STEPS", {"first": step, "second": step})
    texts = []
    sections = everything.run(job, lambda name, text: texts.append((name, text)))
    assert [section.about for section in sections] == ["1", "2"]
    assert texts == [("second", "begins, about 0 min left"), ("second", "works, about 0 min left")]
    assert "A step" in (tmp_path / "out" / "report.html").read_text()
    (data / "more.txt").write_text("more")
    everything.run(job)
    assert len(measured) == 4
    everything.run(job)
    assert len(measured) == 4
    (data / "more.txt").write_text("else")  # as long, from the same second
    everything.run(job)
    assert len(measured) == 6


def test_a_step_depends_on_its_own_folders(tmp_path, monkeypatch):
    measured = []

    def step(job, say):
        measured.append(say)
        return [Section("A step", "citation", "")]

    monkeypatch.setattr(everything, "STEPS", {"letor": step})
    (tmp_path / "data" / "a" / "Fold1").mkdir(parents=True)
    job = everything.Job(tmp_path / "data", True, tmp_path / "out")
    everything.run(job)
    (tmp_path / "data" / "b").mkdir()
    (tmp_path / "data" / "b" / "labels.csv").write_text("path,class")
    everything.run(job)
    assert len(measured) == 1
    (tmp_path / "data" / "a" / "Fold1" / "train.txt").write_text("1 qid:1 1:1")
    everything.run(job)
    assert len(measured) == 2


def test_without_its_data_a_paper_says_so(tmp_path):
    (section,) = everything.car(everything.Job(None, True, tmp_path), lambda text: None)
    assert section.about.startswith("Not measured")


def test_data_are_known_by_their_form(tmp_path):
    for name in ("a/Fold1", "b/Fold1", "c/images", "d/images"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("c/captions.tsv", "d/captions.tsv", "d/crowdflower_judgments.tsv", "e.csv"):
        (tmp_path / name).write_text("")
    job = everything.Job(tmp_path, False, tmp_path / "out")
    assert [folder.name for folder in job.folders("Fold1")] == ["a", "b"]
    assert job.captioned().name == "c"
    assert job.captioned("crowdflower_judgments.tsv").name == "d"
    assert job.folders("labels.csv") == []
    assert everything.Job(None, False, tmp_path).captioned() is None


def test_what_is_left_follows_the_pace():
    pace = everything.Pace(["letor", "rlr", "car"])
    letor, rlr, car = (everything.MINUTES[name] for name in ("letor", "rlr", "car"))
    pace.begin("letor", 100.0)
    assert pace.left(100.25) == pytest.approx(letor - 0.25 + rlr + car)
    pace.begin("rlr", 100.0 + 2 * letor)  # twice as slow as told
    slower = (2 * letor + pace.TRUST) / (letor + pace.TRUST)
    assert 1 < slower < 2
    assert pace.left(100.0 + 2 * letor) == pytest.approx(slower * (rlr + car))
    assert pace.left(1e6) == pytest.approx(slower * car)


@pytest.mark.slow
def test_a_quick_report_has_every_paper(tmp_path):
    out = tmp_path / "report"
    shown = rankloom("bench", "all", "--quick", "--out", str(out))
    assert shown.exit_code == 0, shown.output
    text = (out / "report.md").read_text()
    for title in ("Learning to rank on features", "Ranking logistic regression: generated", "its theorems, counted",
                  "Content-aware ranking", "Imbalanced RankBoost", "Online learning to rank"):  # fmt: skip
        assert title in text
    assert "| Theorem 1: RLR, a shift for each query | 0 | 40 | yes |" in text
    for name in (*online.METHODS, *cascade.METHODS, *margin.METHODS):
        assert f"| {name} |" in text
    page = Texts()
    page.feed((out / "report.html").read_text())
    figures = [file for section in STEP_FIGURES for file in section]
    assert len(page.images) == len(figures)
    again = rankloom("bench", "all", "--quick", "--out", str(out))
    assert "left" not in again.stderr  # everything was kept
