"""Names that people give to things, which must be safe wherever they are shown or used as a key."""

from __future__ import annotations

import unicodedata

LONGEST = 100
# What every object of JavaScript has already: a program that keeps things by name in a plain object would find these.
_OWNED = (
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "constructor",
    "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "prototype", "toLocaleString", "toString", "valueOf",
)  # fmt: skip


def check_name(name: str, what: str) -> str:
    """A name of letters (of any script), digits, spaces, - and _, or a ValueError that says what is wrong with it.

    Parameters
    ----------
    name : the name.
    what : of what, for the error.

    Examples
    --------
    >>> check_name("Hafen bei Nacht 2", "a concept")
    'Hafen bei Nacht 2'
    >>> check_name("__proto__", "a concept")
    Traceback (most recent call last):
    ValueError: '__proto__' cannot be the name of a concept: programs have a meaning for it; take another
    """
    if not name.strip() or not all(letter in " -_" or unicodedata.category(letter)[0] in "LMN" for letter in name):
        raise ValueError(
            f"the name of {what} is made of letters, digits, spaces, _ and -; got {name[:LONGEST]!r}"
        )  # fmt: skip
    if len(name) > LONGEST:
        raise ValueError(f"the name of {what} has at most {LONGEST} letters, got {len(name)}")
    if name.strip() in _OWNED:
        raise ValueError(f"{name!r} cannot be the name of {what}: programs have a meaning for it; take another")
    return name
