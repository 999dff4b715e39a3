"""Texts of items: which are the owner's, and how many an item gets, as those of a video are stored with each shot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rankloom.collection._database import Database

OWN_CAPTION, OWN_TAG = OWN_SOURCES = ("owner", "owner_tag")  # what was written in the page or the shell
ITEM_TEXTS, ITEM_CHARACTERS = 300, 60_000
FILE_TEXTS, FILE_CHARACTERS = 100_000, 4_000_000  # over all shots of a video
LEAST_TEXTS, LEAST_CHARACTERS = 20, 1_000  # however many shots it has
MAX_SUBTITLE_FILES, MAX_CUES = 20, 100_000  # of a video; a film of three hours has some 5,000 lines


def shared_texts(texts: Iterable[tuple[str, str]], items: int, warn: Callable[[str], None]) -> list[tuple[str, str]]:
    """The first of some texts and their sources, as many as each of so many items may have.

    >>> texts = [(f"keyword {number}", "sidecar") for number in range(500)]
    >>> len(shared_texts(texts, 1, print)), len(shared_texts(texts, 2000, print))
    200 of its 500 texts were left out: an item may have 300, of 60,000 characters
    450 of its 500 texts were left out: an item may have 50, of 2,000 characters
    (300, 50)
    """
    texts = list(texts)
    most = min(ITEM_TEXTS, max(LEAST_TEXTS, FILE_TEXTS // max(1, items)))
    longest = min(ITEM_CHARACTERS, max(LEAST_CHARACTERS, FILE_CHARACTERS // max(1, items)))
    kept = []
    characters = 0
    for text, source in texts[:most]:
        characters += len(text)
        if characters > longest:
            break
        kept.append((text, source))
    if len(kept) < len(texts):
        cut = f"{len(texts) - len(kept):,} of its {len(texts):,} texts were left out"
        warn(f"{cut}: an item may have {most:,}, of {longest:,} characters")
    return kept


def drop_older_captions(db: Database) -> None:
    """Of several captions of the owner leave the last, which is the one that was written last."""
    db.execute(
        "DELETE FROM texts WHERE source = ? AND number NOT IN"
        " (SELECT max(number) FROM texts WHERE source = ? GROUP BY item)",
        (OWN_CAPTION, OWN_CAPTION),
    )
