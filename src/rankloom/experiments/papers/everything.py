"""All papers in one run: each step is measured once, kept by what it depends on, and becomes a part of a report."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankloom import __version__
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
    online_section,
    sections,
    unavailable,
)
from rankloom.experiments.papers.cascade_concepts import concepts_of
from rankloom.experiments.papers.flickr8k import read_flickr8k, visual_vectors
from rankloom.experiments.papers.margin_captions import IMAGES, TABLE, captioned
from rankloom.experiments.papers.margin_films import filmed
from rankloom.experiments.papers.report import Figures, Section, html, markdown
from rankloom.experiments.papers.timing import measured
from rankloom.experiments.plots import load_pyplot
from rankloom.model_selection.selection import Fold, query_folds, read_folds

TITLE = "Four papers, measured again"
INTRO = (
    "What each paper reports, what we get with its methods, and what we add. Where its data are not public, others "
    "stand in their place, so that shapes can be compared and not digits; each section says which."
)
MACHINES = 15  # of each descriptor: 210 for a concept, where the paper has 200
PROMISES = 12  # generated concepts
JUDGED = "crowdflower_judgments.tsv"
QUERIES = 50  # words of captions
Say = Callable[[str], None]


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
        """The folders of the data that have all of these, or the data themselves."""
        inside = (
            [] if self.data is None else [self.data, *sorted(path for path in self.data.iterdir() if path.is_dir())]
        )
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

    def coarser(self, data: LabeledCollection) -> NDArray[Any] | None:
        """The coarser class of each labeled picture, where the labels have one in a column `superclass`."""
        folder = self.folders("labels.csv")[0]
        with open(folder / "labels.csv", newline="", encoding="utf-8") as file:
            of_class = {row.get("class", ""): row.get("superclass", "") for row in csv.DictReader(file)}
        names = [of_class.get(label, "") for label in data.labels.tolist()]
        return np.array(names) if all(names) else None

    def photos(self) -> Path:
        """Where the collection of captioned pictures is kept."""
        return self.out / "captioned.rankloom"

    @property
    def memory(self) -> Memory:
        """Where parts of steps are kept, each by the data and parameters it depends on."""
        return Memory(self.out / "kept" / __version__, verbose=0)

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
        return [_letor([*query_folds(make_ranking(40, 30, random_state=0))], "generated", job, say)]
    return [_letor(read_folds(folder), folder.name, job, say) for folder in folders]


def _letor(folds: list[Fold], title: str, job: Job, say: Say) -> Section:
    wanted = ("uniform", "rlr", "ranksvm", "opar1") if job.quick else letor4.RANKERS
    missing = unavailable(wanted)
    names = [name for name in wanted if name not in missing]
    n_jobs = 1 if job.quick else 2
    results = letor4.run(folds, names, n_jobs=n_jobs, memory=job.memory, progress=say)
    return sections.letor_section(folds, results, missing, title)


def rlr(job: Job, say: Say) -> list[Section]:
    """The margin framework."""
    folder = job.captioned()
    if folder is None or job.quick:
        data = margin.generated(6, 300) if job.quick else margin.generated()
    else:
        data = captioned(folder, job.photos(), n_queries=QUERIES, preset="full", progress=_telling(say))
    once = job.memory.cache(margin.run, ignore=["progress"])
    parts = [sections.margin_section(once(data, progress=say))]
    if not job.quick:
        films = filmed(job.out / "films", progress=_telling(say))
        parts.append(sections.margin_section(once(films, progress=say)))
    return [*parts, sections.theory_section(40 if job.quick else 400)]


def car(job: Job, say: Say) -> list[Section]:
    """Content-aware ranking; needs captions that were judged."""
    folder = job.captioned(JUDGED)
    if folder is None:
        about = "Not measured: this needs Flickr8k with its judgements."
        return [Section("Content-aware ranking", content_aware_report.CITATION, about)]
    source = read_flickr8k(folder)
    vectors = visual_vectors(source, job.out / "flickr8k-vectors", progress=say)
    small: dict[str, Any] = {"n_runs": 1, "n_train": (25,), "n_validation": 20, "n_queries": 100}
    memory = job.memory
    report = content_aware.run(source, vectors, memory=memory, progress=say, **(small if job.quick else {"n_jobs": 2}))
    if not job.quick:
        tasks, sizes = (content_aware.SELECTED,), (50,)
        many = content_aware.run(source, vectors, tasks=tasks, n_train=sizes, n_jobs=2, memory=memory, progress=say)
        report.settings.update(many.settings)
    return [sections.car_section(report, job.draw("car", report, content_aware_plots.FIGURES))]


def boosting(job: Job, say: Say) -> list[Section]:
    """Imbalanced RankBoost and soft cascades."""
    data, promise = job.labeled(say), None
    if data is None:
        n_concepts, n_items, n_models = (2, 3_000, 40) if job.quick else (20, 30_000, 200)
        concepts = cascade.generated_concepts(n_concepts, n_items, n_models, random_state=0)
        sizes = {"n_rounds": 25, "regularizers": 1} if job.quick else {}
        report = cascade.run(concepts, **sizes, progress=say)
        what = "generated concepts of weak detectors"
    else:
        report = job.memory.cache(_boosted, ignore=["say"])(data, job.coarser(data), MACHINES, say)
        promise = job.memory.cache(_promised, ignore=["say"])(PROMISES, say)
        what = f"20 concepts of {len(data):,} pictures, {MACHINES * len(CLASSICAL)} bagged machines each"
    figures = job.draw("cascade", report, cascade_plots.FIGURES)
    return [sections.cascade_section(report, what, figures, promise)]


def _boosted(data: LabeledCollection, coarser: NDArray[Any] | None, machines: int, say: Say) -> cascade.CascadeReport:
    """The 20 largest classes as concepts, learned and boosted."""
    concepts = concepts_of(
        data, 20, coarser=coarser, machines=machines, n_jobs=-1, random_state=0, progress=_telling(say)
    )
    return cascade.run(concepts, n_rounds=100, progress=say)


def _promised(n_concepts: int, say: Say) -> cascade.Promise:
    """Whether soft cascades keep their budget, where there are enough rows to place cut-offs on some of their own."""
    return cascade.promise(cascade.generated_concepts(n_concepts, work=False, random_state=1), progress=say)


def online_36(job: Job, say: Say) -> list[Section]:
    """Online learning to rank with the paper's 36 experts."""
    return [_online(job, say, "online", PRESETS["paper36"])]


