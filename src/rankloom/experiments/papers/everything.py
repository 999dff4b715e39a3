"""All papers in one run: each step is measured once, kept by what it depends on, and becomes a section of a report."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankloom._io import atomic_write
from rankloom.concepts.bagging import BaggedSVMs
from rankloom.descriptors import CLASSICAL, PRESETS
from rankloom.experiments.labeled import LabeledCollection, load_labeled
from rankloom.experiments.papers import (
    cascade,
    content_aware,
    content_aware_plots,
    letor4,
    margin,
    online,
    online_plots,
)
from rankloom.experiments.papers.cascade_concepts import concepts_of
from rankloom.experiments.papers.content_aware_report import METHODS as CAR_METHODS
from rankloom.experiments.papers.content_aware_report import TABLE_DEPTHS
from rankloom.experiments.papers.content_aware_report import findings as car_findings
from rankloom.experiments.papers.flickr8k import read_flickr8k, visual_vectors
from rankloom.experiments.papers.margin_captions import captioned
from rankloom.experiments.papers.report import Section, Table, html, markdown
from rankloom.experiments.plots import plot_cascade, plot_concepts, plot_places, plot_regularizers
from rankloom.model_selection.selection import Fold, compare_folds, query_folds, read_folds

TITLE = "Four papers, measured again"
INTRO = (
    "What each paper reports, what we get with its methods, and what we add. Where its data are not public, others "
    "stand in their place, so that shapes can be compared and not digits; each section says which."
)
Say = Callable[[str], None]
_RANKERS = (
    "uniform", "best", "nb", "lr", "rlr", "frlr", "ranksvm", "rankboost", "listnet", "ranknet", "coordascent",
    "opr", "opar1", "opar2", "ogdr", "arow", "lambdamart",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """What the steps work with: folders of data (None: generated), whether little is enough, and where to write."""

    data: Path | None
    quick: bool
    out: Path

    def folder(self, name: str, *files: str) -> Path | None:
        """A folder of the data, if it has these files."""
        found = None if self.data is None else self.data / name
        return found if found is not None and all((found / file).exists() for file in files) else None

    def draw(self, step: str, report: Any, figures: Mapping[str, tuple[Any, str]]) -> tuple[tuple[str, str], ...]:
        """Write the figures of a step; their files, relative to the report."""
        place = self.out / step
        place.mkdir(parents=True, exist_ok=True)
        for name, (plot, _) in figures.items():
            plot(report, place / name)
        return tuple((f"{step}/{name}", what) for name, (_, what) in figures.items())


def letor(job: Job, say: Say) -> Section:
    """LETOR 4.0, or generated folds."""
    from rankloom.datasets import make_ranking

    folder = job.folder("letor-mq2008", "Fold1")
    folds: list[Fold] = [*query_folds(make_ranking(40, 30, random_state=0))] if folder is None else read_folds(folder)
    names = ("uniform", "rlr", "ranksvm", "opar1") if job.quick else _RANKERS
    metrics, policy = ("AP", "nDCG@10", "MeanNDCG"), "letor4"
    results = compare_folds(folds, {name: {} for name in names}, metrics, policy, progress=say)
    rows = [(name, *(f"{results.mean(name, metric):.4f}" for metric in metrics)) for name in names]
    published = [
        (f"{name} (published)", *(f"{values[metric]:.4f}" for metric in metrics))
        for name, values in letor4.published_for(folds).items()
    ]
    about = "generated folds" if folder is None else "LETOR 4.0 MQ2008, five folds, by the official evaluation"
    return Section(
        "Learning to rank on features: LETOR 4.0",
        "T. Qin, T.-Y. Liu, Introducing LETOR 4.0 datasets, 2013.",
        f"Data: {about}. Parameters are chosen on validation queries. Differences of .01 are noise on MQ2008.",
        tables=(Table("Means of the test parts", ("ranker", *metrics), (*rows, *published)),),
    )


def rlr(job: Job, say: Say) -> Section:
    """The margin framework."""
    folder = job.folder("imagetext-flickr8k", "captions.tsv", "images")
    if folder is None or job.quick:
        data = margin.generated(6, 300) if job.quick else margin.generated()
    else:
        data = captioned(folder, job.out / "flickr8k.rankloom", progress=lambda done, total, text: say(text))
    report = margin.run(data, progress=say)
    head = ("method", "TrainAP", "TestAP", "P@10", "P@30", "P@100", "CPU s")
    ours = {"per query": report.per_query, "pooled": report.pooled}
    tables = [
        Table(f"Here, {how}", head, tuple(
            (name, *(f"{value:.3f}" for value in one.row()), f"{one.seconds:.3g}") for name, one in results.items()
        ))
        for how, results in ours.items()
    ]  # fmt: skip
    tables += [
        Table(f"Paper, TRECVID {name}", head, tuple((method, *(f"{v:.3f}" for v in values), "")
                                                     for method, values in rows.items()))
        for name, rows in margin.TABLE_1.items()
    ]  # fmt: skip
    return Section(
        "Ranking logistic regression",
        "R. Yan, A. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006.",
        f"Data: {report.name}, {report.n_queries} queries, {report.n_features} experts; TRECVID is not public.",
        tuple(margin.findings(report)),
        tuple(tables),
    )


def car(job: Job, say: Say) -> Section:
    """Content-aware ranking; needs Flickr8k."""
    folder = job.folder("imagetext-flickr8k", "captions.tsv", "crowdflower_judgments.tsv", "images")
    title = "Content-aware ranking"
    citation = "B. Geng, L. Yang, X.-S. Hua, Learning to rank with graph consistency, 2009."
    if folder is None:
        return Section(title, citation, "Not measured: this needs Flickr8k with its judgements.")
    source = read_flickr8k(folder)
    vectors = visual_vectors(source, job.out / "flickr8k-vectors", progress=say)
    small: dict[str, Any] = {"n_runs": 1, "n_train": (25,), "n_validation": 20, "n_queries": 100}
    report = content_aware.run(source, vectors, progress=say, **(small if job.quick else {}))
    tables = []
    for setting, measured in report.settings.items():
        rows = tuple(
            (method, *(f"{measured.mean(method)[depth - 1]:.3f}" for depth in TABLE_DEPTHS)) for method in CAR_METHODS
        )
        tables.append(Table(str(setting), ("method", *(f"nDCG@{depth}" for depth in TABLE_DEPTHS)), rows))
    figures = {
        "curves.png": (content_aware_plots.plot_curves, "nDCG at every depth (the paper's figure 3)"),
        "best.png": (content_aware_plots.plot_best, "queries on which each method is best (figure 4)"),
        "gamma.png": (content_aware_plots.plot_gamma, "the weight of the visual part (figure 6)"),
    }
    about = "Data: Flickr8k, single words and judged captions; the paper's web pictures are not public."
    return Section(title, citation, about, tuple(car_findings(report)), tuple(tables), job.draw("car", report, figures))


def boosting(job: Job, say: Say) -> Section:
    """Imbalanced RankBoost and soft cascades."""
    data = None if job.quick else _pictures(job, say)
    if data is None:
        n_concepts, n_items, n_models = (3, 6_000, 60) if job.quick else (20, 30_000, 200)
        concepts = cascade.generated_concepts(n_concepts, n_items, n_models, random_state=0)
        what = "generated concepts of weak detectors"
    else:
        concepts = concepts_of(data, 20, n_jobs=-1, random_state=0)
        machines = BaggedSVMs().per_descriptor * len(CLASSICAL)
        what = f"20 classes of {len(data):,} pictures, {machines} bagged machines each"
    report = cascade.run(concepts, n_rounds=40 if job.quick else 100, progress=say)
    figures = {
        "quality-against-cost.png": (plot_cascade, "quality against features computed and seconds (figure 6)"),
        "concepts.png": (plot_concepts, "single concepts (figures 7 and 8)"),
        "regularizers.png": (plot_regularizers, "the three regularisers (figure 9)"),
        "cost-by-place.png": (plot_places, "what items at each place cost"),
    }
    return Section(
        "Imbalanced RankBoost, and soft cascades",
        "M. Merler, R. Yan, J. Smith, Imbalanced RankBoost for efficiently ranking large-scale collections, CVPR 2009.",
        f"Data: {what}; TRECVID is not public.",
        tuple(cascade.findings(report)),
        figures=job.draw("cascade", report, figures),
    )


def online_36(job: Job, say: Say) -> Section:
    """Online learning to rank with the paper's 36 experts."""
    return _online(job, say, "online", "the paper's 36 experts", PRESETS["paper36"])


