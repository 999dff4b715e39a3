"""Each paper's part of the report: what was measured, as tables beside the published ones, and what did not appear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankloom.experiments.papers import Finding, cascade, content_aware_report, letor4, margin, margin_theory
from rankloom.experiments.papers.report import Figures, Section, Table, reasons
from rankloom.model_selection.selection import Fold, FoldResults


def letor_section(folds: Sequence[Fold], results: FoldResults, missing: Mapping[str, str], title: str) -> Section:
    """Rankers on the folds of a LETOR collection, published ones, and paired tests of the best one against the others.

    Parameters
    ----------
    folds, results : the data, and what was measured.
    missing : rankers that were not measured, and why.
    title : the name of the collection.
    """
    published = letor4.published_for(folds)
    rows = [(name, *(f"{results.mean(name, metric):.4f}" for metric in letor4.METRICS)) for name in results.values]
    rows += [
        (f"{name} (published)", *(f"{values[metric]:.4f}" if metric in values else "" for metric in letor4.METRICS))
        for name, values in published.items()
    ]
    best = max(results.values, key=lambda name: results.mean(name, "AP"))
    tests = tuple(
        (other, f"{difference:+.4f}", f"{p:.3f}")
        for other, (difference, p) in results.comparison("AP").against(best).items()
    )
    findings = letor4.findings(results, published)
    headline = [(f"{title}: {one.what}", f"{one.paper:.4f}", f"{one.found:.4f}", "") for one in findings]
    if published:
        top = max(published, key=lambda name: published[name]["AP"])
        ours = f"{results.mean(best, 'AP'):.4f} ({best})"
        headline[-1] = (f"{title}: the best MAP", f"{published[top]['AP']:.4f} ({top})", "", ours)
    n_queries, n_features = sum(results.n_queries), folds[0].test.X.shape[1]
    return Section(
        f"Learning to rank on features: {title}",
        letor4.CITATION,
        f"Data: {len(folds)} folds, {n_queries:,} queries, {n_features} features, by LETOR's evaluation. Parameters "
        "are chosen on validation queries. Published values of single queries are not available, so nothing can be "
        f"tested against these; {letor4.NOISE:g} MAP is noise here.",
        tuple(findings),
        (
            Table("Means of the test parts", ("ranker", *letor4.METRICS), tuple(rows)),
            Table(f"Others less {best}, AP", ("ranker", "difference", "p (Holm)"), tests, folded=True),
        ),
        remarks=tuple(f"{name} was not measured: {why}." for name, why in missing.items()),
        headline=tuple(headline),
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
    return Section(
        title,
        margin.CITATION,
        about,
        tuple(findings),
        tuple(tables),
        remarks=remarks,
        headline=_margin_headline(report),
    )


def _margin_headline(report: margin.MarginReport) -> tuple[tuple[str, str, str, str], ...]:
    """TestAP of LR and RLR, beside the best of all methods, and how much faster RLR is."""
    paper = {name: sum(rows[name][1] for rows in margin.TABLE_1.values()) / 3 for name in margin.TABLE_1["t05"]}
    mine = {name: result.row()[1] for name, result in report.per_query.items()}
    ways = {"": mine, ", pooled": {name: result.row()[1] for name, result in report.pooled.items()}}
    best, how = max(
        ((name, how) for how, found in ways.items() for name in found), key=lambda pair: ways[pair[1]][pair[0]]
    )
    seconds = {name: result.seconds for name, result in report.per_query.items()}
    named = [", ".join(f"{values[name]:.3f}" for name in ("LR", "RLR", "F-RLR")) for values in (paper, mine)]
    faster = f"{seconds['F-RLR'] / seconds['RLR']:.2f}"
    return (
        (f"{report.name}: TestAP of LR, RLR, F-RLR", named[0], named[1], f"{ways[how][best]:.3f} ({best}{how})"),
        (f"{report.name}: time of F-RLR / RLR", f"{margin.SPEEDUP:g}", faster, ""),
    )


def theory_section(problems: int = 400) -> Section:
    """The two theorems of the margin framework, counted."""
    counted = {"Theorem 1": margin_theory.theorem_1(problems), "Theorem 2": margin_theory.theorem_2()}
    rows = tuple(
        (
            f"{theorem}: {one.what}",
            f"{one.failed:,}",
            f"{one.tried:,}",
            "" if not one.claimed else _yes(one.failed == 0),
        )
        for theorem, counts in counted.items()
        for one in counts
    )
    return Section(
        "Ranking logistic regression: its theorems, counted",
        margin.CITATION,
        "Theorem 1: a feature that orders every pair of each of two queries must not get a weight against it. Theorem "
        "2: the loss of a pair is at most the sum of the losses of its rows, which makes eq. 4 an upper bound. Random "
        "problems and random scores.",
        tables=(Table("Counterexamples", ("statement", "failed", "of", "holds"), rows),),
        remarks=(
            "As printed, with one shift for all queries, Theorem 1 is false for RLR: its proof takes separation within "
            "each query for separation of all rows. With a shift for each query it holds (A2 in docs/papers.md).",
            "Theorem 2's condition, called very general, fails for the exponential loss of boosting and for the "
            "squared hinge (A5).",
        ),
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


# Why a conclusion of the paper may not appear.
_WHY_NOT = {
    "RLR - LR, TestAP": (
        "RLR below LR: the test says how far that is chance on these queries. RLR, F-RLR and SVM count every pair of a "
        "query alike, so that few relevant items weigh as much as all others; AP looks at the first results, to which "
        "LR gives more weight then. docs/margin-framework.md has other divisions of the items."
    ),
    "F-RLR - RLR, TestAP": (
        "F-RLR and RLR differ by more than .01: the fewer relevant items a query has to learn from, the more of that "
        "is chance; the test says how much."
    ),
    "time of F-RLR / RLR, per query": (
        "F-RLR is as fast as RLR: it takes all pairs from moments of binned scores, without forming one, where the "
        "paper's went through them."
    ),
}


def car_section(report: content_aware_report.CarReport, figures: Figures = ()) -> Section:
    """Content-aware ranking: table 1 in every setting, with tests."""
    paper = content_aware_report
    tables = [_car_summary(report)]
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
        tables.append(Table(title, head, tuple(rows), folded=True))
    against = tuple(
        (str(setting), gain.other, f"{gain.difference:+.4f}", f"{gain.holm:.4f}", f"{gain.wins}-{gain.losses}")
        for setting, gain in paper.verdicts(report)
    )
    tables.append(
        Table(
            "The same text model, reranked",
            ("setting", "CAR against", "nDCG@10", "p (Holm)", "wins-losses"),
            against,
            folded=True,
        )
    )
    about = "Data: Flickr8k, single words and judged captions; the paper's web pictures are not public."
    everything = paper.findings(report)
    findings = tuple(one for one in everything if one.paper is not None)
    return Section(
        "Content-aware ranking",
        paper.CITATION,
        about,
        findings,
        tuple(tables),
        figures,
        reasons(findings, _WHY_NOT_CAR),
        _car_headline(report),
        tuple(one for one in everything if one not in findings),
    )


def _car_summary(report: content_aware_report.CarReport) -> Table:
    """nDCG@10 of some methods in every setting, and the test of content-aware ranking against its own text model."""
    shown = ("BM25", "ListNet", "ListNet-VR", "ListNet-BR", "CAR0", "CAR0-smooth", "CAR")
    tests = {setting: gain for setting, gain in content_aware_report.verdicts(report) if gain.other == "CAR0"}
    rows = tuple(
        (
            str(setting),
            *(f"{measured.mean(method)[9]:.3f}" for method in shown),
            f"{tests[setting].difference:+.3f}",
            f"{tests[setting].holm:.4f}",
        )
        for setting, measured in report.settings.items()
    )
    return Table("nDCG@10; CAR0 is CAR without pictures", ("setting", *shown, "CAR less CAR0", "p (Holm)"), rows)


def _car_headline(report: content_aware_report.CarReport) -> tuple[tuple[str, str, str, str], ...]:
    """nDCG@10 of ListNet and of content-aware ranking, and the best method, in each setting."""
    paper = content_aware_report
    rows = []
    for setting, measured in report.settings.items():
        values = {method: float(measured.mean(method)[9]) for method in paper.METHODS}
        published = paper.PAPER["nDCG"].get(setting.n_train, {}).get(10)
        best = max(values, key=values.__getitem__)
        both = ("ListNet", "CAR")
        rows.append((
            f"nDCG@10 of ListNet and CAR: {setting}",
            " and ".join(f"{published[name]:.3f}" for name in both) if published else "",
            " and ".join(f"{values[name]:.3f}" for name in both),
            f"{values[best]:.3f} ({best})",
        ))  # fmt: skip
    return tuple(rows)


_WHY_NOT_CAR = (
    "Pictures help where they know more than the text: single words with a graph of the semantic descriptor. A graph "
    "of classical descriptors, as the paper had, joins pictures of the same colours and shapes, which on Flickr8k says "
    "little of what is in them; and the text of a picture that was judged for a whole caption says most of it already."
)


def cascade_section(
    report: cascade.CascadeReport, what: str, figures: Figures = (), promise: cascade.Promise | None = None
) -> Section:
    """Imbalanced RankBoost and the soft cascade, and how the budget is kept on generated concepts if that is given."""
    rows = []
    for method in cascade.METHODS:
        asked, means = report.at_the_end(method)
        rows.append((method, f"{asked:.1f}", *(f"{value:.3f}" for value in means.values())))
    table = Table("After all rounds", ("method", "features an item", *cascade.DEPTHS), tuple(rows))
    findings = tuple(cascade.findings(report))
    if promise is not None:
        findings += _kept(promise)
    title, about = "Imbalanced RankBoost, and soft cascades", f"Data: {what}; TRECVID is not public."
    headline = _cascade_headline(report, promise)
    remarks = reasons(findings, _WHY_NOT_CASCADE)
    return Section(title, cascade.CITATION, about, findings, (table,), figures, remarks, headline)


def _cascade_headline(
    report: cascade.CascadeReport, promise: cascade.Promise | None
) -> tuple[tuple[str, str, str, str], ...]:
    """What Imbalanced RankBoost saves, what it reaches, and what a soft cascade does."""
    times = [value for value in report.speedup("AP@100") if value == value]
    n, cost, reached = len(report.curves["RankBoost"]), report.last_cost(), report.beyond_plateau()
    saved = f"{np.median(times):.1f} on {len(times)} of {n} concepts" if times else "no concept"
    rows = [
        ("times fewer features at RankBoost's AP@100 of ten rounds", f"{cascade.PAPER['speedup AP@100']:g}", saved, ""),
        (f"AP@100 with {cost:.1f} features an item", "", f"{reached.ours:.3f}",
         f"{reached.other:.3f} (soft cascade)"),
    ]  # fmt: skip
    if promise is not None:
        kept = f"{np.median(promise.times):.1f} (soft cascade, {promise.mean:.1%} lost)"
        rows.append((f"times fewer features within a loss of {cascade.BUDGET:.0%}, generated concepts", "", "", kept))
    return tuple(rows)


def _kept(promise: cascade.Promise) -> tuple[Finding, ...]:
    """How the budget is kept where other rows place the cut-offs than those that were boosted on."""
    n = len(promise.lost)
    what = f"  the same on {n} generated concepts whose cut-offs were placed on rows apart"
    return (
        Finding(what, promise.mean, None, promise.mean <= cascade.BUDGET),
        Finding("  its standard error", promise.error, None),
        Finding("  times fewer features there, median", float(np.median(promise.times)), None),
    )


_WHY_NOT_CASCADE = (
    "Imbalanced RankBoost places a cut-off with every feature that it takes, from the relevant items of the boosting "
    "part, and never takes it back: where these are a handful, relevant items are dropped for good. The soft cascade "
    "places all cut-offs together, after boosting, within a budget of what may be lost: on rows apart, or, where a "
    "concept has too few, with a margin that is cross-validated together with boosting."
)
