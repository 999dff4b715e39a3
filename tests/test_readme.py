"""The session in the shell of the guide for search engineers, run as it is printed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rankloom.cli import main
from tests.shell import invoke

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide-search-engineers.md"
NUMBER = re.compile(r"[-+<]?\d[\d,]*\.?\d*(?:e-?\d+)?")


def session():
    """Each command of the section "In the shell", and what the guide says it prints."""
    section = re.search(r"^## In the shell\n(.*?)^## ", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    block = re.search(r"```\n(.*?)```", section[1], re.S)[1]
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def words(line):
    """A line without its numbers, which differ in their last digits from machine to machine, and its blanks."""
    return NUMBER.sub("#", line).split()


@pytest.fixture
def path(tmp_path):
    """Where `rankloom` is this very package."""
    script = tmp_path / "bin" / "rankloom"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rankloom "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.slow
def test_the_session_in_the_shell(tmp_path, path):
    steps = session()
    assert [command.split()[1] for command, _ in steps if command.startswith("rankloom ")] == [
        "make-ranking", "fit", "predict", "evaluate", "compare",
    ]  # fmt: skip
    (tmp_path / "work").mkdir()
    environment = {**os.environ, "PATH": path, "COLUMNS": "200"}
    for command, expected in steps:
        ran = subprocess.run(
            command, shell=True, cwd=tmp_path / "work", env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        printed = [words(line) for line in ran.stdout.splitlines() if line.strip()]
        wanted = [words(line) for line in expected if line.strip()]
        if ["..."] in wanted:  # lines that are left out
            cut = wanted.index(["..."])
            assert printed[:cut] == wanted[:cut], command
            assert printed[len(printed) - (len(wanted) - cut - 1) :] == wanted[cut + 1 :], command
        else:
            assert printed == wanted, command


def test_help_begins_with_what_most_people_need():
    text = invoke("--help").stdout
    places = [text.index(f"\n  {name} ") for name in ("index", "search", "serve", "feedback", "info", "fit", "bench")]
    assert places == sorted(places)
    start = re.search(r"Start here:\n(.*?)\n\n", text, re.S)[1]
    assert [line.split()[1] for line in start.splitlines()] == ["index", "serve", "search"]
    shown = re.findall(r"^  ([a-z][a-z-]+)  ", text, re.M)
    assert sorted(shown) == sorted(main.commands)
