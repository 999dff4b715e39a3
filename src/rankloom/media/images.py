"""Read pictures: any common format, upright, as RGB bytes, at a bounded size and cost."""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.media._cost import check_cost, check_webp
from rankloom.media._pixels import to_rgb
from rankloom.media.errors import MediaError, reason

MAX_SIDE = 512
MAX_PIXELS = 100_000_000
# To be described, a JPEG may be decoded at a reduced size that falls so little short of the wanted one: a photo of
# 4000 x 3000 has 500 x 375 pixels at an eighth, and needs no second step from a quarter to 512.
NEARLY = 15 / 16
# Only formats whose decoders are meant for files from anywhere: no PostScript, no Windows metafiles.
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")

_AVIF = (b"avif", b"avis")  # brands
_DRAFTED = ("JPEG", "MPO")  # can be decoded at a reduced size

Source = str | os.PathLike[str] | bytes


def read_image(source: Source, *, max_side: int | None = MAX_SIDE, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Read a picture as an RGB array of shape (height, width, 3), upright as its EXIF orientation says.

    Transparency is laid on white; grey, palette, CMYK and 16-bit pictures become RGB; of an animation the first frame
    is taken. JPEG files much larger than `max_side` are decoded at a half, a quarter or an eighth of their size. Where
    `max_side` is at most `MAX_SIDE`, that of pictures to be described, `NEARLY` so many pixels are enough.

    Parameters
    ----------
    source : the path of a file, or its content as bytes
    max_side : a larger picture is made smaller until its longer side has so many pixels; None leaves it
    max_pixels : a picture that would decode to more is refused; its header is enough to tell

    Raises
    ------
    MediaError
        If it cannot be read, with the reason in one line.

    Examples
    --------
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("L", (1000, 500), 77).save(file, "PNG")
    >>> picture = read_image(file.getvalue(), max_side=100)
    >>> picture.shape, picture[0, 0].tolist()
    ((50, 100, 3), [77, 77, 77])
    """
    with open_image(source) as image:
        return decoded(image, max_side, max_pixels)


def decoded(image: Any, max_side: int | None = MAX_SIDE, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """An opened picture as `read_image` gives it; what it would take is reckoned first, by its header."""
    size = image.size
    if max_side is not None:
        image.draft(None, _fitted(size, _least_side(max_side)))  # only JPEG knows how; others do nothing
    width, height = image.size
    if width * height > max_pixels:
        raise MediaError(f"{width} x {height} pixels are more than the limit of {max_pixels:,}")
    result = image.size if max_side is None else _fitted(image.size, max_side)
    check_cost(image, size, result)
    turn = _orientation(image)
    rgb = to_rgb(image, result)
    return _upright(np.asarray(rgb, np.uint8), turn)


@contextmanager
def open_image(source: Source) -> Iterator[Any]:
    """Open a picture with Pillow without decoding it; whatever goes wrong then or later becomes a MediaError.

    One whose header says that it cannot be decoded within the limit of memory is refused.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # Pillow warns of odd metadata and of large pictures; the first is no fault and the second has a limit here.
            warnings.filterwarnings("ignore", module="PIL")
            with _opened(source) as file, Image.open(file, formats=_formats(file)) as image:
                if image.format not in _DRAFTED:  # even their metadata may be behind the pixels, and so decode them
                    check_cost(image, image.size)
                yield image
    except MediaError:
        raise
    except MemoryError as error:
        raise MediaError("decoding it takes more memory than there is for a picture") from error
    except UnidentifiedImageError as error:
        raise MediaError(_unidentified(source)) from error
    except Exception as error:  # decoders raise nearly anything on hostile files, and no file may stop a run
        raise MediaError(f"cannot be decoded: {reason(error)}") from error


def upright_size(image: Any) -> tuple[int, int]:
    """Width and height of an opened picture as it is seen: its EXIF orientation may exchange them."""
    width, height = image.size
    return (height, width) if _orientation(image) >= 5 else (width, height)


def _formats(file: Any) -> list[str]:
    """The formats that this file may have; the decoder of HEIC, which is large, is loaded where it may be needed."""
    from PIL import Image

    head = file.read(30)
    file.seek(0)
    check_webp(head)
    if head[4:8] == b"ftyp" and head[8:12] not in _AVIF:
        _register_heif()
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


@cache
def _register_heif() -> None:
    from pillow_heif import register_heif_opener

    register_heif_opener()


def _opened(source: Source) -> Any:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not stat.S_ISREG(os.stat(source).st_mode):  # asked before opening: a pipe would wait for ever
        raise MediaError("not a regular file")
    return open(source, "rb")


def _unidentified(source: Source) -> str:
    with _opened(source) as file:
        head = file.read(16)
    if not head:
        return "the file is empty"
    if head[4:8] == b"ftyp" and head[8:12] in _AVIF:
        return "an AVIF picture, which this Pillow cannot read; pip install --upgrade pillow"
    return "not a picture in a known format"


def _fitted(size: tuple[int, int], side: int) -> tuple[int, int]:
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _least_side(max_side: int) -> int:
    """The longer side that a picture must keep when it is decoded at a reduced size."""
    return round(max_side * NEARLY) if max_side <= MAX_SIDE else max_side


def _orientation(image: Any) -> int:
    """How Pillow gives the picture: as a value of the EXIF orientation, 1 for upright."""
    if image.format == "TIFF":  # Pillow turns these itself, and these alone
        return 1
    try:
        orientation = int(image.getexif().get(0x0112, 1))
    except Exception:  # broken metadata must not hide a good picture
        return 1
    return orientation if 1 <= orientation <= 8 else 1


def _upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Undo the rotation and mirroring that the values 2 to 8 of the EXIF orientation stand for."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)
