"""Speech becomes text with its times; noise and music do not."""

import re
import shutil
import subprocess
from importlib import metadata

import av
import numpy as np
import pytest

from rankloom._io import PackagedFile
from rankloom.media import Shot, speech, spread_cues
from rankloom.media.sound import RATE
from rankloom.media.speech import Heard, _read_tokens, is_speech, read_speech
from tests.media.test_sound import write_sound

needs_speech = pytest.mark.skipif(not speech.available(), reason=f"speech is not installed: {speech.INSTALL}")
SENTENCES = (
    "The weather in the city was cold and windy, but the children played in the park until the evening.",
    "Please remember to close the windows before you leave the house in the morning.",
    "She bought three apples, two loaves of bread, and a bottle of milk at the market.",
    "He opened the old wooden door and walked slowly into the dark room.",
    "The river flows through the valley and reaches the sea near a small fishing village.",
    "Many people enjoy walking their dogs along the beach in summer.",
)


def samples_of(path):
    with av.open(str(path)) as container:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        parts = [part for frame in container.decode(audio=0) for part in resampler.resample(frame)]
        return np.concatenate([part.to_ndarray().ravel() for part in parts])


def words(text):
    return re.findall(r"[a-z0-9']+", text.lower())


def errors(expected, heard):
    """Words to insert, delete or replace."""
    row = np.arange(len(heard) + 1)
    for number, word in enumerate(expected, 1):
        before = row.copy()
        row[0] = number
        for place, other in enumerate(heard, 1):
            row[place] = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (word != other))
    return int(row[-1])


@needs_speech
@pytest.mark.slow
class TestHearing:
    def test_a_human_voice(self, tmp_path):
        sample = metadata.distribution("moonshine-voice").locate_file("moonshine_voice/assets/beckett.wav")
        cues = read_speech(write_sound(tmp_path / "a.mp4", samples_of(sample)))
        expected = words("Ever tried, ever failed, no matter. Try again. Fail again. Fail better.")
        assert errors(expected, words(" ".join(cue.text for cue in cues))) <= 3
        assert cues[0].start < 1.0
        assert 9.0 < cues[-1].end < 10.5
        shots = [Shot(0, 0, 1, 0.0, 5.9, ()), Shot(1, 2, 3, 6.0, 11.0, ())]
        given = spread_cues(cues, [(shot.start, shot.end) for shot in shots])
        assert "tried" in given[0].lower()
        assert "tried" not in given[1].lower()

    @pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is absent")
    def test_generated_speech(self, tmp_path):
        wav = tmp_path / "a.wav"
        subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-w", wav, "\n\n".join(SENTENCES)], check=True)
        cues = read_speech(write_sound(tmp_path / "a.mp4", samples_of(wav)))
        expected = words(" ".join(SENTENCES))
        assert errors(expected, words(" ".join(cue.text for cue in cues))) <= 0.12 * len(expected)

    def test_half_a_minute_and_a_moment(self):
        random = np.random.default_rng(0)
        for seconds in (0.3, 9.0, 25.0):
            noise = 0.1 * random.normal(size=round(seconds * RATE))
            assert not is_speech(speech.transcribe(noise.astype(np.float32)))


def test_noise_is_no_speech():
    assert not any(is_speech(Heard(text, -0.1)) for text in ("", "You", "Thank you.", "\u266a \u266a", "no " * 9))
    assert is_speech(Heard("Thank you for the flowers.", -0.1))
    assert not is_speech(Heard("Mumbled words of another tongue", -2.0))


def test_the_table_of_tokens():
    long = b"x" * 300
    data = b"\x02ab" + bytes([128 + 300 % 128, 300 // 128]) + long + b"\x00" + b"\x01c"
    assert _read_tokens(data) == [b"ab", long, b"", b"c"]


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(speech, "ENCODER", PackagedFile("no-such-package", "encoder.ort", "0", speech.INSTALL))
    monkeypatch.setattr(speech, "_models", [])
    assert not speech.available()
    with pytest.raises(ImportError, match=re.escape("pip install 'rankloom[speech]'")):
        speech.transcribe(np.zeros(RATE, np.float32))
