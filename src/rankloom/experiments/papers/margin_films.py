"""Multimodal queries over films: all experts of the engine on shots, and subtitles that are often beside the point."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankloom.collection import Collection, Item, index
from rankloom.demo.videos import FILMS, RATE, FilmShot, plan_film, write_film
from rankloom.experiments.papers.margin import Multimodal, joined, shown_queries
from rankloom.experiments.papers.margin_captions import shown_phi

_MANY = 48
_FRAMES = 18  # of a shot: more than the fifteen that a cut needs, and few, for drawing takes most of the time
WRONG = 0.5  # of the shots, something is said that belongs to another


def filmed(
    work: str | os.PathLike[str],
    *,
    n_films: int = 48,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Multimodal:
    """Queries by the kinds of shots of generated films, as words with two shots; half of the films is developed on.

    Parameters
    ----------
    work : where films and their collection are made, or were made before.
    n_films : how many; every fourth tells the same story with other scenes. Of few films one shot is shown, not two.
    random_state : what is said where, which films are developed on, and which shots are shown.
    progress : called with the number of files done, of all, and a text.
    """
    folder = Path(work) / "films"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(random_state)
    lines = [text for _, parts in FILMS for _, text in parts]
    films = {}
    for number in range(n_films):
        name, shots = plan_film(number, random_state)
        films[name] = [
            replace(
                shot,
                start=place * _FRAMES,
                stop=(place + 1) * _FRAMES,
                text=str(random.choice(lines)) if random.random() < WRONG else shot.text,
            )
            for place, shot in enumerate(shots)
        ]
        path = folder / f"{name}.mp4"
        if not path.with_suffix(".srt").exists():  # which is written last
            progress(number, n_films, f"drawing {path.name}")
            write_film(path, films[name])
    with Collection(Path(work) / "films.rankloom", create=True) as collection:
        index(collection, [folder], preset="full", ocr=False, speech=False, progress=progress)
        items = collection.items()
        kinds = np.array([_kind(item, films[Path(item.path).stem]) for item in items])
        part_of = dict(zip(films, random.permutation(n_films) % 2 == 0, strict=True))
        part = np.array([part_of[Path(item.path).stem] for item in items])
        asked = ((kind, kinds == kind) for kind in sorted({*kinds.tolist()}))
        shown = 2 if n_films >= _MANY else 1
        found = shown_queries(asked, shown_phi(collection, items), part, least=shown, examples=shown, random=random,
                              progress=lambda kind: progress(0, 0, kind))  # fmt: skip
        if not (blocks := [*found]):
            raise ValueError(f"{n_films} films are too few: no kind has shots to show and to find in each half of them")
        return joined("shots of films", blocks)


def _kind(item: Item, shots: list[FilmShot]) -> str:
    """The kind of the shot that an item shows in its middle."""
    middle = ((item.start or 0.0) + (item.end or 0.0)) / 2 * RATE
    return next((shot.kind for shot in shots if shot.start <= middle < shot.stop), shots[-1].kind)
