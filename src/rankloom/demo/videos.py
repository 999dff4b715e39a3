"""Short films of the same scenes in motion, with subtitles and known cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.demo.kinds import draw

RATE = 15
WIDTH, HEIGHT = 320, 240
MARGIN = 1.12  # scenes are drawn larger than the frame, so that the camera can move over them

ENCODING = {
    # Without mbtree, whose choices differed from run to run on the same frames.
    "libx264": {"crf": "22", "preset": "veryfast", "x264-params": "threads=1:lookahead_threads=1:no-mbtree=1"},
    "mpeg4": {"qscale": "4"},
}

# Of each film: a name, and of each shot the kind and what is said.
FILMS: list[tuple[str, list[tuple[str, str]]]] = [
    ("a_day_at_the_coast", [
        ("sailing boat", "We went sailing in a light wind."),
        ("fish", "Under water the fish came close."),
        ("lighthouse", "The lighthouse has stood here for a hundred years."),
        ("sunset", "In the evening the sun went down over the sea."),
    ]),
    ("winter_journey", [
        ("snow", "It snowed all morning on the hills."),
        ("aurora", "At night the northern lights danced above us."),
        ("cup", "Nothing is better than a hot cup of tea."),
    ]),
    ("country_fair", [
        ("windmill", "The old windmill still turns."),
        ("balloon", "Hot-air balloons rise over the valley."),
        ("flower field", "Flowers as far as you can see."),
        ("kite", "The children fly their kites."),
        ("fireworks", "The fair ends with fireworks."),
    ]),
    ("evening_in_town", [
        ("bridge", "We crossed the bridge into town."),
        ("umbrella", "Of course it rained, and everybody had an umbrella."),
        ("skyline", "One by one the windows of the towers light up."),
        ("cake", "And then there was cake with candles."),
    ]),
]  # fmt: skip


@dataclass(frozen=True)
class FilmShot:
    """A shot of a film: its kind, what is said, its first frame and the frame after its last."""

    kind: str
    text: str
    start: int
    stop: int
    seed: tuple[int, ...]


def plan_film(number: int, seed: int) -> tuple[str, list[FilmShot]]:
    """The name and the shots of a film; after the last story they begin again with other scenes."""
    name, parts = FILMS[number % len(FILMS)]
    rng = np.random.default_rng((seed, 2, number))
    shots, start = [], 0
    for k, (kind, text) in enumerate(parts):
        stop = start + int(rng.integers(2 * RATE, 3 * RATE + 1))
        shots.append(FilmShot(kind, text, start, stop, (seed, 3, number, k)))
        start = stop
    again = number // len(FILMS)
    return name if again == 0 else f"{name}_{again + 1}", shots


def write_film(path: Path, shots: list[FilmShot]) -> None:
    """Write the film, H.264 where PyAV has an encoder for it, and its subtitles beside it."""
    import av

    codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
    with av.open(str(path), "w", options={"movflags": "faststart", "fflags": "+bitexact"}) as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.time_base = Fraction(1, RATE)
        stream.thread_count = 1
        stream.options = ENCODING[codec]
        for image in film_frames(shots):
            planes = cv2.cvtColor(image, cv2.COLOR_RGB2YUV_I420)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(planes, format="yuv420p")))
        container.mux(stream.encode())
    path.with_suffix(".srt").write_text(_subtitles(shots), encoding="utf-8")


def film_frames(shots: list[FilmShot]) -> Iterator[NDArray[np.uint8]]:
    """Draw frame after frame: the scene moves, and the camera slowly over it."""
    size = (round(WIDTH * MARGIN), round(HEIGHT * MARGIN))
    for shot in shots:
        rng = np.random.default_rng((*shot.seed, 9))
        begin, end = rng.uniform(0, 1, (2, 3))
        for frame in range(shot.stop - shot.start):
            scene, _ = draw(shot.kind, size, shot.seed, time=max(frame, 0.01) / RATE, styled=False)
            share = frame / (shot.stop - shot.start)
            x, y, zoom = begin + (end - begin) * share
            scale = 1.0 + 0.1 * zoom
            room_x, room_y = size[0] * scale - WIDTH, size[1] * scale - HEIGHT
            where = np.asarray([[scale, 0, -x * room_x], [0, scale, -y * room_y]], np.float32)
            yield cv2.warpAffine(scene, where, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR)


def _subtitles(shots: list[FilmShot]) -> str:
    cues = []
    for number, shot in enumerate(shots, start=1):
        start, stop = shot.start / RATE + 0.2, shot.stop / RATE - 0.2
        cues.append(f"{number}\n{_clock(start)} --> {_clock(stop)}\n{shot.text}\n")
    return "\n".join(cues)


def _clock(seconds: float) -> str:
    rest, milliseconds = divmod(round(seconds * 1000), 1000)
    return f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d},{milliseconds:03d}"
