"""The words in the names of files and folders."""

from __future__ import annotations

import re

from rankloom.media._text_files import clean

_CAMEL = re.compile(r"(?<=[a-zà-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_PARTS = re.compile(r"[^\w']+|_+")
# Names that cameras, phones and programs give: they say nothing.
_CAMERA = re.compile(
    r"(img|dsc[nf]?|pict?|mvi|mov|vid|gopr|gp|pxl|videos?|screenshot|images?|photos?|pictures?|\d+|.)", re.I
)


def words_of_name(name: str) -> str:
    """The words of a file or folder name: split at signs, at camelCase and at digits; camera names have none.

    >>> words_of_name("old_bridge-atNight02"), words_of_name("IMG_20240131_1200"), words_of_name("HTMLPage")
    ('old bridge at Night 02', '', 'HTML Page')
    """
    words = [word for part in _PARTS.split(name) for word in _CAMEL.split(part) if word]
    if all(map(_CAMERA.fullmatch, words)):
        return ""
    return clean(" ".join(word for word in words if not (word.isdigit() and len(word) > 4)))


def texts_of_name(name: str) -> list[str]:
    """What a file of this name, without its extension, is found by: its words, and the name as people type it.

    >>> texts_of_name("IMG_4026"), texts_of_name("old_bridge"), texts_of_name("redBoat")
    (['IMG_4026'], ['old bridge'], ['red Boat', 'redBoat'])
    """
    words = words_of_name(name)
    typed = [part for part in _PARTS.split(name.lower()) if part]
    as_typed = "" if {*typed} <= {*words.lower().split()} or len(name) < 2 else clean(name)
    return [text for text in (words, as_typed) if text]


def texts_of_folder(name: str) -> list[str]:
    """Return what the files in a folder of this name are found by; the names that cameras give say nothing.

    >>> texts_of_folder("WhatsApp Images"), texts_of_folder("summer_2020"), texts_of_folder("Photos")
    (['Whats App Images', 'WhatsApp Images'], ['summer 2020'], [])
    """
    return texts_of_name(name) if words_of_name(name) else []
