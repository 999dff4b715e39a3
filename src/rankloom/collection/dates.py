"""Dates as people give them: a year, a month, a day, a moment, or how long ago."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, timedelta

FORMS = "2024, 2024-05, 2024-05-17, 2024-05-17T12:30, today, yesterday, 30d, 2w, 6m or 1y"
_MOMENT = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[tT ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?)?)?"
)  # fmt: skip
_AGO = re.compile(r"([0-9]{1,4})([dwmy])")
_DAYS = {"today": 0, "yesterday": 1}


def start_of(text: str, today: date | None = None) -> str:
    """When a date begins, in the form in which the collection keeps times, so that both compare as text.

    A year begins on its first day, a month too: items from "2024-05" on are not before "2024-05". A number of days,
    weeks, months or years is the day that was so long ago.

    Parameters
    ----------
    text : one of `FORMS`.
    today : from where relative dates count; the day of this machine's clock unless given.

    Examples
    --------
    >>> start_of("2024-05"), start_of("2024-05-17 12:30"), start_of("6m", today=date(2024, 8, 31))
    ('2024-05', '2024-05-17T12:30', '2024-02-29')
    >>> start_of("2024-02-31")
    Traceback (most recent call last):
    ValueError: '2024-02-31' is no date; give 2024, 2024-05, 2024-05-17, 2024-05-17T12:30, today, yesterday, 30d, ...
    """
    given = text.strip()
    today = today or date.today()
    try:
        if given.lower() in _DAYS:
            return (today - timedelta(days=_DAYS[given.lower()])).isoformat()
        if ago := _AGO.fullmatch(given.lower()):
            return _ago(today, int(ago[1]), ago[2]).isoformat()
        if moment := _MOMENT.fullmatch(given):
            year, month, day, *time = (int(part) for part in moment.groups(default="1"))
            datetime(year, month, day, *(time if moment[4] else ()))  # raises where there is no such day or time
            return given.upper().replace(" ", "T")
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{text[:40]!r} is no date; give {FORMS}")


def _ago(today: date, count: int, unit: str) -> date:
    """The day that was so many days, weeks, months or years ago; the last of a month that is shorter."""
    if unit in "dw":
        return today - timedelta(days=count * (7 if unit == "w" else 1))
    months = 12 * today.year + today.month - 1 - count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    date(year, month, 1)  # raises before the first year, which monthrange would count backwards from
    return date(year, month, min(today.day, monthrange(year, month)[1]))
