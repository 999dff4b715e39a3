"""Speech in videos: what is said, with its times. It needs the extra `speech`; the model hears English."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import PackagedFile, open_session
from rankloom.media._budget import Budget
from rankloom.media.sound import RATE, passages, read_sound
from rankloom.media.subtitles import Cue

VERSION = "moonshine-tiny-en-1"  # of what is heard: another listens again on request
INSTALL = "pip install 'rankloom[speech]'"
_FOLDER = "moonshine_voice/assets/tiny-en"
ENCODER, DECODER, TOKENS = (
    PackagedFile("moonshine-voice", f"{_FOLDER}/{name}", sha256, INSTALL)
    for name, sha256 in (
        ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
        ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
        ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
    )
)
START, END = 1, 2  # tokens
N_LAYERS, N_HEADS, WIDTH = 6, 8, 36  # of the decoder
TOKENS_PER_SECOND = 6.5  # more is not said, but made up
LEAST_CONFIDENCE = -0.9  # the mean logarithm of a token's probability; what is no English speech has less
NOISE = ("", "you", "thank you")  # what it hears in noise, as its training had such subtitles
_lock = threading.Lock()
_models: list[_Model] = []


class Heard(NamedTuple):
    """A text, and the mean logarithm of the probability of its tokens."""

    text: str
    confidence: float


def available() -> bool:
    """Whether the extra is installed."""
    return all(file.present for file in (ENCODER, DECODER, TOKENS))


def load() -> None:
    """Load the networks, unless they are; a file of weights that is not the one we know is an ImportError."""
    with _lock:
        if not _models:
            _models.append(_Model())


def read_speech(
    path: str | os.PathLike[str],
    *,
    budget: Budget | None = None,
    alive: Callable[[float], None] = lambda seconds: None,
) -> list[Cue]:
    """What is said in a video, passage by passage between pauses, with times in seconds.

    Parameters
    ----------
    path : the video.
    budget : what it may cost; by default as much as a video of this size.
    alive : called before each passage with the time in the video.

    Raises
    ------
    MediaError : it cannot be read, or takes too long.

    References
    ----------
    Jeffries et al., Moonshine: speech recognition for live transcription and voice commands, arXiv 2410.15608 (2024):
    the English model "tiny" in the package `moonshine-voice`, run by onnxruntime; no code of the package is.
    """
    budget = budget or Budget(os.path.getsize(path) if os.path.isfile(path) else 0)
    cues = []
    for passage in passages(read_sound(path, budget=budget)):
        budget.check()
        alive(passage.start)
        heard = transcribe(passage.samples)
        if is_speech(heard):
            cues.append(Cue(round(passage.start, 3), round(passage.end, 3), heard.text))
    return cues


def is_speech(heard: Heard) -> bool:
    """Whether a text stands for words, and not for what the model makes of noise and music.

    >>> [is_speech(Heard(text, -0.1)) for text in ("Close the door.", "You", "\u266a\u266a", "no no no no no no no no")]
    [True, False, False, False]
    """
    words = re.findall(r"[^\W_]+", heard.text.lower())
    looped = len(words) >= 8 and len(set(words)) * 4 <= len(words)
    return heard.confidence >= LEAST_CONFIDENCE and " ".join(words) not in NOISE and not looped


def transcribe(samples: NDArray[np.float32]) -> Heard:
    """The words of up to half a minute of speech.

    Parameters
    ----------
    samples : one channel at 16,000 a second, between -1 and 1.
    """
    load()
    return _models[0].transcribe(samples)


def _read_tokens(data: bytes) -> list[bytes]:
    """The table of tokens: each is its length, in one byte or in two of seven bits, and its bytes."""
    tokens, at = [], 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * data[at], at + 1
        tokens.append(data[at : at + length])
        at += length
    return tokens


class _Model:
    """The encoder and the decoder of Moonshine."""

    def __init__(self) -> None:
        self.encoder, self.decoder = open_session(ENCODER.checked()), open_session(DECODER.checked())
        self.tokens = _read_tokens(TOKENS.checked().read_bytes())

    def transcribe(self, samples: NDArray[np.float32]) -> Heard:
        """Encode, then take the likeliest token again and again."""
        sound = samples[None, :].astype(np.float32)
        mask = np.ones(sound.shape, np.int64)
        (states,) = self.encoder.run(None, {"input_values": sound, "attention_mask": mask})
        fixed = {"encoder_hidden_states": states, "encoder_attention_mask": mask}  # of samples; it thins them itself
        names = [
            f"{layer}.{side}.{part}"
            for layer in range(N_LAYERS)
            for side in ("decoder", "encoder")
            for part in ("key", "value")
        ]
        memory: dict[str, Any] = {name: np.zeros((1, N_HEADS, 0, WIDTH), np.float32) for name in names}
        token, tokens, total = START, [], 0.0
        for number in range(int(len(samples) / RATE * TOKENS_PER_SECOND) + 6):
            past = {f"past_key_values.{name}": value for name, value in memory.items()}
            inputs = {"input_ids": np.array([[token]]), "use_cache_branch": np.array([number > 0]), **fixed, **past}
            logits, *present = self.decoder.run(None, inputs)
            for name, value in zip(names, present, strict=True):
                if number == 0 or "decoder" in name:  # what the decoder knows of the encoder stays as it is
                    memory[name] = value
            scores = logits[0, -1].astype(np.float64)
            token = int(scores.argmax())
            total += float(scores[token] - scores.max() - np.log(np.exp(scores - scores.max()).sum()))
            if token == END:
                break
            tokens.append(token)
        return Heard(self._text(tokens), total / (len(tokens) + 1))

    def _text(self, tokens: list[int]) -> str:
        parts = [self.tokens[token] for token in tokens]
        text = b"".join(part for part in parts if not (part.startswith(b"<") and part.endswith(b">")))
        return " ".join(text.decode("utf-8", errors="replace").replace("\u2581", " ").split())
