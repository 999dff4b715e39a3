"""What is in deploy/ fits its schemas, and runs commands that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from rankloom.cli import main
from rankloom.collection.postgres.address import parsed

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def _commands():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name, service in services.items():
        if "command" in service:
            yield name, service["command"]
    for path in MANIFESTS:
        for document in yaml.safe_load_all(path.read_text()):
            pod = document["spec"].get("template", {}).get("spec", {})
            for container in pod.get("containers", ()):
                if "args" in container:
                    yield f"{path.stem}/{container['name']}", container["args"]


COMMANDS = dict(_commands())


@pytest.mark.slow
def test_compose_file_fits_the_specification():
    pytest.importorskip("check_jsonschema")
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*check, DEPLOY / "compose.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_are_those_that_kubernetes_knows(path):
    validate = pytest.importorskip("kubernetes_validate").validate
    for document in yaml.safe_load_all(path.read_text()):
        validate(document, "1.31", strict=True)
        assert document["metadata"]["labels"]["app"] == "rankloom"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_containers_run_commands_that_there_are(name):
    program, command, *arguments = COMMANDS[name]
    if program == "dask":
        cli = pytest.importorskip(f"distributed.cli.dask_{command}").main
    else:
        assert program == "rankloom"
        cli = main.commands[command]
    context = cli.make_context(command, arguments, resilient_parsing=True)
    unknown = [word for word in arguments if word.startswith("--") and word not in _spellings(cli)]
    assert (unknown, context.args) == ([], [])


def _spellings(cli):
    return {spelling for option in cli.params for spelling in (*option.opts, *option.secondary_opts)}


def test_services_select_pods_that_there_are():
    documents = [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text())]
    labels = [document["spec"]["template"]["metadata"]["labels"] for document in documents if _runs(document)]
    services = [document for document in documents if document["kind"] == "Service"]
    assert len(labels) == len(services) == 4
    for service in services:
        assert service["spec"]["selector"] in labels
    scheduler = COMMANDS["workers/worker"][2].removeprefix("tcp://").removesuffix(":8786")
    assert scheduler in [service["metadata"]["name"] for service in services]


def _runs(document):
    return document["kind"] in ("Deployment", "StatefulSet")


def test_servers_name_the_database_that_there_is():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = services["server"]["environment"]["RANKLOOM_COLLECTION"]
    assert urlsplit(parsed(given).database).hostname in services
    assert parsed(given).files == "/data/collection"
    documents = [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text())]
    names = {document["metadata"]["name"] for document in documents if document["kind"] == "Service"}
    server = next(document for document in documents if document["metadata"]["name"] == "rankloom-server")
    environment = {entry["name"]: entry for entry in server["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert urlsplit(parsed(environment["RANKLOOM_COLLECTION"]["value"]).database).hostname in names
