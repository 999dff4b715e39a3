"""One report of all papers: what is kept, and what the two files hold."""

from html.parser import HTMLParser

import pytest

from rankloom.experiments.papers import Finding, everything
from rankloom.experiments.papers.report import Section, Table, html, markdown

SECTION = Section(
    "A paper", "A. Author, <Title>, 2009.", "Data: few | generated.",
    (Finding("a ratio", 1.23456, 2.0), Finding("b", 3, None)),
    (Table("All", ("method", "MAP"), (("one & two", ".5"),)),), (("a/figure.png", "what it shows"),),
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
    assert "| a ratio | 1.235 | 2 |" in text
    assert "| b | 3 |  |" in text
    assert "![what it shows](a/figure.png)" in text
    page = Texts()
    page.feed(html("Title", "Intro.", [SECTION], tmp_path))
    assert {"A paper", "A. Author, <Title>, 2009.", "a ratio", "1.235", "one & two", ".5"} <= {*page.texts}
    assert [image["alt"] for image in page.images] == ["what it shows"]
    assert page.images[0]["src"].startswith("data:image/png;base64,")


def test_a_step_is_measured_once_for_the_same_data(tmp_path, monkeypatch):
    measured = []

    def step(job, say):
        say("works")
        measured.append(job.data)
        return Section("A step", "citation", f"{len(measured)}")

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
    assert texts == [("second", "begins"), ("second", "works")]
    assert "A step" in (tmp_path / "out" / "report.html").read_text()
    (data / "more.txt").write_text("more")
    everything.run(job)
    assert len(measured) == 4


def test_without_its_data_a_paper_says_so(tmp_path):
    section = everything.car(everything.Job(None, True, tmp_path), lambda text: None)
    assert section.about.startswith("Not measured")
