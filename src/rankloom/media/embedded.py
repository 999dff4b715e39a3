"""Captions and keywords inside picture files: EXIF, IPTC, XMP and text chunks; titles inside videos."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from rankloom.media._machine_texts import is_caption
from rankloom.media._text_files import bounded, decoded
from rankloom.media.errors import MediaError
from rankloom.media.files import kind_of
from rankloom.media.images import Source, open_image

MAX_XMP = 1_000_000
MAX_DEPTH = 100
_EXIF_TEXTS = (
    0x010E,
    0x9C9B,
    0x9C9C,
    0x9C9E,
    0x9C9F,
)  # ImageDescription, and Windows' title, comment, keywords, subject
_USER_COMMENT = 0x9286
_CHARSET = re.compile(r"^(?:ASCII|UNICODE|JIS)\0+")  # the charset of a comment, which some programs write twice
_IPTC_TEXTS = ((2, 5), (2, 25), (2, 105), (2, 120))  # title, keywords, headline, caption
_CHUNKS = ("title", "description", "caption", "comment", "keywords", "subject")
_DC = "http://purl.org/dc/elements/1.1/"
_XMP_TEXTS = {
    f"{_DC} title",
    f"{_DC} description",
    f"{_DC} subject",
    "http://ns.adobe.com/photoshop/1.0/ Headline",
    "http://ns.adobe.com/lightroom/1.0/ hierarchicalSubject",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/ AltTextAccessibility",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/ ExtDescrAccessibility",
}


def embedded_texts(source: Source, warn: Callable[[str], None] = lambda line: None) -> list[str]:
    """The captions, titles and keywords inside a file, each once; none where the file is broken or has none.

    What cameras and programs write into the same fields is left out (`is_caption`). The texts are bounded in number
    and length; what is cut is reported to `warn`.
    """
    try:
        if not isinstance(source, bytes) and kind_of(source) == "video":
            return _captions(list(_video_texts(source)), warn)
        with open_image(source) as image:
            return picture_texts(image, warn)
    except MediaError:
        return []


def picture_texts(image: Any, warn: Callable[[str], None]) -> list[str]:
    """Those of `embedded_texts` of an opened picture."""
    return _captions(list(_picture_texts(image)), warn)


def _captions(texts: list[str], warn: Callable[[str], None]) -> list[str]:
    return bounded((_CHARSET.sub("", text) for text in texts), "its metadata", warn, wanted=is_caption)


def _picture_texts(image: Any) -> Iterator[str]:
    for read in (_exif, _iptc, _xmp, _chunks):
        try:
            yield from list(read(image))
        except Exception:  # one broken block of metadata must not hide the others
            continue


def _exif(image: Any) -> Iterator[str]:
    exif = image.getexif()
    for tag in _EXIF_TEXTS:
        value = exif.get(tag)
        if isinstance(value, bytes):
            yield value.decode("utf-16-le", "replace") if tag >= 0x9C9B else decoded(value)
        elif isinstance(value, tuple):  # Windows' tags are arrays of bytes
            yield bytes(value).decode("utf-16-le", "replace")
        elif value:
            yield _repaired(str(value))
    comment = exif.get_ifd(0x8769).get(_USER_COMMENT)
    if isinstance(comment, bytes):
        code, text = comment[:8], comment[8:]
        wide = "utf-16-le" if exif.endian == "<" else "utf-16-be"
        yield text.decode(wide, "replace") if code.startswith(b"UNICODE") else decoded(text)
    elif comment:
        yield str(comment)


def _repaired(text: str) -> str:
    """EXIF text should be ASCII; Pillow reads it as Latin-1, but most programs write UTF-8."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _iptc(image: Any) -> Iterator[str]:
    from PIL import IptcImagePlugin

    records = IptcImagePlugin.getiptcinfo(image) or {}
    for tag in _IPTC_TEXTS:
        values = records.get(tag, [])
        for value in values if isinstance(values, list) else [values]:
            yield decoded(value)


def _xmp(image: Any) -> Iterator[str]:
    for name in ("xmp", "XML:com.adobe.xmp"):
        data = image.info.get(name)
        if data:
            yield from xmp_texts(data.encode() if isinstance(data, str) else data)


def _chunks(image: Any) -> Iterator[str]:
    for name, value in list(image.info.items()):
        if isinstance(name, str) and name.lower() in _CHUNKS and isinstance(value, str | bytes):
            yield decoded(value) if isinstance(value, bytes) else str(value)


def xmp_texts(data: bytes) -> list[str]:
    """Titles, descriptions and keywords of an XMP packet.

    The XML may come from anywhere: document types, and with them all entities, are refused; size and depth are bounded.

    Examples
    --------
    >>> packet = b'''<x xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    ... <dc:subject><r:Bag><r:li>dog</r:li><r:li>beach</r:li></r:Bag></dc:subject></x>'''
    >>> xmp_texts(packet)
    ['dog', 'beach']
    """
    if len(data) > MAX_XMP:
        return []
    reader = _XmpReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        parser.Parse(data if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data.strip(b"\x00 \r\n\t"), True)
    except (expat.ExpatError, MediaError):
        return []
    return reader.texts


class _XmpReader:
    """Collects the text of the wanted properties; those may also stand as attributes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.path: list[str] = []
        self.part = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > MAX_DEPTH:
            raise MediaError("XMP nested too deeply")
        self.part = ""
        self.texts.extend(value for key, value in attributes.items() if key in _XMP_TEXTS and value.strip())

    def characters(self, text: str) -> None:
        if not _XMP_TEXTS.isdisjoint(self.path):
            self.part += text

    def end(self, _: str) -> None:
        if self.part.strip():
            self.texts.append(self.part.strip())
        self.part = ""
        self.path.pop()

    def doctype(self, *_: Any) -> None:
        raise MediaError("XMP with a document type")


def _video_texts(path: str | os.PathLike[str]) -> Iterator[str]:
    import av

    from rankloom.media.videos import CONTAINERS

    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    try:
        with av.open(os.fspath(path), options=options, metadata_errors="replace") as container:
            for name, value in container.metadata.items():
                if name.lower() in _CHUNKS:
                    yield value
    except (av.error.FFmpegError, OSError) as error:
        raise MediaError("not a readable video") from error