def online_semantic(job: Job, say: Say) -> list[Section]:
    """The same with the semantic descriptor, which the paper did not have; needs pictures."""
    title = f"{online_section.ONLINE}, with the semantic descriptor"
    if job.quick or not job.folders("labels.csv"):
        return [Section(title, online.CITATION, "Not measured: this needs a folder of pictures with classes.")]
    return [replace(_online(job, say, "online-semantic", (*PRESETS["paper36"], "semantic")), title=title)]


def _online(job: Job, say: Say, step: str, descriptors: Sequence[str]) -> Section:
    data = job.labeled(say)
    chosen = online.generated(n=200 if job.quick else 600) if data is None else data.only(descriptors)
    others = None
    if data is not None and (folder := job.captioned()) is not None:
        others = load_unlabeled(folder / IMAGES, job.photos(), descriptors, progress=_telling(say))
    report = online.run(
        chosen,
        online.QUICK if job.quick else None,
        others=others,
        n_jobs=1 if job.quick else 2,
        memory=job.memory,
        progress=say,
    )
    what = "generated classes" if data is None else "classes of photographs"
    return online_section.online_section(report, what, job.draw(step, report, online_plots.FIGURES))


STEPS: dict[str, Callable[[Job, Say], list[Section]]] = {
    "letor": letor,
    "rlr": rlr,
    "car": car,
    "cascade": boosting,
    "online": online_36,
    "online-semantic": online_semantic,
}


