"""What commands print while they work."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image

import rankloom.cli
from rankloom.cli._output import Lines, PrintableFormatter, printable
from tests.shell import rankloom as run

EVIL = "x\x1b]0;title\x07\x1b[2J\r\x9b31m\u202egpj\nwarning"


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


def test_what_takes_long_without_a_step_is_said_again():
    now, lines = [0.0], []
    shown = Lines(lines.append, lambda: now[0], "looking for files")
    for now[0] in range(26):
        shown.remind()
    shown.update(0, 9, "describing")
    for now[0] in range(26, 46):
        shown.remind()
    assert lines == [
        "looking for files (for 10 s)", "looking for files (for 20 s)", "0 of 9: describing",
        "0 of 9: describing (for 10 s)", "0 of 9: describing (for 20 s)",
    ]  # fmt: skip


def test_reminders_end_with_the_work():
    def reminding():
        return [thread for thread in threading.enumerate() if thread.name == "rankloom progress"]

    with Lines(print, text="searching").reminding():
        assert len(reminding()) == 1
    assert reminding() == []


@pytest.mark.slow
def test_a_long_command_without_a_terminal_says_how_far_it_is(tmp_path):
    code = (
        "import sys\nfrom rankloom.cli import _output, main\n"
        "_output.Lines.OFTEN = 0.0  # every tenth is said\n"
        "_output.Lines.RARELY = _output.Lines.SILENT = 1e9  # and nothing else, however long it takes\n"
        "main(['sample', sys.argv[1], '--pictures', '10', '--videos', '0', '--json'])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=True)
    steps = [line.split(":")[0] for line in ran.stderr.splitlines() if not line.startswith("OPENCV:")]
    assert steps == [f"{done} of 10" for done in range(1, 10)]
    assert ran.stdout.count("\n") == 1  # standard output is for results


def test_tests_run_commands_that_are_silent_about_progress():
    """What a command prints would depend on how busy the machine is."""
    tests = Path(__file__).parents[1]
    runner = "import " + "CliRunner"
    assert [path.name for path in tests.rglob("*.py") if runner in path.read_text()] == ["shell.py"]


def test_no_command_prints_past_the_one_function():
    """Names and texts of files are made harmless in one place."""
    for path in Path(rankloom.cli.__file__).parent.glob("*.py"):
        if path.name != "_output.py":
            assert not re.search(r"click\.echo|(?<!\w)print\(|Console\(", path.read_text()), path.name


def harmless(ran):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ran.output), ran.output
    assert "\nwarning" not in ran.stdout
    return ran.output


@pytest.mark.slow
def test_control_characters_in_names_reach_no_terminal(tmp_path):
    pictures, where = tmp_path / "p", ("-c", tmp_path / "c")
    pictures.mkdir()
    for number, name in enumerate((f"{EVIL}.png", f"copy {EVIL}.png", "[bold]red[dim] boat.png")):
        Image.new("RGB", (64, 64), (250, 20 * (number // 2), 10)).save(pictures / name)
    (pictures / f"broken {EVIL}.jpg").write_bytes(b"\xff\xd8 no picture")
    (pictures / "captions.csv").write_text('path,caption\n"[bold]red[dim] boat.png","a \x1b[31mred boat"\n')
    indexed = run("index", pictures, *where, "--captions", pictures / "captions.csv", "--workers", 0)
    assert "2 files described" in harmless(indexed)
    assert "\\x1b]0;title" in harmless(run("info", *where, "--errors"))
    found = harmless(run("search", "--item", 1, *where))
    assert "[bold]red[dim] boat.png" in found
    assert "\\x1b[2J" in found
    assert "equal: " in harmless(run("duplicates", *where))
    harmless(run("concepts", "train", "red", "-p", pictures / EVIL, *where, code=1))
    harmless(run("feedback", EVIL, "--right", 1, *where))
    assert "\\u202e" in harmless(run("feedback", "--list", *where))
    harmless(run("search", "--like", tmp_path / EVIL, *where, code=2))
    harmless(run("info", "-c", tmp_path / EVIL, code=1))
    harmless(run("export", tmp_path / EVIL / "items.csv", *where, code=1))
    assert '"\\u001b' not in harmless(run("search", "--item", 1, *where, "--json")).split("{")[0]


def test_lines_of_the_log():
    record = logging.LogRecord(
        "a", logging.ERROR, "", 1, "failure at %s\nthe next line", (EVIL.replace("\n", ""),), None
    )
    lines = PrintableFormatter("%(message)s").format(record).split("\n")
    assert lines == [f"failure at {printable(EVIL.replace(chr(10), ''))}", "the next line"]
    assert all(line.isprintable() for line in lines)


def test_letters_of_all_languages_stay():
    for text in ("Häfen 灯台\u3000海 प्रकाश", "na\u00efve\u00a0house", "👩\u200d🚀"):
        assert printable(text) == text
    assert printable("a\udcff\u2028b\x00") == "a\\udcff\\u2028b\\x00"
