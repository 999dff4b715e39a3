"""Captions are told from what cameras and programs write into the same fields."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from rankloom.media import find_files
from rankloom.media._machine_texts import is_caption
from rankloom.media.embedded import embedded_texts
from tests.data import SHARED, needs_shared

MACHINES = [
    "AppleMark",
    "AppleMark\n",
    "cmp3.10.3.1Lq4 0x4ad5ae9d",
    "CREATOR: gd-jpeg v1.0 (using IJG JPEG v62), quality = 90\n",
    "OLYMPUS DIGITAL CAMERA",
    "OLYMPUS DIGITAL CAMERA         ",
    "SAMSUNG CAMERA PICTURES",
    "SAMSUNG DIGITAL CAMERA",
    "KONICA MINOLTA DIGITAL CAMERA",
    "SONY DSC",
    "Lavc58.54",
    "Lavc58.54.100",
    "Lavf58.29.100",
    "Optimized by JPEGmini 3.18.2.210033067-TBTBLNP 0x1d3f",
    "Optimized by JPEGmini",
    "File written by Adobe Photoshop¨ 4.0",
    "ASCII\x00\x00\x00",
    "ASCII\x00\x00\x00\x00\x00",
    "Created with GIMP",
    "Created with The GIMP",
    "Exif_JPEG_PICTURE",
    "LEAD Technologies Inc. V1.01",
    "LEAD Technologies Inc. V1.01LEAD Technologies Inc. V1.01",
    "ACD Systems Digital Imaging",
    "Created by AccuSoft Corp.",
    "Rotated",
    "Ashampoo Photo Commander 4.1.0",
    "Intel(R) JPEG OnlineWeights, version 1,5,4,36",
    "File written with CompuPic(R) - Photodex Corporation (http://www.photodex.com)",
    "Processed By eBay with ImageMagick, z1.1.0. ||B2",
    "Adobe Photoshop CS5 Windows",
    "Adobe Photoshop Lightroom 5.7 (Macintosh)",
    "paint.net 4.0.9",
    "x264 - core 155 r2917 0a84d98 - H.264/MPEG-4 AVC codec - Copyleft 2003-2018 - http://www.videolan.org/x264.html",
    "HandBrake 1.3.3 2020061300",
    "ISO Media file produced by Google Inc. Created on: 01/02/2020.",
    "vid:v09044g40000btvbd0",
    "DCIM100MEDIADJI_0012.JPG",
    "DCIM\\100GOPRO",
    "IMG_2039.JPG",
    "DSC00123",
    "IMG_20240131_120000",
    "20240131",
    "12345",
    "1984",
    "0xdeadbeef",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "550e8400-e29b-41d4-a716-446655440000",
    "FBMD01000a9e0d0000b9f00000",
    "https://www.flickr.com/photos/123",
    "www.example.org",
    "\x01\x02\x93\x81\x8f\x03abc\x04\x05",
    "���abc",
    "Motorola RAZRV3x 85.97.F1P 2007:06:07 17:02:42",
    "Vender:SHARP Model:910SH Software Version:1.08R Datetime:20090126 06:53:01",
    "...",
    "---",
    "*",
    "A",
    "oznorCO",
    "hdrpl",
    "KODAK Digital Still Camera",
    "CASIO COMPUTER CO.,LTD.",
    'charset="Ascii"',
    "Picasa",
    "Screenshot",
    "v1.0",
    "Handycam Scanner v2",
    "QuickTime 7.6",
    "Edited with Snapseed",
    "ExifTool 12.40",
    "Microsoft Windows Photo Viewer 6.1.7600.16385",
    "XnView",
    "  ",
    "2007:06:07 17:02:42",
]

PEOPLE = [
    "Oma",
    "IMG at Paris",
    "猫",
    "Opa & Oma 1984",
    "B17",
    "U2",
    "2CV",
    "Paris2019",
    "Hochzeit2012",
    "Paris 12.5.2010",
    "1984 in Berlin",
    "Anna, 5 years old",
    "Made by my grandmother",
    "Created by Anna for the school fair",
    "Written by Goethe in 1774",
    "Processed by hand in the darkroom",
    "Painting by Inka",
    "adobe",
    "Adobe houses in Taos",
    "apple",
    "Canon at the castle",
    "an Olympus camera on a table",
    "Photoshop workshop in Berlin",
    "Left: Anna, middle: Bob, right: Carl",
    "Photo: Max; place: Rome; year: 1990",
    "日本語",
    "2019年京都",
    "Москва, Красная площадь",
    "हिन्दी",
    "مرحبا بالعالم",
    "שלום",
    "สวัสดี",
    "Ελλάδα",
    "한국",
    "ß",
    "Æ",
    "é",
    "NYC",
    "UK",
    "dog",
    "beach",
    "old_bridge-02",
    "summer-2019",
    "(c) Victor Fieldhouse",
    "Dave Smith - flickr@nobodynet.net",
    "A dog runs. See http://example.org/dog",
    "Me & You",
    "R.E.M.",
    "O'Brien's",
    "Côte d'Azur",
    "Boeing 747",
    "IMG of the day",
    "The camera of my father",
    "Sony Center, Berlin",
    "CAMERA",
    "POLAROID",
    "HP",
    "Tom & Jerry",
    "👪 family",
    "50th birthday",
    "Version control",
    "Windows of the old town",
    "scanned by Peter from the album",
    "Sharp turn",
    "digital",
    "Screenshot of the game",
    "Version 2 of the garden house",
    "Apollo 11",
    "Star Wars: Episode IV",
    "Wedding 3.4.2011",
    "Garden, May 2010",
]


@pytest.mark.parametrize("text", MACHINES)
def test_machines(text: str) -> None:
    assert not is_caption(text)


@pytest.mark.parametrize("text", PEOPLE)
def test_people(text: str) -> None:
    assert is_caption(text)


def test_random_bytes_are_no_captions() -> None:
    data = bytes(range(256))
    for encoding in ("latin-1", "utf-8"):
        assert not is_caption(data.decode(encoding, "replace"))


def jpeg(**options: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", **options)
    return file.getvalue()


def test_only_captions_are_taken_from_a_file() -> None:
    exif = Image.Exif()
    exif[0x010E] = "OLYMPUS DIGITAL CAMERA"
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0ASCII\0\0\0Oma at the lake"
    assert embedded_texts(jpeg(exif=exif, comment=b"AppleMark\n")) == ["Oma at the lake"]
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0"
    assert embedded_texts(jpeg(exif=exif, comment="Grüße".encode())) == ["Grüße"]


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
def test_the_packs() -> None:
    """The comments of nine programs and four cameras are gone; what is left was written by people."""
    pack = SHARED / "imagetext-flickr8k"
    texts = {text for file in find_files(pack) for text in embedded_texts(file.path)}
    assert texts <= {"(c) Victor Fieldhouse", "Dave Smith - flickr@nobodynet.net"}
