"""All papers in one run: each step is measured once, kept by what it depends on, and becomes a part of a report."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from rankloom._io import atomic_write
from rankloom.descriptors import CLASSICAL, PRESETS
from rankloom.experiments.labeled import LabeledCollection, load_labeled, load_unlabeled
from rankloom.experiments.papers import (
    cascade,
    cascade_plots,
    content_aware,
    content_aware_plots,
    content_aware_report,
    letor4,
    margin,
    online,
    online_plots,
    sections,
)
from rankloom.experiments.papers.cascade_concepts import concepts_of
from rankloom.experiments.papers.flickr8k import read_flickr8k, visual_vectors
from rankloom.experiments.papers.margin_captions import IMAGES, TABLE, captioned
from rankloom.experiments.papers.margin_films import filmed
from rankloom.experiments.papers.report import Figures, Section, html, markdown
from rankloom.model_selection.selection import Fold, compare_folds, query_folds, read_folds

TITLE = "Four papers, measured again"
INTRO = (
    "What each paper reports, what we get with its methods, and what we add. Where its data are not public, others "
    "stand in their place, so that shapes can be compared and not digits; each section says which."
)
MACHINES = 15  # of each descriptor: 210 for a concept, where the paper has 200
QUERIES = 50  # words of captions
Say = Callable[[str], None]
_RANKERS = (
    "uniform", "best", "nb", "lr", "rlr", "frlr", "ranksvm", "rankboost", "listnet", "ranknet", "coordascent",
    "opr", "opar1", "opar2", "ogdr", "arow", "lambdamart",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """What the steps work with: a folder of folders of data (None: generated), whether little is enough, and where to.

    Data are known by their form: `Fold1` for LETOR, `labels.csv` for pictures with classes, `captions.tsv` and `images`
    for captioned ones, and `crowdflower_judgments.tsv` where captions were judged for pictures.
    """

    data: Path | None
    quick: bool
    out: Path

    def folders(self, *files: str) -> list[Path]:
        """The folders of the data that have all of these."""
        inside = [] if self.data is None else sorted(path for path in self.data.iterdir() if path.is_dir())
        return [folder for folder in inside if all((folder / file).exists() for file in files)]

    def captioned(self, *files: str) -> Path | None:
        """The first captioned folder that has these files too."""
        return next(iter(self.folders(TABLE, IMAGES, *files)), None)

    def labeled(self, say: Say) -> LabeledCollection | None:
        """The pictures of the first folder with classes, described once; none where little is enough."""
        folders = [] if self.quick else self.folders("labels.csv")
        if not folders:
            return None
        return load_labeled(folders[0], preset="full", work=self.out / f"{folders[0].name}.rankloom",
                            progress=_telling(say))  # fmt: skip

    def photos(self) -> Path:
        """Where the collection of captioned pictures is kept."""
        return self.out / "captioned.rankloom"

    def draw(self, step: str, report: Any, figures: Mapping[str, tuple[Any, str]]) -> Figures:
        """Write the figures of a step; their files, relative to the report."""
        place = self.out / step
        place.mkdir(parents=True, exist_ok=True)
        for name, (plot, _) in figures.items():
            plot(report, place / name)
        return tuple((f"{step}/{name}", what) for name, (_, what) in figures.items())


def _telling(say: Say) -> Callable[[int, int, str], None]:
    return lambda done, total, text: say(f"{done:,} of {total:,}: {text}" if total else text)


def letor(job: Job, say: Say) -> list[Section]:
    """Every folder of the data that has LETOR's folds, or generated ones."""
    from rankloom.datasets import make_ranking

    if job.quick or not (folders := job.folders("Fold1")):
        return [_letor([*query_folds(make_ranking(40, 30, random_state=0))], "generated folds", job, say)]
    return [_letor(read_folds(folder), f"the folds of {folder.name}, by LETOR's evaluation", job, say)
            for folder in folders]  # fmt: skip


def _letor(folds: list[Fold], about: str, job: Job, say: Say) -> Section:
    names = ("uniform", "rlr", "ranksvm", "opar1") if job.quick else _RANKERS
    results = compare_folds(folds, {name: {} for name in names}, sections.LETOR_METRICS, "letor4",
                            n_jobs=1 if job.quick else 2, progress=say)  # fmt: skip
    return sections.letor_section(results, letor4.published_for(folds), about)


def rlr(job: Job, say: Say) -> list[Section]:
    """The margin framework."""
    folder = job.captioned()
    if folder is None or job.quick:
        data = margin.generated(6, 300) if job.quick else margin.generated()
    else:
        data = captioned(folder, job.photos(), n_queries=QUERIES, preset="full", progress=_telling(say))
    parts = [sections.margin_section(margin.run(data, progress=say))]
    if not job.quick:
        films = filmed(job.out / "films", progress=_telling(say))
        parts.append(sections.margin_section(margin.run(films, progress=say)))
    return parts


def car(job: Job, say: Say) -> list[Section]:
    """Content-aware ranking; needs captions that were judged."""
    folder = job.captioned("crowdflower_judgments.tsv")
    if folder is None:
        about = "Not measured: this needs Flickr8k with its judgements."
        return [Section("Content-aware ranking", content_aware_report.CITATION, about)]
    source = read_flickr8k(folder)
    vectors = visual_vectors(source, job.out / "flickr8k-vectors", progress=say)
    small: dict[str, Any] = {"n_runs": 1, "n_train": (25,), "n_validation": 20, "n_queries": 100}
    report = content_aware.run(source, vectors, progress=say, **(small if job.quick else {"n_jobs": 2}))
    if not job.quick:
        tasks, sizes = (content_aware.SELECTED,), (50,)
        many = content_aware.run(source, vectors, tasks=tasks, n_train=sizes, n_jobs=2, progress=say)
        report.settings.update(many.settings)
    return [sections.car_section(report, job.draw("car", report, content_aware_plots.FIGURES))]


