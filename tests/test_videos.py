"""Cutting videos into shots."""

from __future__ import annotations

import csv
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import av
import numpy as np
import pytest

from rankloom.media import MediaError, Shot, read_shots
from rankloom.media.videos import MOST_CANDIDATES, RECENT, KeyFrame, _Open
from tests.data import SHARED, needs_shared

COLORS = [(200, 40, 40), (40, 160, 60), (50, 60, 210), (230, 220, 60), (120, 120, 120)]


def frames(lengths: Iterable[int], size: tuple[int, int] = (96, 64)) -> Iterable[np.ndarray]:
    """Shots of these lengths: textured colours with a square that moves."""
    rng = np.random.default_rng(0)
    for shot, length in enumerate(lengths):
        ground = np.clip(rng.normal(COLORS[shot % 5], 20, (size[1], size[0], 3)), 0, 255).astype(np.uint8)
        for n in range(length):
            frame = ground.copy()
            at = n % (size[0] - 12)
            frame[10:22, at : at + 12] = 255 - np.array(COLORS[shot % 5], np.uint8)
            yield frame


def write(path: Path, pictures: Iterable[np.ndarray], rate: int = 25, codec: str = "mpeg4") -> Path:
    with av.open(str(path), "w") as container:
        stream = None
        for picture in pictures:
            if stream is None:
                stream = container.add_stream(codec, rate=rate)
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.bit_rate = 2_000_000
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode(None))
    return path


def bounds(shots: Iterable[Shot]) -> list[tuple[int, int]]:
    return [(shot.start_frame, shot.end_frame) for shot in shots]


@pytest.mark.parametrize("detector", ["content", "adaptive"])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi", "a.mov"])
def test_cuts_and_times(tmp_path: Path, detector: str, name: str) -> None:
    path = write(tmp_path / name, frames([30, 50, 20]), rate=10)
    shots = list(read_shots(path, detector))
    assert bounds(shots) == [(0, 29), (30, 79), (80, 99)]
    assert [shot.number for shot in shots] == [0, 1, 2]
    np.testing.assert_allclose([(s.start, s.end) for s in shots], [(0, 3), (3, 8), (8, 10)], atol=0.02)
    for shot, color in zip(shots, COLORS, strict=False):
        (key,) = shot.key_frames
        middle = (shot.start_frame + shot.end_frame) / 2
        assert abs(key.frame - middle) <= 2
        assert key.time == pytest.approx(key.frame / 10, abs=0.02)
        assert np.abs(key.image.reshape(-1, 3).mean(0) - color).max() < 40


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
        shot.add(KeyFrame(n, n / 25, image))
        assert len(shot.frames) <= MOST_CANDIDATES + RECENT + 1
    older = [frame.frame for frame in shot.older]
    assert set(np.diff(older)) == {shot.stride}
    assert len(older) >= MOST_CANDIDATES // 2


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


@needs_shared
@pytest.mark.shared
def test_the_other_videos() -> None:
    assert bounds(read_shots(SHARED / "videos" / "cockatoo.mp4")) == [(0, 279)]
    # PySceneDetect's own cuts of its test video are at 30, 180 and 394; the dissolves are not cuts.
    assert [shot.start_frame for shot in read_shots(SHARED / "videos" / "testvideo.mp4")] == [0, 30, 180, 394]
