"""Where a picture or video was taken, by its metadata: EXIF of pictures, the location tag of videos (ISO 6709)."""

from __future__ import annotations

import os
import re
from math import isfinite
from typing import Any, NamedTuple

from rankloom.media.errors import MediaError
from rankloom.media.files import kind_of
from rankloom.media.images import Source, open_image

_GPS = 0x8825
_SIGNS = {"N": 1.0, "E": 1.0, "S": -1.0, "W": -1.0}
_NOWHERE = 1e-4  # degrees around 0, 0, where no land is and receivers without a fix say they are
_TAGS = ("com.apple.quicktime.location.iso6709", "location", "location-eng")
_ISO6709 = re.compile(r"\s*([+-][0-9]{2,6}(?:\.[0-9]{1,12})?)([+-][0-9]{3,7}(?:\.[0-9]{1,12})?)(?![0-9.])")


class Position(NamedTuple):
    """Degrees north and east, negative to the south and to the west."""

    latitude: float
    longitude: float


def position(latitude: float, longitude: float) -> Position | None:
    """A position, if these numbers are one.

    >>> position(48.8577, 2.295), position(0.0, 0.0), position(91.0, 0.0), position(float("nan"), 1.0)
    (Position(latitude=48.8577, longitude=2.295), None, None, None)
    """
    if not (isfinite(latitude) and isfinite(longitude) and abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    if abs(latitude) < _NOWHERE and abs(longitude) < _NOWHERE:
        return None
    return Position(round(latitude, 6), round(longitude, 6))


def picture_position(image: Any) -> Position | None:
    """Where an opened picture was taken; None if its EXIF data does not say so, or says nonsense."""
    try:
        gps = image.getexif().get_ifd(_GPS)
        return position(_degrees(gps[2], gps[1], "NS"), _degrees(gps[4], gps[3], "EW"))
    except Exception:  # missing or odd metadata is no reason to refuse a picture
        return None


def _degrees(parts: Any, direction: Any, known: str) -> float:
    """Degrees, minutes and seconds with a direction as one number; a ValueError if they are none."""
    sign = (direction.decode("ascii") if isinstance(direction, bytes) else str(direction)).strip("\0 ").upper()
    degrees, minutes, seconds = (float(part) for part in (*parts, 0, 0)[:3])
    if len(sign) != 1 or sign not in known or not (degrees >= 0 and 0 <= minutes <= 60 and 0 <= seconds <= 60):
        raise ValueError("no position")
    return _SIGNS[sign] * (degrees + minutes / 60 + seconds / 3600)


def iso6709_position(text: str) -> Position | None:
    """A position as videos have it: degrees, degrees and minutes, or degrees, minutes and seconds.

    >>> iso6709_position("+48.8577+002.2950+035.0/"), iso6709_position("-3352.5+15112.75/")
    (Position(latitude=48.8577, longitude=2.295), Position(latitude=-33.875, longitude=151.2125))
    >>> iso6709_position("Paris")
    """
    match = _ISO6709.match(text)
    if match is None:
        return None
    latitude, longitude = _sexagesimal(match[1], 2), _sexagesimal(match[2], 3)
    return None if latitude is None or longitude is None else position(latitude, longitude)


def _sexagesimal(text: str, digits: int) -> float | None:
    """A number whose first digits are degrees; two more are minutes, and two more seconds."""
    whole, _, fraction = text[1:].partition(".")
    if len(whole) not in (digits, digits + 2, digits + 4):
        return None
    parts = [whole[:digits], *(whole[place : place + 2] for place in range(digits, len(whole), 2))]
    parts[-1] += f".{fraction}" if fraction else ""
    values = [float(part) for part in parts]
    if any(value >= 60 for value in values[1:]):
        return None
    size = sum(value * share for value, share in zip(values, (1.0, 1 / 60, 1 / 3600), strict=False))
    return -size if text[0] == "-" else size


def video_position(path: str | os.PathLike[str]) -> Position | None:
    """Where a video was taken, by the metadata of its container."""
    import av

    from rankloom.media.videos import CONTAINERS

    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    try:
        with av.open(os.fspath(path), options=options, metadata_errors="replace") as container:
            tags = {name.lower(): value for name, value in container.metadata.items()}
    except (av.error.FFmpegError, OSError):
        return None
    found = (iso6709_position(str(tags[name])[:200]) for name in _TAGS if name in tags)
    return next((place for place in found if place is not None), None)


def read_position(source: Source) -> Position | None:
    """Where a file was taken, without decoding it; None if that is not known, or the file cannot be read."""
    if not isinstance(source, bytes) and kind_of(source) == "video":
        return video_position(source)
    try:
        with open_image(source) as image:
            return picture_position(image)
    except MediaError:
        return None
