"""Captions as people write them: many words for one thing, few details, some wrong, some in other languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from rankloom.demo.kinds import KINDS

CAPTIONED = 0.70
WRONG = 0.06  # of the captions: of another kind
VAGUE = 0.05  # of the captions: say nothing
FOREIGN = 0.06
TYPING = 0.04

WHEN = {
    "clear day": ("on a clear day", "under a blue sky", "in the sunshine"),
    "bright day": ("on a bright day", "on a sunny day", "in summer"),
    "golden evening": ("in the evening light", "in golden light", "late in the day"),
    "sunset": ("at sunset", "under a red sky", "in the evening"),
    "dusk": ("at dusk", "after sunset", "in the twilight"),
    "dawn": ("at dawn", "in the early morning", "at sunrise"),
    "overcast": ("on a grey day", "under clouds", "on a cloudy day"),
    "storm": ("before the storm", "under dark clouds", "in bad weather"),
    "pastel": ("in soft light", "under a pink sky", "in spring"),
    "night": ("at night", "in the dark"),
    "fog": ("in the fog", "on a misty morning", "in the haze"),
}
MORE = {
    "snow": "with snow on top", "lake": "by a lake", "mist": "in the mist", "milky way": "with the milky way",
    "moon": "and the moon", "ring": "with rings", "beam": "with its beam", "suspension": "with high towers",
    "stone arches": "with stone arches", "water": "by the water", "beach": "on the beach", "on a flower": "on a flower",
    "candles": "with candles", "berries": "with berries", "steam": "steaming hot", "rain": "in the rain",
    "snowfall": "while it snows",
}  # fmt: skip
STYLE_WORDS = {
    "black and white": "in black and white", "sepia": "on an old print", "duotone": "in two colours",
    "pencil": "drawn in pencil", "poster": "as a poster", "watercolour": "in watercolour",
    "brush strokes": "as a painting", "pixels": "in pixels", "halftone": "as a print",
}  # fmt: skip
FRAMES = (
    "{}", "{}", "{}", "photo of {}", "{}, seen on a walk", "picture of {}", "{}!", "view of {}", "another one: {}",
    "my favourite: {}",
)  # fmt: skip
EMPTY = (
    "nice", "holiday picture", "untitled", "one more", "I like the colours", "from last year", "test shot",
    "for the album", "so beautiful", "new camera", "scan 12", "to be sorted",
)  # fmt: skip


def describe_kind(kind: str, notes: Mapping[str, str], rng: np.random.Generator) -> str:
    """A right caption: a name of the kind, and some of what is known."""
    color = notes.get("colour", "") if rng.random() < 0.55 else ""
    subject = _pick(rng, KINDS[kind].words).replace("~", color)
    parts = [re.sub(r"\ba(?= [aeiou])", "an", re.sub(r"\ban(?= [^aeiou])", "a", " ".join(subject.split())))]
    if notes.get("time") in WHEN and rng.random() < 0.5:
        parts.append(_pick(rng, WHEN[notes["time"]]))
    for key in ("detail", "weather"):
        if notes.get(key) in MORE and rng.random() < 0.4:
            parts.append(MORE[notes[key]])
    if "style" in notes and rng.random() < 0.5:
        parts.append(STYLE_WORDS[notes["style"]])
    return " ".join(parts)


def noisy_caption(kind: str, notes: Mapping[str, str], rng: np.random.Generator) -> str | None:
    """What somebody wrote under the picture; None where nobody did.

    >>> rng = np.random.default_rng(5)
    >>> [noisy_caption("cup", {"colour": "red"}, rng) for _ in range(4)]
    [...]
    """
    if rng.random() >= CAPTIONED:
        return None
    lot = rng.random()
    if lot < VAGUE:
        return _pick(rng, EMPTY)
    if lot < VAGUE + FOREIGN:
        return _pick(rng, KINDS[kind].foreign)
    if lot < VAGUE + FOREIGN + WRONG:
        kind = _pick(rng, [other for other in KINDS if other != kind])
    text = _pick(rng, FRAMES).format(describe_kind(kind, notes, rng))
    if rng.random() < TYPING:
        text = _mistyped(text, rng)
    return text[0].upper() + text[1:] if rng.random() < 0.6 else text


def _mistyped(text: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, len(text)))
    return text[:at] + text[at + 1 :]


def _pick(rng: np.random.Generator, choices: Sequence[str]) -> str:
    return choices[int(rng.integers(len(choices)))]