def online_semantic(job: Job, say: Say) -> Section:
    """The same with the semantic expert, which the paper did not have."""
    return _online(job, say, "online-semantic", "36 experts and the semantic one", (*PRESETS["paper36"], "semantic"))


def _online(job: Job, say: Say, step: str, what: str, descriptors: Sequence[str]) -> Section:
    data = None if job.quick else _pictures(job, say)
    chosen = online.generated() if data is None else data.only(descriptors)
    report = online.run(chosen, online.QUICK if job.quick else None, progress=say)
    rows = []
    for name in report.measured:
        published = online.TABLE_2.get(name, {})
        mean = f"{report.mean(name):.4f} ± {report.error(name):.4f}"
        rows.append((name, mean, *(f"{published[key]:.4f}" if published else "" for key in online.TABLE_2["OPR"])))
    head = ("method", "MAP here", *(f"{key} (paper)" for key in online.TABLE_2["OPR"]))
    figures = {
        "map.png": (online_plots.plot_table, "MAP (table 2)"),
        "cost.png": (online_plots.plot_costs, "cost of a fit by instances (figure 1)"),
        "large.png": (online_plots.plot_large, "precision among distractors (figure 2)"),
        "progressive.png": (online_plots.plot_progress, "learning while queries arrive (figures 3 and 4)"),
    }
    about = f"Data: {'generated' if data is None else 'Caltech-101 classes'}, {report.n_items:,} items, {what}."
    missing = "".join(f" {name} was not measured: {why}" for name, why in report.absent.items())
    return Section(
        f"Online learning to rank for image retrieval: {what}",
        "J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015.",
        about + missing,
        tuple(online.findings(report)),
        (Table("MAP of five folds", head, tuple(rows)),),
        job.draw(step, report, figures),
    )