def boosting(job: Job, say: Say) -> list[Section]:
    """Imbalanced RankBoost and soft cascades."""
    data = job.labeled(say)
    if data is None:
        n_concepts, n_items, n_models = (3, 6_000, 60) if job.quick else (20, 30_000, 200)
        concepts = cascade.generated_concepts(n_concepts, n_items, n_models, random_state=0)
        what = "generated concepts of weak detectors"
    else:
        concepts = concepts_of(data, 20, machines=MACHINES, n_jobs=-1, random_state=0, progress=_telling(say))
        what = f"20 classes of {len(data):,} pictures, {MACHINES * len(CLASSICAL)} bagged machines each"
    report = cascade.run(concepts, n_rounds=40 if job.quick else 100, progress=say)
    return [sections.cascade_section(report, what, job.draw("cascade", report, cascade_plots.FIGURES))]


def online_36(job: Job, say: Say) -> list[Section]:
    """Online learning to rank with the paper's 36 experts."""
    return [_online(job, say, "online", PRESETS["paper36"])]


def online_semantic(job: Job, say: Say) -> list[Section]:
    """The same with the semantic descriptor, which the paper did not have."""
    section = _online(job, say, "online-semantic", (*PRESETS["paper36"], "semantic"))
    return [replace(section, title=f"{section.title}, with the semantic descriptor")]


def _online(job: Job, say: Say, step: str, descriptors: Sequence[str]) -> Section:
    data = job.labeled(say)
    chosen = online.generated() if data is None else data.only(descriptors)
    others = None
    if data is not None and (folder := job.captioned()) is not None:
        others = load_unlabeled(folder / IMAGES, job.photos(), descriptors, progress=_telling(say))
    report = online.run(
        chosen, online.QUICK if job.quick else None, others=others, n_jobs=1 if job.quick else 2, progress=say
    )
    what = "generated classes" if data is None else "classes of photographs"
    return sections.online_section(report, what, job.draw(step, report, online_plots.FIGURES))


STEPS: dict[str, Callable[[Job, Say], list[Section]]] = {
    "letor": letor,
    "rlr": rlr,
    "car": car,
    "cascade": boosting,
    "online": online_36,
    "online-semantic": online_semantic,
}


# About what each step takes on two cores: how much is left can be told before anything was measured.
MINUTES = {"letor": 4.0, "rlr": 4.0, "car": 20.0, "cascade": 7.0, "online": 20.0, "online-semantic": 22.0}


class Pace:
    """About how long a run still takes.

    Parameters
    ----------
    steps : those that are to be measured.
    """

    def __init__(self, steps: Sequence[str]):
        self._left = {name: MINUTES.get(name, 1.0) for name in steps}
        self._expected = self._taken = self._began = 0.0
        self._step = ""

    def begin(self, step: str, now: float) -> None:
        """A step begins, at so many minutes; the one before it has ended."""
        if self._step:
            self._expected += self._left.pop(self._step, 0.0)
            self._taken += now - self._began
        self._step, self._began = step, now

    def left(self, now: float) -> float:
        """How many minutes are left, at the pace of the steps that have ended."""
        pace = self._taken / self._expected if self._expected else 1.0
        current = pace * self._left.get(self._step, 0.0)
        later = sum(minutes for name, minutes in self._left.items() if name != self._step)
        return max(0.0, current - (now - self._began)) + pace * later


def run(job: Job, progress: Callable[[str, str], None] = lambda step, text: None) -> list[Section]:
    """Measure what is not there yet, and write the report.

    A step that was measured with the same data is read; killed, a run goes on with the step it was in.

    Parameters
    ----------
    job : what with, and where to.
    progress : called with the name of a step and a text.
    """
    job.out.mkdir(parents=True, exist_ok=True)
    data = fingerprint(job.data)
    kept = {name: (job.out / f"{name}.json", f"{name} {job.quick} {data}") for name in STEPS}
    known = {name: found for name, (path, key) in kept.items() if (found := _read(path, key)) is not None}
    pace = Pace([name for name in STEPS if name not in known])
    parts: list[Section] = []
    for name, step in STEPS.items():
        if name not in known:

            def say(text: str, name: str = name) -> None:
                progress(name, f"{text}, about {pace.left(monotonic() / 60):.0f} min left")

            pace.begin(name, monotonic() / 60)
            say("begins")
            known[name] = step(job, say)
            path, key = kept[name]
            with atomic_write(os.fspath(path)) as file:
                plain = {"key": key, "sections": [section.to_dict() for section in known[name]]}
                file.write(json.dumps(plain, indent=1).encode())
        parts += known[name]
    for file_name, text in (
        ("report.md", markdown(TITLE, INTRO, parts)),
        ("report.html", html(TITLE, INTRO, parts, job.out)),
    ):
        with atomic_write(os.fspath(job.out / file_name)) as file:
            file.write(text.encode())
    return parts


def _read(path: Path, key: str) -> list[Section] | None:
    try:
        kept = json.loads(path.read_text("utf-8"))
        return [Section.from_dict(plain) for plain in kept["sections"]] if kept["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError):
        return None


def fingerprint(data: Path | None) -> str:
    """What tells data apart: the names and the contents of all files."""
    digest = hashlib.sha256()
    for path in _files(data):
        with open(path, "rb") as file:
            digest.update(f"{os.path.relpath(path, data)} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _files(data: Path | None) -> Iterator[str]:
    if data is None:
        return
    for folder, folders, names in os.walk(data):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names))