# The folders that a step depends on; a step that is not named depends on all of them.
NEEDS: dict[str, Callable[[Job], list[Path]]] = {
    "letor": lambda job: job.folders("Fold1"),
    "rlr": lambda job: job.folders(TABLE, IMAGES)[:1],
    "car": lambda job: job.folders(TABLE, IMAGES, JUDGED)[:1],
    "cascade": lambda job: job.folders("labels.csv")[:1],
    "online": lambda job: [*job.folders("labels.csv")[:1], *job.folders(TABLE, IMAGES)[:1]],
    "online-semantic": lambda job: [*job.folders("labels.csv")[:1], *job.folders(TABLE, IMAGES)[:1]],
}

# About what each step takes on two cores: how much is left can be told before anything was measured.
MINUTES = {"letor": 0.5, "rlr": 1.5, "car": 7.0, "cascade": 3.0, "online": 8.0, "online-semantic": 9.0}


QUICK = 0.01  # of these, where little is enough


class Pace:
    """About how long a run still takes.

    Parameters
    ----------
    steps : those that are to be measured.
    share : of `MINUTES` that they are expected to take.
    """

    TRUST = 10.0  # minutes that `MINUTES` count as if they had been measured: a step of which much was kept is short

    def __init__(self, steps: Sequence[str], share: float = 1.0):
        self._left = {name: share * MINUTES.get(name, 1.0) for name in steps}
        self._trust = share * self.TRUST
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
        pace = (self._taken + self._trust) / (self._expected + self._trust)
        current = pace * self._left.get(self._step, 0.0)
        later = sum(minutes for name, minutes in self._left.items() if name != self._step)
        return max(0.0, current - (now - self._began)) + pace * later


def run(job: Job, progress: Callable[[str, str], None] = lambda step, text: None) -> list[Section]:
    """Measure what is not there yet, and write the report.

    A step that was measured with the same data is read; killed, a run goes on with the part of the step it was in.

    Parameters
    ----------
    job : what with, and where to.
    progress : called with the name of a step and a text.
    """
    job.out.mkdir(parents=True, exist_ok=True)
    load_pyplot()  # what is missing is said before an hour has passed
    digests: dict[Path, str] = {}
    kept = {name: (job.out / f"{name}.json", _key(name, job, digests)) for name in STEPS}
    known = {name: found for name, (path, key) in kept.items() if (found := _read(path, key)) is not None}
    pace = Pace([name for name in STEPS if name not in known], QUICK if job.quick else 1.0)
    parts: list[Section] = []
    for name, step in STEPS.items():
        if name not in known:

            def say(text: str, name: str = name) -> None:
                progress(name, f"{text}, about {pace.left(monotonic() / 60):.0f} min left")

            pace.begin(name, monotonic() / 60)
            say("begins")
            # Matrices are small: threads of BLAS would only wait for each other, beside processes that compute.
            with measured() as minutes, threadpool_limits(1, user_api="blas"):
                known[name] = step(job, say)
            path, key = kept[name]
            plain = {"key": key, "sections": [section.to_dict() for section in known[name]], "minutes": asdict(minutes)}
            with atomic_write(os.fspath(path)) as file:
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


def _key(step: str, job: Job, digests: dict[Path, str]) -> str:
    """What a step depends on: the program, how much is measured, and the contents of its folders of data."""
    needed = NEEDS[step](job) if step in NEEDS else [job.data] if job.data is not None else []
    for folder in needed:
        if folder not in digests:
            digests[folder] = fingerprint(folder)
    return " ".join([step, __version__, str(job.quick), *(digests[folder] for folder in needed)])


def fingerprint(data: Path) -> str:
    """What tells data apart: the names and the contents of all files."""
    digest = hashlib.sha256()
    for path in _files(data):
        with open(path, "rb") as file:
            digest.update(f"{os.path.relpath(path, data)} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _files(data: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(data):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names))
