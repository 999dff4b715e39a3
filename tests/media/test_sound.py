"""Sound is decoded in pieces and cut at its pauses."""

from itertools import pairwise

import av
import numpy as np
import pytest

from rankloom.media import MediaError
from rankloom.media.sound import LONGEST, RATE, SHORTEST, WINDOW, Passage, passages, read_sound


def loud(seconds, seed=0):
    """Sound that goes up and down like syllables."""
    times = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(seed).normal(size=len(times))
    return (0.1 * noise * (0.3 + np.abs(np.sin(2 * np.pi * 2 * times)))).astype(np.float32)


def quiet(seconds, seed=1):
    return (1e-4 * np.random.default_rng(seed).normal(size=round(seconds * RATE))).astype(np.float32)


def in_seconds(samples, start=0.0):
    """The samples, a second at a time."""
    return [Passage(start + at / RATE, samples[at : at + RATE]) for at in range(0, len(samples), RATE)]


def write_sound(path, samples, rate=RATE, codec="aac"):
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None, :], format="fltp", layout="mono")
        frame.rate = rate
        resampler = av.AudioResampler(format=stream.codec_context.format, layout="mono", rate=rate, frame_size=1024)
        for part in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path


def test_passages_lie_between_pauses():
    sound = np.concatenate([quiet(1), loud(2), quiet(1.5), loud(3), quiet(1)])
    first, second = passages(in_seconds(sound))
    assert (first.start, first.end) == pytest.approx((0.8, 3.2), abs=0.1)
    assert (second.start, second.end) == pytest.approx((4.3, 7.7), abs=0.1)
    at = round(second.start * RATE)
    np.testing.assert_array_equal(second.samples, sound[at : at + len(second.samples)])


def test_short_pauses_do_not_cut():
    (passage,) = passages(in_seconds(np.concatenate([quiet(1), loud(1), quiet(0.3), loud(1), quiet(1)])))
    assert passage.end - passage.start == pytest.approx(2.7, abs=0.15)


@pytest.mark.parametrize("sound", [quiet(40), np.zeros(5 * RATE, np.float32), 0.3 * np.sin(np.arange(5 * RATE) / 9.0)])
def test_silence_and_hums_are_left_out(sound):
    assert list(passages(in_seconds(np.asarray(sound, np.float32)))) == []


def test_talk_without_a_pause_is_cut_where_it_is_quietest_and_nothing_is_lost():
    held = []

    def pieces():
        for piece in in_seconds(loud(200)):
            held.append(piece)
            yield piece

    ends, longest = [], 0
    for passage in passages(pieces()):
        ends.append((passage.start, passage.end))
        longest = max(longest, len(held) - int(passage.start))
    assert max(b - a for a, b in ends) <= LONGEST + 0.5
    assert longest <= WINDOW + LONGEST  # seconds in memory, however long the sound is
    assert ends[0][0] == pytest.approx(0.0, abs=0.3)
    assert ends[-1][1] == pytest.approx(200.0, abs=0.3)
    for (_, before), (after, _) in pairwise(ends):
        assert after == pytest.approx(before, abs=1e-3)


def test_a_jump_in_time_ends_a_passage():
    sound = np.concatenate([quiet(1), loud(2)])
    first, second = passages([*in_seconds(sound), *in_seconds(sound, 60.0)])
    assert first.end == pytest.approx(3.0, abs=0.1)
    assert second.start == pytest.approx(60.8, abs=0.1)


def test_a_click_is_no_passage():
    sound = quiet(5)
    sound[2 * RATE : 2 * RATE + 100] = 0.5
    assert all(len(passage.samples) < 2 * SHORTEST * RATE for passage in passages(in_seconds(sound)))


@pytest.mark.parametrize(
    ("name", "codec", "rate"), [("a.mp4", "aac", 44_100), ("a.mkv", "ac3", 48_000), ("a.mkv", "pcm_s16le", 8_000)]
)
def test_any_rate_becomes_ours(tmp_path, name, codec, rate):
    times = np.arange(3 * rate) / rate
    file = write_sound(tmp_path / name, (0.5 * np.sin(2 * np.pi * 440 * times)).astype(np.float32), rate, codec)
    pieces = list(read_sound(file))
    sound = np.concatenate([piece.samples for piece in pieces])
    assert len(sound) / RATE == pytest.approx(3.0, abs=0.1)
    assert pieces[0].start == pytest.approx(0.0, abs=0.06)
    assert max(len(piece.samples) for piece in pieces) < 3 * RATE
    spectrum = np.abs(np.fft.rfft(sound[RATE : 2 * RATE]))
    assert spectrum.argmax() == pytest.approx(440, abs=1)


def test_a_video_without_sound_has_none(tmp_path):
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10, width=64, height=48, pix_fmt="yuv420p")
        for _ in range(5):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")))
        container.mux(stream.encode(None))
    assert list(read_sound(path)) == []


def test_what_is_no_video_is_refused_in_one_line(tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes(b"no video at all" * 100)
    with pytest.raises(MediaError, match="no readable sound"):
        list(read_sound(path))
    with pytest.raises(MediaError, match="not a regular file"):
        list(read_sound(tmp_path))
