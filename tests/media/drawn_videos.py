"""Videos that the tests draw and write."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

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


def write(
    path: Path, pictures: Iterable[np.ndarray], rate: Fraction | int = 25, pixel_aspect: Fraction = Fraction(1)
) -> Path:
    with av.open(str(path), "w") as container:
        stream = None
        for picture in pictures:
            if stream is None:
                stream = container.add_stream("mpeg4", rate=rate)
                stream.codec_context.sample_aspect_ratio = pixel_aspect
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.bit_rate = 2_000_000
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode(None))
    return path


def write_with_sound(path: Path, pictures: Iterable[np.ndarray], samples: np.ndarray, sound_rate: int) -> Path:
    """A video of 25 frames a second with one channel of sound."""
    with av.open(str(path), "w") as container:
        pictures = list(pictures)
        video, sound = container.add_stream("libx264", rate=25), container.add_stream("aac", rate=sound_rate)
        video.height, video.width = pictures[0].shape[:2]
        video.pix_fmt, sound.layout = "yuv420p", "mono"
        for picture in pictures:
            container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(video.encode(None))
        frame = av.AudioFrame.from_ndarray(samples[None, :].astype(np.float32), format="fltp", layout="mono")
        frame.rate = sound_rate
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=sound_rate, frame_size=1024)
        for part in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(sound.encode(part))
        container.mux(sound.encode(None))
    return path
