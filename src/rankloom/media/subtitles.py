"""Subtitles: read .srt and .vtt files and give their words to the shots that they cover."""

from __future__ import annotations

import html
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from rankloom.media._text_files import clean, read_text

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"^\s*{_TIME}\s*-->\s*{_TIME}")
_MARKUP = re.compile(r"<[^<>]{0,200}>|\{[^{}]{0,200}\}")
EXTENSIONS = (".srt", ".vtt")
# Of the subtitles of a video: pairs of a line and a shot, and characters. A film of three hours has some 5,000 and
# 200,000.
MAX_PLACES, MAX_CHARACTERS = 200_000, 4_000_000


class Cue(NamedTuple):
    """A line of subtitles with its times in seconds."""

    start: float
    end: float
    text: str


def read_subtitles(path: str | os.PathLike[str]) -> list[Cue]:
    r"""Read a SubRip (.srt) or WebVTT (.vtt) file; lines that are neither times nor text are skipped.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.srt")
    ...     _ = file.write_text("1\n00:00:01,500 --> 00:00:03,000\n<i>Hello</i>\nyou\n")
    ...     read_subtitles(file)
    [Cue(start=1.5, end=3.0, text='Hello you')]
    """
    cues = []
    # Blocks are parted by empty lines; the line with the times opens the text, whatever stands before it.
    for block in re.split(r"\n[ \t]*\n", read_text(path)):
        lines = block.strip().splitlines()
        for number, line in enumerate(lines):
            match = _TIMES.match(line)
            if match:
                start, end = _seconds(match.groups()[:4]), _seconds(match.groups()[4:])
                text = clean(html.unescape(_MARKUP.sub("", " ".join(lines[number + 1 :]))))
                if text and end >= start:
                    cues.append(Cue(start, end, text))
                break
    return cues


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = parts
    return 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0) + float(f"0.{fraction}")


def spread_cues(
    cues: Iterable[Cue], shots: Sequence[tuple[float, float]], warn: Callable[[str], None] = lambda line: None
) -> list[str]:
    """The words of each shot: of all cues that it shares time with, more than a moment or most of the cue.

    Parameters
    ----------
    cues : of `read_subtitles`
    shots : start and end of each in seconds
    warn : called with a line if there is too much text

    Examples
    --------
    >>> spread_cues([Cue(0, 2, "a bus"), Cue(4, 9, "in the rain")], [(0, 3), (3, 6), (6, 8)])
    ['a bus', 'in the rain', 'in the rain']
    """
    cues = list(cues)
    order = sorted(range(len(shots)), key=lambda shot: shots[shot][0])
    starts = [shots[shot][0] for shot in order]
    ends = list(accumulate((shots[shot][1] for shot in order), max))
    lines: list[dict[str, None]] = [{} for _ in shots]
    places = characters = 0
    for number, cue in enumerate(cues):
        if places > MAX_PLACES or characters > MAX_CHARACTERS:  # only nonsense: each line over all of the film
            warn(f"{len(cues) - number:,} of {len(cues):,} lines of its subtitles were left out: too much text")
            break
        near = order[bisect_right(ends, cue.start) : bisect_left(starts, cue.end)]
        places += len(near)
        for shot in near:
            if _covers(cue, *shots[shot]) and cue.text not in lines[shot]:
                lines[shot][cue.text] = None
                characters += len(cue.text)
    return [" ".join(texts) for texts in lines]


def _covers(cue: Cue, start: float, end: float) -> bool:
    shared = min(cue.end, end) - max(cue.start, start)
    return shared > 0.3 or shared >= 0.5 * (cue.end - cue.start) > 0


def subtitles_of(path: str | os.PathLike[str]) -> list[Path]:
    """The subtitle files beside a video: its name with .srt or .vtt, also with a language between (film.en.srt)."""
    video = Path(path)
    stem = video.stem.lower()
    try:
        names = sorted(os.listdir(video.parent))
    except OSError:
        return []
    return [video.parent / name for name in names if _belongs(name.lower(), stem)]


def _belongs(name: str, stem: str) -> bool:
    base, extension = os.path.splitext(name)
    if extension not in EXTENSIONS or not base.startswith(stem):
        return False
    rest = base[len(stem) :]
    return rest == "" or (rest[0] == "." and len(rest) <= 11 and "." not in rest[1:])
