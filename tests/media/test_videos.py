"""Cutting videos into shots."""

from __future__ import annotations

import csv
import re
import struct
import tracemalloc
from collections.abc import Iterable
from fractions import Fraction
from itertools import repeat
from pathlib import Path

import av
import numpy as np
import pytest

from rankloom.media import MediaError, Shot, read_shots
from rankloom.media._budget import Budget
from rankloom.media.videos import MOST_CANDIDATES, RECENT, KeyFrame, _Open
from tests.data import SHARED, needs_shared
from tests.media.drawn_videos import COLORS, frames, write


def bounds(shots: Iterable[Shot]) -> list[tuple[int, int]]:
    return [(shot.start_frame, shot.end_frame) for shot in shots]


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["content", "adaptive"])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi", "a.mov"])
def test_cuts_and_times(tmp_path: Path, detector: str, name: str) -> None:
    path = write(tmp_path / name, frames([30, 50, 20]), rate=10)
    shots = list(read_shots(path, detector))
    assert bounds(shots) == [(0, 29), (30, 79), (80, 99)]
    assert [shot.number for shot in shots] == [0, 1, 2]
    np.testing.assert_allclose([(s.start, s.end) for s in shots], [(0, 3), (3, 8), (8, 10)], atol=0.04)
    for shot, color in zip(shots, COLORS, strict=False):
        (key,) = shot.key_frames
        middle = (shot.start_frame + shot.end_frame) / 2
        assert abs(key.frame - middle) <= 2
        assert key.time == pytest.approx(key.frame / 10, abs=0.02)
        assert np.abs(key.image.reshape(-1, 3).mean(0) - color).max() < 40


@pytest.mark.slow
@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(2), Fraction(120)])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_the_end_of_a_shot_shows_its_last_frame(tmp_path: Path, name: str, rate: Fraction) -> None:
    """A player that stops at the end shows the last frame whose time has come."""
    path = write(tmp_path / name, frames([30, 50, 20]), rate=rate)
    with av.open(str(path)) as container:
        times = [frame.time for frame in container.decode(video=0)]
    times = [time - times[0] for time in times]
    shots = list(read_shots(path))
    assert len(shots) == 3
    for shot in shots:
        shown = max(number for number, time in enumerate(times) if time <= shot.end)
        assert shown == shot.end_frame
        assert min(abs(time - shot.end) for time in times) > 0.003  # rounding does not matter


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_size_and_frames_are_as_a_player_shows_them(tmp_path: Path, degrees: int) -> None:
    """Frames of 720 x 480 long pixels, held in the hand in four ways: white is on top in the first."""
    picture = np.full((480, 720, 3), 30, np.uint8)
    picture[:240] = 230
    path = write(tmp_path / "a.mp4", [picture] * 3, pixel_aspect=Fraction(32, 27))
    turn(path, degrees)
    (shot,) = read_shots(path, max_side=256)
    (key,) = shot.key_frames
    assert key.size == ((853, 480) if degrees in (0, 180) else (480, 853))
    assert key.image.shape[:2] == ((144, 256) if degrees in (0, 180) else (256, 144))
    half = {0: key.image[:60], 90: key.image[:, -60:], 180: key.image[-60:], 270: key.image[:, :60]}[degrees]
    assert half.mean() > 200


