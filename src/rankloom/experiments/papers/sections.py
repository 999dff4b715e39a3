"""Each paper's part of the report: what was measured, as tables beside the published ones, and what did not appear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankloom.experiments.papers import Finding, cascade, content_aware_report, letor4, margin, online
from rankloom.experiments.papers.report import Figures, Section, Table
from rankloom.model_selection.selection import FoldResults

LETOR_METRICS = ("AP", "nDCG@10", "MeanNDCG")


def letor_section(results: FoldResults, published: Mapping[str, Mapping[str, float]], about: str) -> Section:
    """Rankers on the folds of a LETOR collection, and paired tests of the best one against the others."""
    rows = [(name, *(f"{results.mean(name, metric):.4f}" for metric in LETOR_METRICS)) for name in results.values]
    rows += [
        (f"{name} (published)", *(f"{values[metric]:.4f}" if metric in values else "" for metric in LETOR_METRICS))
        for name, values in published.items()
    ]
    best = max(results.values, key=lambda name: results.mean(name, "AP"))
    tests = tuple(
        (other, f"{difference:+.4f}", f"{p:.3f}")
        for other, (difference, p) in results.comparison("AP").against(best).items()
    )
    return Section(
        "Learning to rank on features: LETOR",
        letor4.CITATION,
        f"Data: {about}. Parameters are chosen on validation queries.",
        tables=(
            Table("Means of the test parts", ("ranker", *LETOR_METRICS), tuple(rows)),
            Table(f"Others less {best}, AP", ("ranker", "difference", "p (Holm)"), tests),
        ),
    )


def margin_section(report: margin.MarginReport) -> Section:
    """Margin-based rank learning: table 1, per query and pooled."""
    head = ("method", "TrainAP", "TestAP", "P@10", "P@30", "P@100", "CPU s")
    tables = [
        Table(f"Here, {how}", head, tuple(
            (name, *(f"{value:.3f}" for value in one.row()), f"{one.seconds:.3g}") for name, one in results.items()
        ))
        for how, results in (("learned per query", report.per_query), ("pooled", report.pooled))
    ]  # fmt: skip
    tests = report.comparison().against("RLR")
    rows = tuple((other, f"{difference:+.3f}", f"{p:.3f}") for other, (difference, p) in tests.items())
    tables.append(Table("Others less RLR, TestAP of queries learned alone", ("method", "difference", "p (Holm)"), rows))
    tables += [
        Table(f"Paper, TRECVID {name}", head,
              tuple((method, *(f"{value:.3f}" for value in values), "") for method, values in rows.items()))
        for name, rows in margin.TABLE_1.items()
    ]  # fmt: skip
    about = f"Data: {report.name}, {report.n_queries} queries, {report.n_features} experts; TRECVID is not public."
    findings = margin.findings(report)
    missing = {finding.what for finding in findings if finding.holds is False}
    remarks = tuple(why for what, why in _WHY_NOT.items() if what in missing)
    title = f"Ranking logistic regression: {report.name}"
    return Section(title, margin.CITATION, about, tuple(findings), tuple(tables), remarks=remarks)


# Why a conclusion of the paper may not appear.
_WHY_NOT = {
    "RLR - LR, TestAP": (
        "RLR below LR: the loss of RLR counts every pair of a query alike, and over all pairs the two are equal; AP "
        "looks at the first results, to which LR gives more weight where few items are relevant."
    ),
    "time of F-RLR / RLR, per query": (
        "F-RLR is as fast as RLR: it takes all pairs from moments of binned scores, without forming one, where the "
        "paper's went through them."
    ),
}


def car_section(report: content_aware_report.CarReport, figures: Figures = ()) -> Section:
    """Content-aware ranking: table 1 in every setting, with tests."""
    paper = content_aware_report
    tables = []
    head = ("method", *(f"nDCG@{depth}" for depth in paper.TABLE_DEPTHS), "over ListNet", "p (Holm)", "best alone")
    for setting, measured in report.settings.items():
        gains = {gain.method: gain for gain in report.gains(setting, "ListNet", 10)}
        counts = measured.best_counts(paper.METHODS)
        rows = []
        for method in paper.METHODS:
            means = [f"{measured.mean(method)[depth - 1]:.3f}" for depth in paper.TABLE_DEPTHS]
            gain = gains.get(method)
            tested = ["", ""] if gain is None else [f"{gain.relative:+.1%}", f"{gain.holm:.4f}"]
            rows.append((method, *means, *tested, str(counts[method][paper.BEST_DEPTHS.index(10)])))
        title = f"{setting}: {len(measured.queries)} test queries, runs: {report.n_runs}"
        tables.append(Table(title, head, tuple(rows)))
    against = tuple(
        (str(setting), gain.other, f"{gain.difference:+.4f}", f"{gain.holm:.4f}", f"{gain.wins}-{gain.losses}")
        for setting, gain in paper.verdicts(report)
    )
    tables.append(
        Table(
            "The same text model, reranked",
            ("setting", "CAR against", "nDCG@10", "p (Holm)", "wins-losses"),
            against,
        )
    )
    about = "Data: Flickr8k, single words and judged captions; the paper's web pictures are not public."
    findings = tuple(paper.findings(report))
    remarks = _remarks(findings, _WHY_NOT_CAR)
    return Section("Content-aware ranking", paper.CITATION, about, findings, tuple(tables), figures, remarks)


_WHY_NOT_CAR = (
    "Pictures help where they know more than the text: single words with a graph of the semantic descriptor. A graph "
    "of classical descriptors, as the paper had, joins pictures of the same colours and shapes, which on Flickr8k says "
    "little of what is in them; and the text of a picture that was judged for a whole caption says most of it already."
)


def cascade_section(report: cascade.CascadeReport, what: str, figures: Figures = ()) -> Section:
    """Imbalanced RankBoost and the soft cascade."""
    rows = []
    for method in cascade.METHODS:
        asked, means = report.at_the_end(method)
        rows.append((method, f"{asked:.1f}", *(f"{value:.3f}" for value in means.values())))
    table = Table("After all rounds", ("method", "features an item", *cascade.DEPTHS), tuple(rows))
    findings = tuple(cascade.findings(report))
    title, about = "Imbalanced RankBoost, and soft cascades", f"Data: {what}; TRECVID is not public."
    return Section(title, cascade.CITATION, about, findings, (table,), figures, _remarks(findings, _WHY_NOT_CASCADE))


_WHY_NOT_CASCADE = (
    "Imbalanced RankBoost places a cut-off with every feature that it takes, from the relevant items of the boosting "
    "part, and never takes it back: where these are a handful, relevant items are dropped for good. The soft cascade "
    "places all cut-offs together, after boosting, within a budget of what may be lost."
)


def _remarks(findings: Sequence[Finding], why: str) -> tuple[str, ...]:
    """Why some conclusion does not appear, if one does not."""
    return (why,) if any(finding.holds is False for finding in findings) else ()


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
        metrics = [*next(iter(report.large.values()))]
        tables.append(Table(
            f"Among {report.n_distractors:,} distractors, mixed of {report.distractors_of}", ("method", *metrics),
            tuple((name, *(f"{one[metric]:.3f}" for metric in metrics)) for name, one in report.large.items()),
        ))  # fmt: skip
    missing = "".join(f" {name} was not measured: {why}." for name, why in report.absent.items())
    return Section(
        "Online learning to rank for image retrieval",
        online.CITATION,
        f"Data: {what}, {report.n_items:,} items, {report.n_experts} experts.{missing}",
        tuple(online.findings(report)),
        tuple(tables),
        figures,
    )
