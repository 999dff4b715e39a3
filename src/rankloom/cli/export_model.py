"""export-model: a ranker for another engine."""

from __future__ import annotations

from typing import Any

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, say, write_json

_File = click.Path(dir_okay=False)


@click.command("export-model")
@click.argument("model", type=_File)
@click.option(
    "--format", "form", type=click.Choice(["elasticsearch", "onnx"]), required=True,
    help="JSON for the learning-to-rank plugin of Elasticsearch and OpenSearch, or an ONNX graph.",
)  # fmt: skip
@click.option("--output", "--out", "-o", type=_File, required=True, help="Where to write it.")
@click.option(
    "--golden", type=_File, help="Also write rows with their scores (JSON), to compare the other engine with."
)
@click.option("--name", default="rankloom", show_default=True, help="The name of the model in Elasticsearch.")
@json_option
def export_model(model: str, form: str, output: str, golden: str | None, name: str, as_json: bool) -> None:
    """Write the ranker MODEL, which `fit` has saved, for another engine.

    Elasticsearch takes linear rankers; ONNX takes boosted ones and cascades, too.

    \b
    Example:
      rankloom export-model model.json --format elasticsearch -o elastic.json
      rankloom export-model model.json --format onnx -o model.onnx --golden golden.json
    """
    from rankloom.rankers import load_ranker
    from rankloom.rankers.export import elasticsearch_model, golden_rows, golden_vectors, names_of, onnx_model

    ranker = load_ranker(model)
    names = names_of(ranker)
    if form == "elasticsearch":
        write_json(elasticsearch_model(ranker, names, name=name), output)
    else:
        from rankloom._io import atomic_write

        content = onnx_model(ranker, names).SerializeToString()
        with atomic_write(output) as file:
            file.write(content)
    record: dict[str, Any] = {"ranker": type(ranker).__name__, "format": form, "features": len(names), "output": output}
    if golden is not None:
        vectors = golden_vectors(ranker, golden_rows(ranker))
        write_json({"feature_names": names, **vectors.to_dict()}, golden)
        record |= {"golden": golden, "golden_rows": len(vectors.rows)}
    if as_json:
        emit(record)
        return
    say(f"{record['ranker']}, {len(names)} features -> {output}")
    if golden is not None:
        say(f"{record['golden_rows']} rows with their scores -> {golden}")