def turn(path: Path, degrees: int) -> None:
    """Write into an MP4 file that its frames are to be turned clockwise: the matrix of its track header."""
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 44
    sine, cosine = {0: (0, 1), 90: (1, 0), 180: (0, -1), 270: (-1, 0)}[degrees]
    unit = 1 << 16
    matrix = [cosine * unit, sine * unit, 0, -sine * unit, cosine * unit, 0, 0, 0, 1 << 30]
    data[place : place + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(data)


def test_senseless_pixel_aspects_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", frames([3]), pixel_aspect=Fraction(255, 1))
    (shot,) = read_shots(path)
    assert shot.key_frames[0].size == (96, 64)


class TestBudget:
    """Clocks are lists of numbers: a reading of the clock is the next of them."""

    def budget(self, processor: Iterable[float] = repeat(0.0), clock: Iterable[float] = repeat(0.0)) -> Budget:
        return Budget(2000, processor=iter(processor).__next__, clock=iter(clock).__next__)

    def given_up(self, path: Path, budget: Budget) -> str:
        with pytest.raises(MediaError) as caught:
            list(read_shots(path, budget=budget))
        return str(caught.value)

    def test_work(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.mp4", frames([30]))
        message = self.given_up(path, self.budget(processor=range(100)))
        assert re.fullmatch(
            r"given up after frame \d+: more than 40 s of work, the limit for a video of 2,000 bytes", message
        )

    def test_time(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.mp4", frames([30]))
        assert "more than 401 s, the limit" in self.given_up(path, self.budget(clock=range(0, 4000, 20)))

    def test_frames(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.mp4", frames([30]))
        budget = self.budget()
        budget.frames = 20
        assert self.given_up(path, budget).startswith("given up after frame 21: more than 20 frames")

    def test_packets_without_frames(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.avi", frames([40]))
        data = bytearray(path.read_bytes())
        start = data.index(b"movi")
        end = data.index(b"idx1")
        place = data.find(b"00dc", start, end)
        while place >= 0:  # no packet can be decoded
            length = int.from_bytes(data[place + 4 : place + 8], "little")
            data[place + 8 : place + 8 + length] = b"\xff" * length
            place = data.find(b"00dc", place + 8 + length, end)
        path.write_bytes(data)
        assert "given up after frame 0: more than 40 s of work" in self.given_up(path, self.budget(range(0, 4000, 5)))

    def test_a_long_film_fits(self) -> None:
        """Two hours at 50 frames a second and a thousand kilobits; a slow machine reads 100 frames a second."""
        frames, size = 2 * 3600 * 50, 2 * 3600 * 125_000
        budget = Budget(size, processor=iter(np.arange(frames + 1) / 100).__next__, clock=repeat(0.0).__next__)
        for _ in range(frames):
            budget.take_frame()
        assert budget.taken == frames


def test_signs_of_life_come_between_frames(tmp_path: Path) -> None:
    signs: list[None] = []
    list(read_shots(write(tmp_path / "a.mp4", frames([30])), alive=lambda: signs.append(None)))
    assert len(signs) >= 30


@pytest.mark.slow
def test_key_frames_are_spread(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", frames([300, 40]))
    first, second = read_shots(path, key_frames=4)
    assert [key.frame for key in first.key_frames] == pytest.approx([37, 112, 187, 262], abs=9)
    assert [key.frame for key in second.key_frames] == pytest.approx([305, 315, 325, 335], abs=1)


def test_a_shot_shorter_than_its_key_frames(tmp_path: Path) -> None:
    (shot,) = read_shots(write(tmp_path / "a.mp4", frames([3])), key_frames=10)
    assert [key.frame for key in shot.key_frames] == [0, 1, 2]


def test_one_frame(tmp_path: Path) -> None:
    (shot,) = read_shots(write(tmp_path / "a.mp4", frames([1])))
    assert bounds([shot]) == [(0, 0)]
    assert shot.end > shot.start == 0
    assert len(shot.key_frames) == 1


def test_dark_frames_are_not_chosen(tmp_path: Path) -> None:
    pictures = list(frames([60]))
    for n in range(15, 60):
        pictures[n] = (pictures[n] * max(0.0, 1 - (n - 15) / 10)).astype(np.uint8)
    shots = list(read_shots(write(tmp_path / "a.mp4", pictures), "content"))
    assert shots[0].key_frames[0].image.std() >= 8


def test_key_frames_have_a_bounded_size(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", frames([5], size=(320, 180)))
    (shot,) = read_shots(path, max_side=100)
    assert shot.key_frames[0].image.shape == (56, 100, 3)


def test_memory_does_not_grow_with_the_shot() -> None:
    """All that is kept of a shot of 20,000 frames: its recent frames and an even choice of the others."""
    shot = _Open(0)
    image = np.zeros((2, 2, 3), np.uint8)
    for n in range(20_000):
        shot.add(KeyFrame(n, n / 25, image, (2, 2)))
        assert len(shot.frames) <= MOST_CANDIDATES + RECENT + 1
    older = [frame.frame for frame in shot.older]
    assert set(np.diff(older)) == {shot.stride}
    assert len(older) >= MOST_CANDIDATES // 2


@pytest.mark.slow
def test_streams_in_bounded_memory(tmp_path: Path) -> None:
    peaks = []
    for name, n in (("short.mp4", 100), ("long.mp4", 1000)):
        path = write(tmp_path / name, frames([n], size=(160, 96)))
        tracemalloc.start()
        list(read_shots(path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 500_000


def test_shots_come_as_they_end(tmp_path: Path) -> None:
    shots = read_shots(write(tmp_path / "a.mp4", frames([40, 40])))
    assert next(shots).end_frame == 39
    shots.close()


def test_your_own_detector(tmp_path: Path) -> None:
    from scenedetect.detectors import ContentDetector

    path = write(tmp_path / "a.mp4", frames([30, 30]))
    assert len(list(read_shots(path, lambda: ContentDetector(threshold=250.0)))) == 1
    with pytest.raises(ValueError, match="unknown detector 'x'; known are content, adaptive"):
        list(read_shots(path, "x"))


class TestHostile:
    def bad(self, path: Path, match: str) -> None:
        with pytest.raises(MediaError, match=match) as caught:
            list(read_shots(path))
        assert "\n" not in str(caught.value)

    def test_not_videos(self, tmp_path: Path) -> None:
        file = tmp_path / "a.mp4"
        for content in (b"", b"hello", bytes(5000), b"\0\0\0\x18ftypmp42" + bytes(400)):
            file.write_bytes(content)
            self.bad(file, "not a readable video|no readable frames|no video")
        self.bad(tmp_path / "none.mp4", "not a regular file")
        (tmp_path / "folder.mp4").mkdir()
        self.bad(tmp_path / "folder.mp4", "not a regular file")

    def test_sound_only(self, tmp_path: Path) -> None:
        path = tmp_path / "a.mp4"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("aac", rate=44100)
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            sound.sample_rate = 44100
            container.mux(stream.encode(sound))
            container.mux(stream.encode(None))
        self.bad(path, "no video in it")

    def test_playlists_open_nothing_else(self, tmp_path: Path) -> None:
        write(tmp_path / "real.mkv", frames([5]))
        playlist = tmp_path / "a.mp4"
        playlist.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nreal.mkv\n#EXT-X-ENDLIST\n")
        self.bad(playlist, "not a readable video")
        playlist.write_text("ffconcat version 1.0\nfile real.mkv\n")
        self.bad(playlist, "not a readable video")

    @pytest.mark.slow
    def test_truncated_and_damaged_videos_give_what_is_left(self, tmp_path: Path) -> None:
        data = write(tmp_path / "whole.avi", frames([30, 30, 30])).read_bytes()
        short = tmp_path / "short.avi"
        short.write_bytes(data[: len(data) // 2])
        shots = list(read_shots(short))
        assert 1 <= len(shots) <= 2
        assert shots[0].end_frame == 29
        damaged = bytearray(data)
        rng = np.random.default_rng(0)
        for at in rng.integers(len(data) // 3, len(data), 200):
            damaged[at] ^= 0xFF
        short.write_bytes(bytes(damaged))
        assert sum(shot.end_frame - shot.start_frame + 1 for shot in read_shots(short)) > 20


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
@pytest.mark.parametrize("detector", ["content", "adaptive"])
def test_bikes_has_its_six_shots(detector: str) -> None:
    with open(SHARED / "videos" / "shots.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["video"] == "bikes.mp4"]
    shots = list(read_shots(SHARED / "videos" / "bikes.mp4", detector))
    assert len(shots) == len(rows) == 6
    for shot, row in zip(shots, rows, strict=True):
        assert abs(shot.start_frame - int(row["start_frame"])) <= 2
        assert abs(shot.end_frame - int(row["end_frame"])) <= 2
        assert shot.start == pytest.approx(shot.start_frame / 25, abs=1e-6)


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
def test_the_other_videos() -> None:
    assert bounds(read_shots(SHARED / "videos" / "cockatoo.mp4")) == [(0, 279)]
    # PySceneDetect's own cuts of its test video are at 30, 180 and 394; the dissolves are not cuts.
    assert [shot.start_frame for shot in read_shots(SHARED / "videos" / "testvideo.mp4")] == [0, 30, 180, 394]


def test_a_video_that_changes_its_size(tmp_path: Path) -> None:
    """As recordings of broadcasts do: the stream goes on with other frames."""
    parts = [write(tmp_path / f"{size[0]}.mts", frames([30], size)) for size in ((96, 64), (160, 120), (96, 64))]
    whole = tmp_path / "whole.mts"
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    sizes = {frame.size for shot in read_shots(whole, key_frames=9) for frame in shot.key_frames}
    assert sizes == {(96, 64), (160, 120)}
