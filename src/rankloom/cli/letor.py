"""fit, predict, evaluate: rankers on files of features (LETOR, SVMlight, Parquet, CSV)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rankloom.cli._options import (
    RANKER_NAMES,
    cluster_option,
    json_option,
    metric_option,
    policy_option,
    read_settings,
    set_option,
)
from rankloom.cli._output import emit, say, table

if TYPE_CHECKING:
    from rankloom.core import RankingData
    from rankloom.rankers import Ranker

sparse_option = click.option("--sparse", is_flag=True, help="Keep LETOR text sparse: memory follows its non-zeros.")
METRICS = ("AP", "nDCG@10", "P@10", "RR")
_File = click.Path(dir_okay=False)


def _size(data: RankingData) -> dict[str, int]:
    from rankloom.groups import group_rows

    return {"queries": len(group_rows(data.qid, len(data))), "rows": len(data), "features": data.X.shape[1]}


class _Training(NamedTuple):
    """The data of TRAIN, here or on a cluster: their size, the names of their features, and what fits a ranker."""

    size: dict[str, int]
    feature_names: Sequence[str] | None
    fit: Callable[[Ranker], Ranker]


def _training(train: str, cluster: str | None, sparse: bool, opened: ExitStack) -> _Training:
    if cluster is not None:
        from rankloom.cluster import ClusterData, connected
        from rankloom.cluster import fit as fit_on_cluster

        client = opened.enter_context(connected(cluster))
        parts = ClusterData.read(train, client)
        if parts.regrouped:
            say("the rows of some queries were in several files: they have been brought together", err=True)
        size = {"queries": parts.n_queries, "rows": parts.n_rows, "features": len(parts.feature_names)}
        return _Training(size, parts.feature_names, lambda ranker: fit_on_cluster(ranker, parts, client))
    from rankloom.datasets import load
    from rankloom.datasets.patterns import is_pattern, load_files

    data = load_files(train, sparse=sparse) if is_pattern(train) else load(train, sparse=sparse)
    return _Training(_size(data), data.feature_names, lambda ranker: ranker.fit(*data))


@click.command()
@click.argument("train")
@click.option("--ranker", "-r", default="rlr", show_default=True, help=f"One of {RANKER_NAMES}.")
@set_option
@click.option("--output", "-o", type=_File, required=True, help="Where to write the ranker (JSON).")
@click.option("--validation", type=_File, help="Choose the parameters that are not set on this file.")
@click.option("--stream", is_flag=True, help="For online rankers: read TRAIN piece by piece, in bounded memory.")
@cluster_option
@sparse_option
@metric_option("AP")
@policy_option
@json_option
def fit(
    train: str,
    ranker: str,
    settings: tuple[str, ...],
    output: str,
    validation: str | None,
    stream: bool,
    cluster: str | None,
    sparse: bool,
    metrics: tuple[str, ...],
    policy: str,
    as_json: bool,
) -> None:
    """Fit a ranker to TRAIN and save it as JSON.

    TRAIN is a file, a pattern that several files match, a folder of Parquet files, or an address such as
    s3://bucket/train-*.parquet. With --cluster Parquet files are loaded and learned from by the workers of a Dask
    cluster, each file by one of them.

    \b
    Example:
      rankloom fit train.txt --ranker rlr --set nu=1 -o model.json
      rankloom fit train.txt.gz --ranker frlr --validation vali.txt.gz -o model.json
      rankloom fit large.txt.gz --ranker opar2 --stream -o model.json
      rankloom fit words.txt.gz --ranker frlr --sparse -o model.json
      rankloom fit 'train/*.parquet' --cluster local:4 -o model.json
    """
    from rankloom.datasets import load
    from rankloom.model_selection.selection import default_grid, select_fitted
    from rankloom.rankers import make_ranker

    fixed = read_settings(settings)
    make = partial(make_ranker, ranker, **fixed)
    model = make()  # a wrong name or parameter is said before a long file is read
    if sparse and not model.takes_compact:
        raise ValueError(f"{ranker} learns from dense rows only; leave --sparse out")
    if cluster is not None and (stream or sparse):
        raise ValueError("--cluster reads Parquet files into memory; --stream and --sparse do not go with it")
    if stream:
        _fit_stream(train, ranker, model, fixed, output, validation, sparse, as_json)
        return
    with ExitStack() as opened:
        training = _training(train, cluster, sparse, opened)
        record: dict[str, Any] = {"ranker": ranker, **training.size}
        began = perf_counter()
        if validation is None:
            training.fit(model)
        else:
            held = load(validation, sparse=sparse)
            chosen = select_fitted(training.fit, make, default_grid(ranker, fixed), held, metrics[0], policy)
            model, fixed = chosen.ranker, {**fixed, **chosen.params}
            record["validation"] = {metrics[0]: chosen.value}
        record |= {"params": fixed, "seconds": round(perf_counter() - began, 4), "output": output}
    if training.feature_names is not None:
        import numpy as np

        model.feature_names_in_ = np.array(training.feature_names, dtype=object)
    model.save(output)
    _tell_fit(record, as_json)


def _fit_stream(
    train: str,
    name: str,
    model: Ranker,
    fixed: dict[str, Any],
    output: str,
    validation: str | None,
    sparse: bool,
    as_json: bool,
) -> None:
    from rankloom.datasets import iter_letor
    from rankloom.rankers import OnlineRanker

    if not isinstance(model, OnlineRanker):
        raise ValueError(f"--stream needs an online ranker (opr, opar1, opar2, ogdr, arow), {name} is not one")
    if validation is not None:
        raise ValueError("--stream learns in one go; --validation does not go with it")
    queries = rows = 0
    began = perf_counter()
    for _ in range(model.n_epochs):
        queries = rows = 0
        for part in iter_letor(train, sparse=sparse):
            model.partial_fit(part.X, part.y, qid=part.qid)
            queries, rows = queries + len(set(part.qid.tolist())), rows + len(part)
    model.save(output)
    record = {"ranker": name, "queries": queries, "rows": rows, "features": model.n_features_in_, "params": fixed}
    record |= {"seconds": round(perf_counter() - began, 4), "output": output, "report": model.report().to_dict()}
    _tell_fit(record, as_json)
    if not as_json:
        say(*str(model.report()).splitlines())


def _tell_fit(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(record)
        return
    fixed = record["params"]
    params = ", ".join(f"{name}={value}" for name, value in fixed.items()) or "default parameters"
    say(
        f"{record['ranker']} ({params}): {record['queries']:,} queries, {record['rows']:,} rows, "
        f"{record['features']} features, {record['seconds']:.2f} s -> {record['output']}"
    )
    for metric, value in record.get("validation", {}).items():
        say(f"validation {metric}: {value:.4f}")


def _predict(model_path: str, data: RankingData, path: str) -> Any:
    from rankloom.rankers import load_ranker

    model = load_ranker(model_path)
    data = data.widened(model.n_features_in_)
    if data.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{model_path} was trained on {model.n_features_in_} features, {path} has {data.X.shape[1]}; "
            "fit it again or give the file it belongs to"
        )
    names = getattr(model, "feature_names_in_", None)
    if names is not None and data.feature_names is not None and list(names) != list(data.feature_names):
        raise ValueError(f"{model_path} was trained on other features than {path} has, or in another order")
    return _without_names(model).predict(data.X, qid=data.qid)


def _without_names(model: Any) -> Any:
    """The ranker for plain arrays: names were compared already, and scikit-learn would warn of their absence."""
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return model


@click.command()
@click.argument("data", type=_File)
@click.option("--model", type=_File, required=True, help="A ranker that `fit` wrote.")
@click.option("--output", "-o", type=_File, help="Where to write; standard output without it.")
@click.option(
    "--format", "form", type=click.Choice(["run", "scores", "json"]), default="run", show_default=True,
    help="A TREC run, one score a row in the order of DATA, or one JSON object a hit.",
)  # fmt: skip
@click.option("--qrels", type=_File, help="Also write the grades of DATA as TREC qrels, for trec_eval and its kin.")
@sparse_option
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def predict(
    data: str, model: str, output: str | None, form: str, qrels: str | None, sparse: bool, as_json: bool
) -> None:
    """Score the rows of DATA.

    \b
    Example:
      rankloom predict test.txt --model model.json -o run.txt --qrels qrels.txt
    """
    from rankloom._io import atomic_write
    from rankloom.datasets import load, write_qrels, write_run
    from rankloom.datasets.trec import qrels_of, run_of

    rows = load(data, sparse=sparse)
    scores = _predict(model, rows, data)
    if qrels is not None:
        write_qrels(qrels_of(rows), qrels)
    form = "json" if as_json else form
    if form == "run" and output is not None:
        write_run({str(qid): hits for qid, hits in run_of(rows, scores).items()}, output)
        return
    if form == "scores":
        lines = [repr(score) for score in scores.tolist()]
    elif form == "run":
        lines = [
            f"{qid} Q0 {hit.id} {hit.rank} {hit.score!r} rankloom"
            for qid, hits in run_of(rows, scores).items()
            for hit in hits
        ]
    else:
        lines = [
            json.dumps({"qid": qid, "rank": hit.rank, "id": hit.id, "score": hit.score})
            for qid, hits in run_of(rows, scores).items()
            for hit in hits
        ]
    if output is None:
        say(*lines)
    else:
        with atomic_write(output) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


@click.command()
@click.argument("data", type=_File, required=False)
@click.option("--model", type=_File, help="Score DATA by this ranker.")
@click.option("--scores", "scores_file", type=_File, help="Scores of the rows of DATA, one a line.")
@click.option("--run", "run_file", type=_File, help="A TREC run; goes with --qrels.")
@click.option("--qrels", type=_File, help="TREC judgements of the run.")
@metric_option(*METRICS)
@policy_option
@click.option("--per-query", is_flag=True, help="A line for each query too.")
@sparse_option
@json_option
def evaluate(
    data: str | None,
    model: str | None,
    scores_file: str | None,
    run_file: str | None,
    qrels: str | None,
    metrics: tuple[str, ...],
    policy: str,
    per_query: bool,
    sparse: bool,
    as_json: bool,
) -> None:
    """Measure a ranking: DATA by a model or by scores, or a TREC run against qrels.

    Queries that the qrels have and the run has not count as empty lists.

    \b
    Example:
      rankloom evaluate test.txt --model model.json -m AP -m nDCG@10
      rankloom evaluate --run run.txt --qrels qrels.txt --policy trec --json
    """
    import numpy as np

    from rankloom.evaluation.metrics import evaluate_queries

    options: dict[str, Any] = {}
    if run_file is not None and qrels is not None and data is None:
        from rankloom.datasets import align, read_qrels, read_run

        aligned = align(read_run(run_file), read_qrels(qrels))
        y, scores, qid = aligned.y, aligned.scores, aligned.qid
        options = {"ids": aligned.ids, "retrieved": aligned.retrieved}
        if aligned.unjudged_queries:
            say(f"left out: {aligned.unjudged_queries} queries of the run without judgements", err=True)
    elif data is not None and (model is None) != (scores_file is None) and run_file is None:
        from rankloom.datasets import load
        from rankloom.datasets.trec import read_scores

        rows = load(data, sparse=sparse)
        y, qid = rows.y, rows.qid
        scores = _predict(model, rows, data) if model is not None else read_scores(str(scores_file), len(rows))
    else:
        raise click.UsageError("give DATA with --model or --scores, or --run with --qrels")
    measured = evaluate_queries(y, scores, qid, list(metrics), policy, **options)
    means = {metric: float(np.nanmean(values)) for metric, values in measured.values.items()}
    if as_json:
        if per_query:
            for i, key in enumerate(measured.qids):
                emit({"qid": key, **{metric: _or_none(values[i]) for metric, values in measured.values.items()}})
        emit({"queries": len(measured.qids), "policy": policy, **means})
        return
    _show_measured(measured, means, policy, per_query)


def _show_measured(measured: Any, means: dict[str, float], policy: str, per_query: bool) -> None:
    if not per_query:
        body = [[metric, f"{value:.4f}"] for metric, value in means.items()]
        table(["metric", "mean"], body, f"{len(measured.qids):,} queries, policy {policy}")
        return
    lines = [
        [str(key), *(f"{values[i]:.4f}" for values in measured.values.values())] for i, key in enumerate(measured.qids)
    ]
    table(["query", *means], [*lines, ["mean", *(f"{value:.4f}" for value in means.values())]])


def _or_none(value: float) -> float | None:
    return None if value != value else float(value)
