"""Finding files and reading pictures, good and hostile."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pillow_heif import register_heif_opener

from rankloom.media import MediaError, _pixels, find_files, read_image
from rankloom.media.images import open_image, upright_size
from tests.data import SHARED, needs_shared

RED = (220, 30, 40)


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    file = io.BytesIO()
    if format == "HEIF":
        register_heif_opener()  # and the encoder
    image.save(file, format, **options)
    return file.getvalue()


def scene(width: int = 90, height: int = 60) -> np.ndarray:
    """A smooth picture that is different in every corner."""
    y, x = np.mgrid[:height, :width]
    planes = [255 * x / width, 255 * y / height, 127 + 100 * np.sin(x / 9) * np.cos(y / 7)]
    return np.stack(planes, axis=2).astype(np.uint8)


def stored(orientation: int, upright: np.ndarray | None = None) -> np.ndarray:
    """A picture as a camera stores it with an EXIF orientation, turned by hand."""
    picture = scene() if upright is None else upright
    turned = {
        1: picture,
        2: picture[:, ::-1],  # mirrored
        3: np.rot90(picture, 2),  # upside down
        4: picture[::-1],  # upside down and mirrored
        5: picture.swapaxes(0, 1),
        6: np.rot90(picture, 1),  # to be turned clockwise
        7: np.rot90(picture.swapaxes(0, 1), 2),
        8: np.rot90(picture, -1),  # to be turned counterclockwise
    }
    return np.ascontiguousarray(turned[orientation])


def tiff_header(width: int, height: int) -> bytes:
    """A TIFF file of fractions in one compressed strip, of which nothing comes."""
    tags = {256: width, 257: height, 258: 32, 259: 8, 262: 1, 273: 8, 277: 1, 278: height, 279: 64, 339: 3}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(100)


def progressive(width: int, height: int) -> bytes:
    """A progressive JPEG file whose header promises another size."""
    data = encoded(Image.new("RGB", (16, 16)), "JPEG", progressive=True)
    place = data.index(b"\xff\xc2") + 5
    return data[:place] + struct.pack(">HH", height, width) + data[place + 4 :]


def webp_header(width: int, height: int) -> bytes:
    """A WebP file without pixels."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    chunk = b"VP8X" + struct.pack("<I", 10) + bytes(4) + size
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def oriented(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


BEST = {"JPEG": {"quality": 95}, "PNG": {}, "WEBP": {"quality": 95}, "TIFF": {}, "AVIF": {}, "HEIF": {}}


class TestFindFiles:
    def found(self, *paths: Path | str) -> tuple[list[str], list[tuple[str, str]]]:
        problems: list[tuple[str, str]] = []
        files = find_files(paths, lambda path, why: problems.append((path.name, why)))
        return [f"{file.kind} {file.path.name}" for file in files], problems

    def test_kinds_order_and_hidden(self, tmp_path: Path) -> None:
        for name in ("b/z.JPG", "b/a.mp4", "a.png", "c.txt", ".hidden.jpg", ".folder/x.jpg", "b/.DS_Store", "B.webp"):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        expected = ["picture B.webp", "picture a.png", "video a.mp4", "picture z.JPG"]
        assert self.found(tmp_path) == (expected, [])
        assert self.found(str(tmp_path))[0] == expected
        assert [file.path.name for file in find_files(tmp_path / ".hidden.jpg")] == [".hidden.jpg"]

    def test_links_in_circles_and_to_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "deep" / "er").mkdir(parents=True)
        (tmp_path / "deep" / "a.jpg").touch()
        (tmp_path / "deep" / "er" / "up").symlink_to(tmp_path)
        (tmp_path / "deep" / "er" / "again").symlink_to(tmp_path / "deep")
        (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere.jpg")
        assert self.found(tmp_path) == (["picture a.jpg"], [("gone.jpg", "a link to nothing")])

    def test_each_file_once(self, tmp_path: Path) -> None:
        (tmp_path / "a.jpg").touch()
        assert self.found(tmp_path, tmp_path, tmp_path / "a.jpg", tmp_path / "a.jpg")[0] == ["picture a.jpg"]
        assert self.found(tmp_path / "a.jpg", tmp_path)[0] == ["picture a.jpg"]

    def test_missing_and_unwanted_paths_are_reported(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").touch()
        files, problems = self.found(tmp_path / "none", tmp_path / "a.txt")
        assert files == []
        assert [name for name, _ in problems] == ["none", "a.txt"]

    def test_unreadable_folder_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("a", "locked", "z"):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.jpg").touch()
        scandir = os.scandir

        def refuse(path: Path) -> object:  # the tests may run as root, whom no permission stops
            if Path(path).name == "locked":
                raise PermissionError(13, "Permission denied", str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)
        files, problems = self.found(tmp_path)
        assert files == ["picture a.jpg", "picture z.jpg"]
        assert problems == [("locked", "permission denied")]

    def test_pipes_and_folders_named_like_pictures(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.jpg")
        (tmp_path / "folder.jpg").mkdir()
        (tmp_path / "folder.jpg" / "in.png").touch()
        assert self.found(tmp_path) == (["picture in.png"], [("pipe.jpg", "not a regular file")])

    def test_very_deep_folders(self, tmp_path: Path) -> None:
        path = tmp_path
        for _ in range(300):
            path = path / "d"
        os.makedirs(path)
        (path / "a.jpg").touch()
        assert self.found(tmp_path)[0] == ["picture a.jpg"]

    @needs_shared
    @pytest.mark.shared
    def test_the_packs(self) -> None:
        files = list(find_files([SHARED / "images-caltech101", SHARED / "videos"]))
        assert sum(file.kind == "picture" for file in files) == 1824
        assert sum(file.kind == "video" for file in files) == 3


class TestFormats:
    @pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "JPEG", "WEBP", "GIF", "AVIF", "HEIF"])
    def test_formats(self, format: str) -> None:
        picture = scene()
        read = read_image(encoded(Image.fromarray(picture), format))
        lossless = format in ("PNG", "BMP", "TIFF")
        assert read.shape == picture.shape
        assert read.dtype == np.uint8
        assert np.abs(read.astype(int) - picture).mean() <= (0 if lossless else 12)

    def test_heif_decoder_is_loaded_when_it_is_needed(self, tmp_path: Path) -> None:
        for format in ("PNG", "AVIF", "HEIF"):
            (tmp_path / format).write_bytes(encoded(Image.fromarray(scene()), format))
        program = (
            "import sys; from rankloom.media import read_image\n"
            "for name in ('PNG', 'AVIF', 'HEIF'): print(read_image(name).shape, 'pillow_heif' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
        assert done.stdout.splitlines() == ["(60, 90, 3) False", "(60, 90, 3) False", "(60, 90, 3) True"]

    def test_path_bytes_and_wrong_extension(self, tmp_path: Path) -> None:
        file = tmp_path / "really_a_png.jpg"
        data = encoded(Image.fromarray(scene()), "PNG")
        file.write_bytes(data)
        np.testing.assert_array_equal(read_image(file), read_image(data))
        np.testing.assert_array_equal(read_image(str(file)), scene())

    def test_first_frame_of_an_animation(self) -> None:
        frames = [Image.new("RGB", (20, 10), color) for color in (RED, (0, 0, 255))]
        for format in ("GIF", "WEBP"):
            data = encoded(frames[0], format, save_all=True, append_images=frames[1:], duration=100)
            assert np.abs(read_image(data)[5, 5].astype(int) - RED).max() <= 6

    def test_transparency_lies_on_white(self) -> None:
        image = Image.new("RGBA", (4, 4), (*RED, 0))
        image.putpixel((0, 0), (*RED, 255))
        image.putpixel((1, 0), (0, 0, 0, 128))
        read = read_image(encoded(image, "PNG"))
        assert read[0, 0].tolist() == list(RED)
        assert read[3, 3].tolist() == [255, 255, 255]
        assert abs(int(read[0, 1, 0]) - 127) <= 1
        palette = Image.new("P", (4, 4), 0)
        palette.putpalette([*RED, 0, 0, 255])
        palette.putpixel((0, 0), 1)
        read = read_image(encoded(palette, "PNG", transparency=0))
        assert (read[3, 3].tolist(), read[0, 0].tolist()) == ([255, 255, 255], [0, 0, 255])
        grey = encoded(Image.new("LA", (2, 2), (9, 0)), "PNG")
        assert read_image(grey)[0, 0].tolist() == [255] * 3

    @pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
    def test_modes(self, mode: str) -> None:
        picture = Image.fromarray(scene()).convert(mode)
        expected = np.asarray(picture.convert("RGB"))
        np.testing.assert_array_equal(read_image(encoded(picture, "PNG")), expected)

    def test_cmyk(self) -> None:
        image = Image.fromarray(scene()).convert("CMYK")
        for format in ("JPEG", "TIFF"):
            read = read_image(encoded(image, format))
            assert np.abs(read.astype(int) - np.asarray(image.convert("RGB"))).mean() < 5

    def test_sixteen_bits(self) -> None:
        ramp = np.linspace(0, 65535, 256 * 4).reshape(4, 256).astype(np.uint16)
        for format in ("PNG", "TIFF"):
            read = read_image(encoded(Image.fromarray(ramp), format))
            assert np.abs(read[..., 1].astype(float) - ramp / 257).max() <= 1
        dark = np.full((4, 4), 200, np.uint16)
        assert read_image(encoded(Image.fromarray(dark), "PNG")).max() <= 1

    def test_float_tiff(self) -> None:
        for values, expected in (([0.0, 0.5, 1.0], [0, 128, 255]), ([-10.0, 0.0, 10.0], [0, 128, 255])):
            image = Image.fromarray(np.array([values], np.float32))
            assert read_image(encoded(image, "TIFF"))[0, :, 0].tolist() == expected
        broken = Image.fromarray(np.array([[np.nan, np.inf, 1.0]], np.float32))
        assert read_image(encoded(broken, "TIFF")).shape == (1, 3, 3)

    @pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_orientation(self, orientation: int, format: str) -> None:
        """A picture that was stored turned or mirrored comes back upright, and so does its size."""
        data = encoded(Image.fromarray(stored(orientation)), format, exif=oriented(orientation), **BEST[format])
        with open_image(data) as image:
            assert upright_size(image) == (90, 60)
        read = read_image(data)
        assert read.shape == (60, 90, 3)
        assert np.abs(read.astype(int) - scene()).mean() < 12

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_orientation_of_a_reduced_picture(self, orientation: int) -> None:
        large = np.asarray(Image.fromarray(scene()).resize((900, 600), Image.Resampling.BICUBIC))
        data = encoded(Image.fromarray(stored(orientation, large)), "JPEG", exif=oriented(orientation), quality=95)
        assert np.abs(read_image(data, max_side=90).astype(int) - scene()).mean() < 4

    def test_broken_orientation_is_upright(self) -> None:
        data = encoded(Image.fromarray(scene()), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
        assert read_image(data).shape == (60, 90, 3)


class TestSizes:
    def test_one_pixel(self) -> None:
        assert read_image(encoded(Image.new("RGB", (1, 1), RED), "PNG"))[0, 0].tolist() == list(RED)

    def test_thin(self) -> None:
        assert read_image(encoded(Image.new("RGB", (5000, 1)), "PNG"), max_side=100).shape == (1, 100, 3)

    def test_smaller_pictures_stay(self) -> None:
        np.testing.assert_array_equal(read_image(encoded(Image.fromarray(scene()), "PNG"), max_side=90), scene())

    def test_none_leaves_the_size(self) -> None:
        assert read_image(encoded(Image.new("L", (700, 300)), "PNG"), max_side=None).shape == (300, 700, 3)

    @pytest.mark.parametrize("format", ["JPEG", "PNG"])
    def test_reduced(self, format: str) -> None:
        large = Image.fromarray(scene()).resize((1800, 1200), Image.Resampling.BICUBIC)
        read = read_image(encoded(large, format, quality=95), max_side=90)
        assert read.shape == (60, 90, 3)
        assert np.abs(read.astype(int) - scene()).mean() < 4

    def test_a_reduced_jpeg_that_is_nearly_as_large_as_wanted_is_left_at_that(self) -> None:
        """A photo of 12 megapixels is described at an eighth of its size; one to be looked at has the wanted size."""
        photo = encoded(Image.new("L", (4000, 3000), 99), "JPEG")
        assert read_image(photo).shape == (375, 500, 3)
        assert read_image(photo, max_side=1010).shape == (758, 1010, 3)
        assert read_image(encoded(Image.new("L", (3800, 100)), "JPEG")).shape[1] == 512  # 475 are too few
        assert read_image(encoded(Image.new("L", (4000, 100)), "PNG")).shape[1] == 512

    def test_large_jpeg_is_cheap(self) -> None:
        """A picture of 120 million pixels is above the limit, but not at an eighth of its size."""
        data = encoded(Image.new("L", (12000, 10000), 99), "JPEG")
        assert read_image(data, max_side=256).shape == (213, 256, 3)
        with pytest.raises(MediaError, match="more than the limit"):
            read_image(data, max_side=None)


def png(width: int, height: int) -> bytes:
    """A PNG that promises so many pixels and holds none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


class TestHostile:
    def bad(self, source: object, match: str | None = None) -> None:
        with pytest.raises(MediaError, match=match) as caught:
            read_image(source)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("size", [(12_000, 10_000), (50_000, 50_000), (2**31 - 1, 2**31 - 1)])
    def test_bombs_are_refused_by_their_header(self, size: tuple[int, int]) -> None:
        self.bad(png(*size))

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (tiff_header(10000, 9900), "10000 x 9900 pixels of TIFF (F) need 792 MB, the limit is 420 MB"),
            (progressive(16000, 10000), "16000 x 10000 pixels of JPEG (RGB) need 491 MB, the limit is 420 MB"),
            (webp_header(10000, 9900), "10000 x 9900 pixels of WEBP need 1,683 MB, the limit is 420 MB"),
        ],
        ids=["one strip of fractions", "coefficients", "canvases"],
    )
    def test_what_a_decoder_takes_for_itself_counts(self, data: bytes, reason: str) -> None:
        """None of them has more pixels than are allowed."""
        with pytest.raises(MediaError) as caught:
            read_image(data)
        assert str(caught.value) == reason

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "L", "F", "I;16"])
    def test_tiles_give_the_same_picture(self, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Large pictures are converted tile by tile, at a whole part of their size."""
        image = Image.fromarray(scene(1030, 620))
        if mode in ("F", "I;16"):
            values = np.asarray(image.convert("L"))
            image = Image.fromarray(values / np.float32(255) if mode == "F" else values.astype(np.uint16) * 257)
        else:
            image = image.convert(mode)
        whole = [_pixels.to_rgb(image, size) for size in ((103, 62), (600, 361), image.size)]
        monkeypatch.setattr(_pixels, "WHOLE_PIXELS", 0)
        monkeypatch.setattr(_pixels, "_TILE", 100)
        for expected in whole:
            tiled = _pixels.to_rgb(image, expected.size)
            assert tiled.size == expected.size
            difference = np.abs(np.asarray(tiled, float) - np.asarray(expected, float))
            assert difference.mean() < 2  # the boxes of a size that does not divide are not quite the same

    def test_limit_can_be_set(self) -> None:
        data = encoded(Image.new("RGB", (100, 100)), "PNG")
        with pytest.raises(MediaError, match="100 x 100 pixels are more than the limit of 9,999"):
            read_image(data, max_pixels=9_999)

    def test_promised_pixels_that_do_not_come(self) -> None:
        self.bad(png(100, 100))

    @pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP", "AVIF", "HEIF"])
    def test_truncated(self, format: str) -> None:
        rng = np.random.default_rng(0)
        data = encoded(Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8)), format)
        for length in (len(data) // 2, 30, 10, 1):
            self.bad(data[:length])

    def test_flipped_bytes_give_a_picture_or_a_media_error(self) -> None:
        rng = np.random.default_rng(0)
        for format in ("JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP", "AVIF", "HEIF"):
            good = encoded(Image.fromarray(scene()), format)
            for _ in range(40):
                data = bytearray(good)
                for at in rng.integers(0, len(data), 6):
                    data[at] = int(rng.integers(0, 256))
                try:
                    picture = read_image(bytes(data))
                except MediaError:
                    continue
                assert picture.ndim == 3
                assert picture.shape[2] == 3

    def test_empty_text_folder_missing_pipe(self, tmp_path: Path) -> None:
        self.bad(b"", "the file is empty")
        self.bad(b"<html>not a picture</html>", "not a picture in a known format")
        self.bad(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture")
        (tmp_path / "folder.jpg").mkdir()
        self.bad(tmp_path / "folder.jpg", "not a regular file")
        self.bad(tmp_path / "none.jpg", "no such file")
        os.mkfifo(tmp_path / "pipe.jpg")
        self.bad(tmp_path / "pipe.jpg", "not a regular file")
        self.bad("a\0b.jpg")


@needs_shared
@pytest.mark.shared
def test_the_packs_can_be_read() -> None:
    for pack in ("images-caltech101", "imagetext-flickr8k", "imagetext-openclipart", "imagetext-tuxpaint"):
        files = list(find_files(SHARED / pack / "images"))
        for file in files[:: len(files) // 12]:
            picture = read_image(file.path, max_side=256)
            assert max(picture.shape) <= 256
            assert picture.shape[2] == 3
