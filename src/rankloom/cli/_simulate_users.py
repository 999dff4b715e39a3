"""simulate --data: users of a labelled collection."""

from __future__ import annotations

from typing import Any

import click

from rankloom.cli._output import emit, file_progress, table, write_json


def simulate_on_collection(
    folder: str,
    labels: str | None,
    preset: str | None,
    options: dict[str, Any],
    output: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Let users search by example and mark; show what each way of following their marks gains."""
    from rankloom.experiments import learned_weights, load_labeled, simulate_users

    if labels is None:
        raise click.UsageError("--data needs --labels, the classes of its files")
    with file_progress() as update:
        data = load_labeled(folder, labels, preset=preset)
        weights = learned_weights(data, random_state=options["random_state"] + 1)
        found = simulate_users(data, weights, progress=update, **options)
    if output is not None:
        write_json(found.to_dict(), output)
    if plot is not None:
        from rankloom.experiments.plots import plot_rounds

        plot_rounds(found.to_dict(), plot)
    if as_json:
        for name in found.values:
            emit({"strategy": name, "AP": found.mean(name), "interval": found.interval(name)})
    else:
        rows = []
        for name in found.values:
            cells = zip(found.mean(name), found.interval(name), strict=True)
            rows.append([name, *(f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, (low, high) in cells)])
        heads = ["AP of users who follow marks by", "at first"]
        heads += [f"after {turn * options['per_round']} marks" for turn in range(1, options["rounds"] + 1)]
        table(heads, rows, f"{len(data)} items, {options['n_queries']} users, {options['noise']:.0%} of marks wrong")
    for written in (output, plot):
        if written is not None:
            click.echo(f"-> {written}", err=as_json)
