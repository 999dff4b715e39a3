"""What decoding a picture takes, by its header alone: a few bytes of a file can stand for gigabytes."""

from __future__ import annotations

from typing import Any

from rankloom.media.errors import MediaError

DECODING_BYTES = 420_000_000  # 100 million pixels of a color picture, as Pillow holds them, and what is made of them

_COMPRESSION, _BITS, _SAMPLES, _STRIP_ROWS, _TILE_WIDTH, _TILE_HEIGHT = 259, 258, 277, 278, 322, 323  # tags of TIFF
_RESULT_BYTES = 7  # a pixel, as RGB of Pillow and as an array
# Bytes a pixel that decoders take beside the picture itself: canvases, planes, copies.
_DECODERS = {"WEBP": 13.0, "AVIF": 6.0, "HEIF": 4.0}


def _pixel_bytes(mode: str) -> int:
    """What Pillow takes for a pixel of a mode."""
    if mode in ("1", "L", "P"):
        return 1
    return 2 if mode.startswith("I;16") else 4


def check_cost(image: Any, full_size: tuple[int, int], result: tuple[int, int] = (1, 1)) -> None:
    """Raise a MediaError if an opened picture needs more memory than one may have.

    Parameters
    ----------
    image : as Pillow opened it, set to the size at which it will be decoded; nothing is decoded.
    full_size : its size in the file.
    result : the size of what will be made from it.
    """
    width, height = image.size
    needed = width * height * _pixel_bytes(image.mode) + _decoder_bytes(image, full_size)
    needed += result[0] * result[1] * _RESULT_BYTES
    _refuse_above_limit(needed, f"{full_size[0]} x {full_size[1]} pixels of {image.format} ({image.mode})")


def check_webp(head: bytes) -> None:
    """Refuse a WebP picture by its first 30 bytes: its decoder takes its memory as soon as it is opened."""
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return
    if head[12:16] == b"VP8X":
        width, height = (1 + int.from_bytes(head[place : place + 3], "little") for place in (24, 27))
    elif head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    else:
        width, height = (int.from_bytes(head[place : place + 2], "little") & 0x3FFF for place in (26, 28))
    _refuse_above_limit(width * height * (_DECODERS["WEBP"] + 4), f"{width} x {height} pixels of WEBP")


def _refuse_above_limit(needed: float, what: str) -> None:
    if needed > DECODING_BYTES:
        raise MediaError(f"{what} need {needed / 1e6:,.0f} MB, the limit is {DECODING_BYTES / 1e6:,.0f} MB")


def _decoder_bytes(image: Any, full_size: tuple[int, int]) -> float:
    """What the decoder takes for itself."""
    n_pixels = full_size[0] * full_size[1]
    if image.format in ("JPEG", "MPO"):
        # All coefficients are kept until the last scan has come, at whatever size it is decoded.
        return 2.0 * n_pixels * _samples_per_pixel(image.layer) if image.info.get("progressive") else 0.0
    if image.format == "TIFF":
        return _strip_bytes(image.tag_v2, full_size)
    if image.format == "BMP" and image.tile and image.tile[0][0] == "bmp_rle":
        return 2.0 * n_pixels
    return _DECODERS.get(image.format, 0.0) * n_pixels


def _samples_per_pixel(layers: Any) -> float:
    """Of a JPEG, by how much its color is reduced: 3 without, 1.5 for 4:2:0."""
    across, down = ([int(layer[place]) for layer in layers] for place in (1, 2))
    blocks = sum(horizontal * vertical for horizontal, vertical in zip(across, down, strict=True))
    return blocks / max(1, max(across, default=1) * max(down, default=1))


def _strip_bytes(tags: Any, size: tuple[int, int]) -> float:
    """The largest part of a TIFF that is decompressed at once: one strip or tile may be the whole picture."""
    if tags.get(_COMPRESSION, 1) == 1:
        return 0.0
    bits = max(tags.get(_BITS, (8,)), default=8) * int(tags.get(_SAMPLES, 1))
    if _TILE_WIDTH in tags:
        n_pixels = int(tags[_TILE_WIDTH]) * int(tags.get(_TILE_HEIGHT, size[1]))
    else:
        n_pixels = size[0] * min(size[1], int(tags.get(_STRIP_ROWS, size[1])))
    return n_pixels * max(bits / 8, 1.0)
