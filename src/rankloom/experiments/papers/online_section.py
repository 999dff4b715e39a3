"""Online learning to rank's part of the report: tables beside the published ones, and what did not appear."""

from __future__ import annotations

from rankloom.experiments.papers import online
from rankloom.experiments.papers.report import Figures, Section, Table, reasons

ONLINE = "Online learning to rank for image retrieval"


def online_section(report: online.OnlineReport, what: str, figures: Figures = ()) -> Section:
    """Online learning to rank: table 2 beside ours with tests, table 3, and the search among distractors."""
    collections = [*online.TABLE_2["OPR"]]
    tests = report.folds.comparison("AP").against(online.METHODS["RankSVM"])
    rows = []
    for name in report.measured:
        published = online.TABLE_2.get(name, {})
        short = online.METHODS[name]
        tested = (f"{tests[short][0]:+.4f}", f"{tests[short][1]:.3f}") if short in tests else ("", "")
        rows.append((
            name,
            f"{report.mean(name):.4f} ± {report.error(name):.4f}",
            *tested,
            f"{[*report.costs[name].values()][-1]:.3g}",
            *(f"{published[key]:.4f}" if published else "" for key in collections),
        ))  # fmt: skip
    head = (
        "method",
        "MAP here",
        "less RankSVM",
        "p (Holm)",
        "CPU s of a fit",
        *(f"{key} (paper)" for key in collections),
    )
    tables = [Table("MAP of five folds", head, tuple(rows))]
    tables.append(Table(
        f"CPU seconds for {report.n_triplets:,} preferences", ("method", "here", "paper, 3 million"),
        tuple((name, f"{seconds:.3g}", f"{online.TABLE_3[name]:g}") for name, seconds in report.stream.items()),
    ))  # fmt: skip
    if report.large:
        large = report.large_means()
        metrics = [*next(iter(large.values()))]
        tables.append(Table(
            f"Among {report.n_distractors:,} distractors, mixed of {report.distractors_of}", ("method", *metrics),
            tuple((name, *(f"{one[metric]:.3f}" for metric in metrics)) for name, one in large.items()),
        ))  # fmt: skip
    if report.measured_unseen:
        tables.append(_unseen(report))
    tables.append(_progress(report))
    missing = "".join(f" {name} was not measured: {why}." for name, why in report.absent.items())
    findings = online.findings(report)
    shown = tuple(one for one in findings if one.holds is not None or one.what.startswith("C-Ascent"))
    return Section(
        ONLINE,
        online.CITATION,
        f"Data: {what}, {report.n_items:,} items, {report.n_experts} experts. The paper's queries, negatives, "
        f"descriptors and three of its four collections are not at hand.{missing}",
        shown,
        tuple(tables),
        figures,
        reasons(findings, _WHY_NOT_ONLINE) + _of_clicks(report),
        _online_headline(report),
        tuple(one for one in findings if one not in shown),
    )


_WHY_NOT_ONLINE = (
    "Where a single expert is far better than all others, as the semantic one is, there is less for weights to gain; "
    "and equal weights are already near the best ones where experts are alike."
)


_CLICKS = (
    "With noisy clicks, methods that learn from each preference at once fall below equal weights: they take as large a "
    "step for an accidental click as for a judgement. Linear methods that are fitted again to all clicks so far gain "
    "in the end, as accidents cancel out."
)


def _of_clicks(report: online.OnlineReport) -> tuple[str, ...]:
    """What is to be said where clicks made rankings worse."""
    return (_CLICKS,) if any(run.cumulative_gain[-1] < 0 for run in report.clicked.values()) else ()


def _unseen(report: online.OnlineReport) -> Table:
    """MAP where the class of a test query was learned from, and where it was not, with the gains over uniform."""
    short = online.METHODS
    base = report.mean("Uni-Con"), report.unseen.mean(short["Uni-Con"], "AP")
    rows = []
    for name in report.measured_unseen:
        seen, unseen = report.mean(name), report.unseen.mean(short[name], "AP")
        rows.append((name, f"{seen:.4f}", f"{seen - base[0]:+.4f}", f"{unseen:.4f}", f"{unseen - base[1]:+.4f}"))
    head = ("method", "classes seen", "over Uni-Con", "classes unseen", "over Uni-Con")
    return Table("MAP of queries whose class was, or was not, learned from", head, tuple(rows))


def _progress(report: online.OnlineReport) -> Table:
    """What learning while queries arrive gains over equal weights, in all and at the end, and what it costs."""
    rows = []
    for name, judged in report.judged.items():
        clicked = report.clicked[name]
        rows.append((name, *(
            text for run in (judged, clicked)
            for text in (f"{run.cumulative_gain[-1]:+.4f}", f"{run.late_gain:+.4f}", f"{run.seconds[-1]:.3g}")
        )))  # fmt: skip
    n, metric = len(judged.values), judged.metric
    head = ("method", "judged: all", "last quarter", "CPU s", "noisy clicks: all", "last quarter", "CPU s")
    return Table(f"Gain of {metric} over Uni-Con while {n:,} queries arrive", head, tuple(rows))


def _online_headline(report: online.OnlineReport) -> tuple[tuple[str, str, str, str], ...]:
    """MAP of equal weights, of RankSVM and of the best online method, and the time for a stream."""
    paper = {name: row["Caltech101"] for name, row in online.TABLE_2.items()}
    maps = {name: report.mean(name) for name in report.measured}
    names = ("Uni-Con", "RankSVM", "OPR")
    best = max(maps, key=maps.__getitem__)
    named = [", ".join(f"{found[name]:.3f}" for name in names) for found in (paper, maps)]
    what = f"MAP of {', '.join(names)}; {report.n_experts} experts"
    stream = f"seconds of OPR for {report.n_triplets:,} preferences"
    return (
        (what, named[0], named[1], f"{maps[best]:.3f} ({best})"),
        (stream, f"{online.TABLE_3['OPR']:g} (3 million)", f"{report.stream['OPR']:.2g}", ""),
    )