def _pictures(job: Job, say: Say) -> LabeledCollection | None:
    """The labeled pictures of the data, described once."""
    folder = job.folder("images-caltech101", "labels.csv")
    if folder is None:
        return None
    return load_labeled(folder, preset="full", work=job.out / "pictures.rankloom",
                        progress=lambda done, total, text: say(text))  # fmt: skip


STEPS: dict[str, Callable[[Job, Say], Section]] = {
    "letor": letor,
    "rlr": rlr,
    "car": car,
    "cascade": boosting,
    "online": online_36,
    "online-semantic": online_semantic,
}


def run(job: Job, progress: Callable[[str, str], None] = lambda step, text: None) -> list[Section]:
    """Measure what is not there yet, and write the report.

    A step that was measured with the same data is read; killed, a run goes on with the step it was in.

    Parameters
    ----------
    job : what with, and where to.
    progress : called with the name of a step and a text.
    """
    job.out.mkdir(parents=True, exist_ok=True)
    sections = []
    for name, step in STEPS.items():
        kept = job.out / f"{name}.json"
        key = f"{name} {job.quick} {fingerprint(job.data)}"
        section = _read(kept, key)
        if section is None:
            progress(name, "begins")
            section = step(job, lambda text, name=name: progress(name, text))  # type: ignore[misc]
            with atomic_write(os.fspath(kept)) as file:
                file.write(json.dumps({"key": key, "section": section.to_dict()}, indent=1).encode())
        sections.append(section)
    for file_name, text in (
        ("report.md", markdown(TITLE, INTRO, sections)),
        ("report.html", html(TITLE, INTRO, sections, job.out)),
    ):
        with atomic_write(os.fspath(job.out / file_name)) as file:
            file.write(text.encode())
    return sections


def _read(path: Path, key: str) -> Section | None:
    try:
        kept = json.loads(path.read_text("utf-8"))
        return Section.from_dict(kept["section"]) if kept["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError):
        return None


def fingerprint(data: Path | None) -> str:
    """What tells data apart: the names and sizes of all files."""
    digest = hashlib.sha256()
    for path in _files(data):
        digest.update(f"{path} {os.path.getsize(path)}\n".encode())
    return digest.hexdigest()[:16]


def _files(data: Path | None) -> Iterator[str]:
    if data is None:
        return
    for folder, folders, names in os.walk(data):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names))
