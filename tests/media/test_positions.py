"""Where files were taken, by their metadata; odd metadata is none."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from rankloom.media.positions import Position, iso6709_position, read_position


def picture(gps, kind="JPEG"):
    """The bytes of a picture with GPS data."""
    image, file = Image.new("RGB", (16, 12), "red"), io.BytesIO()
    exif = image.getexif()
    exif[0x8825] = gps
    image.save(file, kind, exif=exif.tobytes())
    return file.getvalue()


def degrees(d, m=0, s=0):
    return tuple(IFDRational(part) for part in (d, m, s))


PARIS = {1: "N", 2: degrees(48, 51, Fraction(2772, 100)), 3: "E", 4: degrees(2, 17, 42)}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_picture_says_where_it_was_taken(kind):
    assert read_position(picture(PARIS, kind)) == Position(48.8577, 2.295)


def test_south_and_west_are_negative():
    place = read_position(picture({1: "S", 2: degrees(33, 52, 30), 3: "W", 4: degrees(151)}))
    assert place == Position(-33.875, -151.0)


NAN = (IFDRational(0, 0), IFDRational(0), IFDRational(0))
BAD = {
    "nowhere": {**PARIS, 2: degrees(0), 4: degrees(0)},
    "too far north": {**PARIS, 2: degrees(91)},
    "too far east": {**PARIS, 4: degrees(181)},
    "minutes": {**PARIS, 2: degrees(48, 99)},
    "not a number": {**PARIS, 2: NAN},
    "no reference": {2: PARIS[2], 4: PARIS[4]},
    "a wrong reference": {**PARIS, 1: "E"},
    "only a latitude": {1: "N", 2: PARIS[2]},
}


@pytest.mark.parametrize("gps", BAD.values(), ids=BAD)
def test_bad_metadata_is_none(gps):
    assert read_position(picture(gps)) is None


def test_no_picture_and_no_metadata_are_none(tmp_path):
    assert read_position(b"no picture") is None
    plain = io.BytesIO()
    Image.new("RGB", (8, 8)).save(plain, "PNG")
    assert read_position(plain.getvalue()) is None
    (tmp_path / "no.mp4").write_bytes(b"no video")
    assert read_position(tmp_path / "no.mp4") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+27.5916+086.5640+8850/", Position(27.5916, 86.564)),
        ("+485128-0021742/", Position(48.857778, -2.295)),
        ("+00-025/", Position(0.0, -25.0)),
        ("+4899+00217/", None), ("+1234567+001/", None), ("+48", None), ("+00.0+000.0/", None), ("+99+001/", None),
        ("", None), ("+9" * 1000, None),
    ],
)  # fmt: skip
def test_positions_of_videos(text, expected):
    assert iso6709_position(text) == expected


def test_a_video_says_where_it_was_taken(tmp_path):
    import av

    path = tmp_path / "a.mov"
    with av.open(str(path), "w", options={"movflags": "use_metadata_tags"}) as container:
        container.metadata["com.apple.quicktime.location.ISO6709"] = "+48.8577+002.2950+035.0/"
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height = 32, 32
        frame = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8))
        for packet in (*stream.encode(frame), *stream.encode()):
            container.mux(packet)
    assert read_position(path) == Position(48.8577, 2.295)
