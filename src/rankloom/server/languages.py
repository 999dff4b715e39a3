"""The page in the language of its reader: its own texts are translated before it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape, unescape
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "fr", "es", "zh")  # as in i18n.js
COOKIE = "language"  # what was chosen in the page

_MARKED = re.compile(r"(<[a-z0-9]+\b[^>]*?)\sdata-t(?=[\s>])([^>]*>)([^<]*)")
_ATTRIBUTE = re.compile(r'(?<=\s)(aria-label|placeholder|title)="([^"]*)"')
_LANG = f'<html lang="{ENGLISH}">'


def messages_of(content: bytes) -> dict[str, str]:
    """A file of messages: what stands for each English text."""
    return {str(text): str(translation) for text, translation in json.loads(content).items()}


def translated(page: str, language: str, messages: Mapping[str, str]) -> str:
    """A page in another language: the texts and labels of elements with the attribute `data-t`, and its `lang`.

    >>> page = '<html lang="en"><p data-t title="Sea">Two &amp; two</p><p>Stays</p></html>'
    >>> translated(page, "de", {"Sea": "Meer", "Two & two": "Zwei & zwei"})
    '<html lang="de"><p title="Meer">Zwei &amp; zwei</p><p>Stays</p></html>'
    """

    def message(text: str) -> str:
        plain = unescape(text.strip())
        return text.replace(text.strip(), escape(messages.get(plain, plain))) if plain else text

    def element(match: re.Match[str]) -> str:
        tag = _ATTRIBUTE.sub(lambda found: f'{found[1]}="{message(found[2])}"', match[1] + match[2])
        return tag + message(match[3])

    return _MARKED.sub(element, page).replace(_LANG, f'<html lang="{language}">', 1)


def language_of(headers: Headers) -> str:
    """The language that was chosen in the page, else the first one that the browser wants and there is.

    >>> [language_of(Headers({"accept-language": wanted})) for wanted in ("pt, fr-CA;q=.9, de;q=.95", "ja", "zh-TW")]
    ['de', 'en', 'zh']
    >>> language_of(Headers({"accept-language": "fr", "cookie": "a=b; language=es"}))
    'es'
    """
    chosen = _chosen(headers.get("cookie", ""))
    if chosen in LANGUAGES:
        return chosen
    wanted = [_wanted(part) for part in headers.get("accept-language", "").split(",")]
    names = (name for _, name in sorted(wanted, key=lambda pair: -pair[0]))
    return next((name for name in names if name in LANGUAGES), ENGLISH)


def _wanted(part: str) -> tuple[float, str]:
    """How much a language is wanted, and its name."""
    name, _, weight = part.partition(";")
    try:
        share = float(weight.strip().removeprefix("q=")) if weight else 1.0
    except ValueError:
        share = 0.0
    return share, name.strip().lower().partition("-")[0]


def _chosen(cookies: str) -> str:
    try:
        morsel = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value
