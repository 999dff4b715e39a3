"""What commands print while they work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rankloom.cli._output import Lines


def test_lines_for_every_tenth_and_every_few_seconds():
    now, lines = [0.0], []
    shown = Lines(lines.append, lambda: now[0])
    for done in range(101):  # two steps a second: a tenth takes five
        now[0] = done / 2
        shown.update(done, 100, "drawing")
    assert lines == [f"{done} of 100: drawing" for done in range(10, 101, 10)]


def test_lines_are_few_when_it_is_fast_and_come_when_it_is_slow():
    now, lines = [0.0], []
    shown = Lines(lines.append, lambda: now[0])
    for done in range(10_001):
        now[0] = done / 5000  # two seconds in all
        shown.update(done, 10_000, "describing")
    assert lines == ["5,000 of 10,000: describing", "10,000 of 10,000: describing"]
    now, lines = [0.0], []
    shown = Lines(lines.append, lambda: now[0])
    for step in range(1, 13):
        now[0] = step
        shown.update(0, 0, f"file {step}")
    assert lines == ["file 5", "file 10"]


@pytest.mark.slow
def test_a_long_command_without_a_terminal_says_how_far_it_is(tmp_path):
    code = (
        "import sys\nfrom rankloom.cli import _output, main\n"
        "_output.Lines.OFTEN = 0.0  # as if every step took long\n"
        "main(['sample', sys.argv[1], '--pictures', '10', '--videos', '0', '--json'])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=True)
    steps = [line.split(":")[0] for line in ran.stderr.splitlines() if not line.startswith("OPENCV:")]
    assert steps == [f"{done} of 10" for done in range(1, 10)]
    assert ran.stdout.count("\n") == 1  # standard output is for results
