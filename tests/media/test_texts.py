"""The text about pictures and videos: names, sidecars, embedded metadata, tables of captions, subtitles."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from rankloom.media import (
    Cue,
    MediaError,
    read_captions,
    read_subtitles,
    spread_cues,
    subtitles_of,
    texts_of,
    words_of_name,
)
from rankloom.media.embedded import embedded_texts, xmp_texts
from rankloom.media.names import texts_of_name
from rankloom.media.subtitles import MAX_PLACES
from tests.data import SHARED, needs_shared
from tests.media.drawn_videos import frames, write

DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
XMP = f"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {DC} xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">
<rdf:Description photoshop:Headline="A headline" photoshop:City="Rome">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Red b&amp;w boat</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Somebody</rdf:li></rdf:Seq></dc:creator>
<dc:subject><rdf:Bag><rdf:li>lake</rdf:li><rdf:li>müde</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def encoded(format: str = "JPEG", **options: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, format, **options)
    return file.getvalue()


class TestNames:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("golden_gate-bridge", "golden gate bridge"),
            ("goldenGateBridge2", "golden Gate Bridge 2"),
            ("DSC00123", ""),
            ("IMG_2024", ""),
            ("2024-01-31", ""),
            ("Grüße.aus_Köln", "Grüße aus Köln"),
            ("青蛙_frog", "青蛙 frog"),
            ("dog's house", "dog's house"),
            ("party 20240131", "party"),
            ("a", ""),
            ("", ""),
        ],
    )
    def test_words(self, name: str, words: str) -> None:
        assert words_of_name(name) == words

    def test_folders_up_to_the_root(self, tmp_path: Path) -> None:
        path = tmp_path / "summer_2020" / "atTheSea" / "blueBoat.jpg"
        found = [(text.text, text.source) for text in texts_of(path, root=tmp_path)]
        name = ["blue Boat", "blueBoat"]
        folders = ["summer 2020", "at The Sea", "atTheSea"]
        assert found == [*((text, "name") for text in name), *((text, "folder") for text in folders)]
        assert [text.text for text in texts_of(path)] == [*name, *folders[1:]]
        assert [text.text for text in texts_of(path, root=tmp_path / "elsewhere")] == [*name, *folders[1:]]

    @pytest.mark.parametrize("folder", ["iPhone", "WhatsApp Images", "100APPLE", "photos", "2019", "a"])
    def test_a_folder_is_found_by_its_name_as_typed(self, folder: str, tmp_path: Path) -> None:
        texts = {text.text for text in texts_of(tmp_path / folder / "x.jpg", root=tmp_path)}
        assert (folder in texts) == (folder not in ("photos", "2019", "a"))

    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("IMG_4026", ["IMG_4026"]),
            ("2120411340_104eb610b1", ["104 eb 610 b 1", "2120411340_104eb610b1"]),
            ("Golden_Gate-bridge", ["Golden Gate bridge"]),
            ("Beach (2)", ["Beach 2"]),
            ("2024-01-31", ["2024-01-31"]),
            ("7", []),
            ("", []),
        ],
    )
    def test_names_as_typed(self, name: str, texts: list[str]) -> None:
        assert texts_of_name(name) == texts


class TestSidecars:
    def sidecars(self, path: Path) -> list[str]:
        return [text.text for text in texts_of(path) if text.source == "sidecar"]

    def test_text(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes("Ein schöner\r\n  Hund\x00".encode("latin-1"))
        (tmp_path / "a.jpg.txt").write_bytes(b"\xef\xbb\xbfA dog")
        assert self.sidecars(tmp_path / "a.jpg") == ["Ein schöner Hund", "A dog"]

    def test_json(self, tmp_path: Path) -> None:
        content = {
            "title": "A boat",
            "url": "https://example.org/x",
            "meta": {"description": "on the lake", "width": 3, "Keywords": ["water", "summer", 7, None]},
            "people": [{"name": "Ada"}, {"name": "A boat"}],
        }
        (tmp_path / "a.jpg.json").write_text(json.dumps(content))
        assert self.sidecars(tmp_path / "a.jpg") == ["A boat", "on the lake", "water", "summer", "Ada"]

    @pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe\x00", b"null", b'"just text"', b"1e999"])
    def test_broken_json_is_left_out(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.json").write_bytes(content)
        assert self.sidecars(tmp_path / "a.jpg") == []

    def test_long_texts_are_cut_and_huge_files_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("word " * 100_000)
        (text,) = self.sidecars(tmp_path / "a.jpg")
        assert len(text) <= 10_000
        (tmp_path / "b.txt").write_bytes(b"x" * 5_000_000)
        assert self.sidecars(tmp_path / "b.jpg") == []

    def test_folder_named_like_a_sidecar(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").mkdir()
        assert self.sidecars(tmp_path / "a.jpg") == []


class TestEmbedded:
    def test_exif(self) -> None:
        exif = Image.Exif()
        exif[0x010E] = "A dog runs"
        exif[0x9C9E] = "dog;beach\0".encode("utf-16-le")
        exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0at noon"
        assert embedded_texts(encoded(exif=exif)) == ["A dog runs", "dog;beach", "at noon"]
        assert embedded_texts(encoded("PNG", exif=exif)) == ["A dog runs", "dog;beach", "at noon"]

    def test_exif_in_utf8(self) -> None:
        exif = Image.Exif()
        exif[0x010E] = "Schöne Grüße".encode()
        assert embedded_texts(encoded(exif=exif)) == ["Schöne Grüße"]

    def test_iptc(self) -> None:
        def record(number: int, text: bytes) -> bytes:
            return b"\x1c\x02" + bytes([number]) + len(text).to_bytes(2, "big") + text

        records = (
            record(120, "Am Fluß".encode()) + record(25, b"river") + record(25, b"evening") + record(80, b"Author")
        )
        block = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + len(records).to_bytes(4, "big") + records
        block += b"\0" * (len(records) % 2)
        app13 = b"\xff\xed" + (len(block) + 2).to_bytes(2, "big") + block
        data = encoded()
        assert embedded_texts(data[:2] + app13 + data[2:]) == ["river", "evening", "Am Fluß"]

    def test_xmp(self) -> None:
        expected = ["A headline", "Red b&w boat", "lake", "müde"]
        assert xmp_texts(XMP.encode()) == expected
        assert xmp_texts(XMP.encode("utf-16")) == expected
        assert embedded_texts(encoded(xmp=XMP.encode())) == expected
        assert embedded_texts(encoded("WEBP", xmp=XMP.encode())) == expected

    def test_png_chunks(self) -> None:
        info = PngImagePlugin.PngInfo()
        info.add_text("Title", "A boat")
        info.add_itxt("Description", "auf dem Fluß")
        info.add_text("Software", "painter")
        assert embedded_texts(encoded("PNG", pnginfo=info)) == ["A boat", "auf dem Fluß"]

    def test_jpeg_comment_and_video_title(self, tmp_path: Path) -> None:
        assert embedded_texts(encoded(comment=b"at night")) == ["at night"]
        path = write(tmp_path / "a.mkv", frames([2]))
        import av

        with av.open(str(path)) as source, av.open(str(tmp_path / "b.mkv"), "w") as target:
            target.metadata["title"] = "Our holiday"
            stream = target.add_stream_from_template(source.streams.video[0])
            for packet in source.demux(video=0):
                if packet.dts is not None:
                    packet.stream = stream
                    target.mux(packet)
        assert embedded_texts(tmp_path / "b.mkv") == ["Our holiday"]

    def test_none_in_broken_files(self, tmp_path: Path) -> None:
        (tmp_path / "a.mp4").write_bytes(b"no video")
        assert embedded_texts(tmp_path / "a.mp4") == []
        assert embedded_texts(tmp_path / "none.jpg") == []
        assert embedded_texts(b"no picture") == []
        assert embedded_texts(encoded()[:20]) == []

    def test_broken_metadata_hides_nothing_else(self) -> None:
        data = encoded(exif=b"Exif\0\0II*\0\xff\xff\xff\xff", xmp=XMP.encode())
        assert "lake" in embedded_texts(data)


class TestHostileXmp:
    def test_entities_are_refused(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret.txt"
        secret.write_text("secret")
        bombs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
        for doctype in (
            f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]>',
            f'<!DOCTYPE x [<!ENTITY l0 "ha">{bombs}]>',
            '<!DOCTYPE x SYSTEM "http://localhost:1/x.dtd">',
        ):
            for entity in ("&e;", "&l11;", ""):
                packet = f"{doctype}<x {DC}><dc:subject>a {entity}</dc:subject></x>"
                assert xmp_texts(packet.encode()) == []
                assert xmp_texts(packet.encode("utf-16")) == []

    def test_size_and_depth_are_bounded(self) -> None:
        assert xmp_texts(f"<x {DC}><dc:subject>{'a' * 2_000_000}</dc:subject></x>".encode()) == []
        assert xmp_texts(b"<a>" * 300_000) == []

    @pytest.mark.parametrize("data", [b"", b"<", b"\xff\xfe", b"<x></y>", b"\0" * 100, XMP.encode()[:300]])
    def test_broken_packets(self, data: bytes) -> None:
        assert xmp_texts(data) == []


class TestCaptions:
    def table(self, folder: Path, content: str, name: str = "c.csv", encoding: str = "utf-8") -> Path:
        path = folder / name
        path.write_bytes(content.encode(encoding))
        return path

    @pytest.mark.parametrize("delimiter", [",", "\t", ";"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
    def test_delimiters_and_encodings(self, tmp_path: Path, delimiter: str, encoding: str) -> None:
        rows = [
            ["path", "n", "caption"],
            ["a.jpg", "0", "Ein schöner Hund"],
            ["a.jpg", "1", 'says "so"'],
            ["b.jpg", "0", ""],
        ]
        file = io.StringIO()
        csv.writer(file, delimiter=delimiter).writerows(rows)
        found = list(read_captions(self.table(tmp_path, file.getvalue(), encoding=encoding)))
        assert found == [("a.jpg", "Ein schöner Hund"), ("a.jpg", 'says "so"')]

    def test_lines_within_a_field(self, tmp_path: Path) -> None:
        table = self.table(tmp_path, 'path,caption\r\na.jpg,"two\r\nlines"\r\n')
        assert list(read_captions(table)) == [("a.jpg", "two lines")]

    def test_missing_columns_are_named(self, tmp_path: Path) -> None:
        table = self.table(tmp_path, "image,text\na,b\n")
        with pytest.raises(MediaError, match=r"c\.csv has no column 'path'; its columns are image, text"):
            list(read_captions(table))
        with pytest.raises(MediaError, match="no column 'path'; its columns are none"):
            list(read_captions(self.table(tmp_path, "")))
        with pytest.raises(MediaError, match=r"^.* its columns are ath, a\.jpg, A boat,\\nb\.jpg"):
            list(read_captions(self.table(tmp_path, 'ath,a.jpg,"A boat,\nb.jpg,Two dogs\n')))
        with pytest.raises(MediaError, match=r"^the captions .*none\.csv cannot be read: no such file or directory$"):
            list(read_captions(tmp_path / "none.csv"))

    def test_short_rows_nulls_and_huge_fields(self, tmp_path: Path) -> None:
        table = self.table(tmp_path, "path,caption\nonly\n\nb.jpg,a\0b\n")
        assert list(read_captions(table)) == [("b.jpg", "ab")]
        with pytest.raises(MediaError, match="field larger"):
            list(read_captions(self.table(tmp_path, "path,caption\na.jpg," + "x" * 200_000 + "\n")))

    @needs_shared
    @pytest.mark.shared
    def test_the_packs(self) -> None:
        flickr = list(read_captions(SHARED / "imagetext-flickr8k" / "captions.tsv", "image", "caption"))
        assert len(flickr) == 10_000
        chinese = dict(read_captions(SHARED / "imagetext-tuxpaint" / "items.csv", "path", "text_zh_cn"))
        assert chinese["images/animals/amphibians/frog.jpg"] == "青蛙。"


class TestBounds:
    """One file cannot give a picture more than a bounded amount of text, and what is cut is told."""

    def told(self, path: Path) -> tuple[list[str], list[str]]:
        lines: list[str] = []
        return [text.text for text in texts_of(path, root=path.parent, warn=lines.append)], lines

    def test_json_sidecar(self, tmp_path: Path) -> None:
        words = [chr(0x4E00 + n // 1000) + chr(0x4E00 + n % 1000) for n in range(300_000)]
        (tmp_path / "a.json").write_text(json.dumps({"tags": words}, ensure_ascii=False), encoding="utf-8")
        texts, lines = self.told(tmp_path / "a.jpg")
        assert texts == words[:200]
        assert lines == ["a.json: 299,800 more texts left out, the limit is 200 of 50,000 characters"]

    def test_long_text_sidecar(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("long " * 100_000)
        texts, lines = self.told(tmp_path / "a.jpg")
        assert [len(text) for text in texts] == [10_000]
        assert lines == ["a.txt: a text of 500,000 characters was cut to 10,000"]

    def test_metadata(self, tmp_path: Path) -> None:
        items = "".join(f"<rdf:li>word{n}</rdf:li>" for n in range(9000))
        packet = f"<x {DC}><dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject></x>"
        (tmp_path / "a.webp").write_bytes(encoded("WEBP", xmp=packet.encode()))
        texts, lines = self.told(tmp_path / "a.webp")
        assert texts == [f"word{n}" for n in range(200)]
        assert lines == ["its metadata: 8,800 more texts left out, the limit is 200 of 50,000 characters"]

    def test_characters(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(json.dumps({"captions": [f"{n} " + "word " * 1000 for n in range(100)]}))
        texts, lines = self.told(tmp_path / "a.jpg")
        assert sum(map(len, texts)) == 50_000
        assert lines == ["a.json: 90 more texts left out, the limit is 200 of 50,000 characters"]

    def test_broken_sidecars_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text("{broken")
        (tmp_path / "a.txt").write_bytes(b"x" * 5_000_000)
        texts, lines = self.told(tmp_path / "a.jpg")
        assert texts == []
        assert lines[0].startswith("a.txt beside it was not read: a text file of 5,000,000 bytes is longer than")
        assert lines[1].startswith("a.json beside it was not read: Expecting")
        assert len(lines) == 2

    def test_names_as_long_as_they_can_be(self, tmp_path: Path) -> None:
        path = tmp_path / ("n" * 251 + ".jpg")  # the names of its sidecars would be too long
        path.write_bytes(encoded())
        assert self.told(path) == (["n" * 251], [])


class TestSubtitles:
    def read(self, folder: Path, content: bytes, name: str = "a.srt") -> list[Cue]:
        (folder / name).write_bytes(content)
        return read_subtitles(folder / name)

    def test_srt(self, tmp_path: Path) -> None:
        content = "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Über</i> {\\an8}den\r\nFluß\r\n\r\n"
        content += "2\r\n01:00:00,5 --> 01:00:01,0\r\nEnd\r\n"
        expected = [Cue(1.0, 2.5, "Über den Fluß"), Cue(3600.5, 3601.0, "End")]
        assert self.read(tmp_path, content.encode("utf-8-sig")) == expected
        assert self.read(tmp_path, content.encode("latin-1")) == expected

    def test_vtt(self, tmp_path: Path) -> None:
        content = (
            "WEBVTT\nKind: captions\n\nNOTE a comment\n\nSTYLE\n::cue {color: red}\n\n"
            "intro\n00:01.000 --> 00:02.000 align:start position:0%\n<v Ann>Tom &amp; <c.red>Ann</c>\n\n"
            "00:00:03.250 --> 00:00:04.000\n- Hello\n"
        )
        assert self.read(tmp_path, content.encode(), "a.vtt") == [Cue(1.0, 2.0, "Tom & Ann"), Cue(3.25, 4.0, "- Hello")]

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"no times here",
            b"1\n00:00:05,000 --> 00:00:01,000\nbackwards\n",
            b"-->",
            b"00:00:01,000 -->\nx",
            bytes(500),
        ],
    )
    def test_broken_files_have_no_cues(self, tmp_path: Path, content: bytes) -> None:
        assert self.read(tmp_path, content) == []

    def test_hostile_markup_ends(self, tmp_path: Path) -> None:
        """A quadratic step would take hours, and run into the time limit of all tests."""
        assert len(self.read(tmp_path, b"00:00:01,000 --> 00:00:02,000\n" + b"<{" * 500_000)) <= 1
        assert self.read(tmp_path, b"\n \n" * 500_000) == []
        assert self.read(tmp_path, b"00:" * 500_000) == []

    def test_spread(self) -> None:
        cues = [Cue(0, 2, "one"), Cue(1.9, 6.1, "two"), Cue(9.0, 9.1, "tick"), Cue(20, 30, "late")]
        assert spread_cues(cues, [(0, 2), (2, 4), (4, 6), (6, 9.08), (9.08, 12)]) == ["one", "two", "two", "tick", ""]
        assert spread_cues(cues, [(9.0, 9.2), (25, 26)]) == ["tick", "late"]
        assert spread_cues([], [(0, 1)]) == [""]

    @pytest.mark.parametrize("seed", range(20))
    def test_spread_is_as_each_cue_against_each_shot(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        bounds = np.cumsum(rng.choice([0.1, 0.25, 1.0, 7.0], 60))
        shots = [(float(start), float(end) - 0.02) for start, end in itertools.pairwise(bounds)]
        starts = rng.uniform(-1, bounds[-1] + 1, 200)
        lengths = rng.choice([0.0, 0.2, 1.0, 5.0, 60.0], 200)
        cues = [Cue(float(s), float(s + n), f"w{k % 90}") for k, (s, n) in enumerate(zip(starts, lengths, strict=True))]

        def covers(cue: Cue, start: float, end: float) -> bool:
            shared = min(cue.end, end) - max(cue.start, start)
            return shared > 0.3 or shared >= 0.5 * (cue.end - cue.start) > 0

        expected = [" ".join(dict.fromkeys(cue.text for cue in cues if covers(cue, *shot))) for shot in shots]
        assert spread_cues(cues, shots) == expected
        shuffled = rng.permutation(len(shots)).tolist()
        assert spread_cues(cues, [shots[k] for k in shuffled]) == [expected[k] for k in shuffled]

    @pytest.mark.slow
    def test_spread_looks_at_neighbours_only(self) -> None:
        """Ten thousand shots and a hundred thousand cues: each against each would take an hour."""
        shots = [(float(n), n + 0.98) for n in range(10_000)]
        cues = [Cue(n / 10, n / 10 + 0.05, str(n)) for n in range(100_000)]
        assert [text.split()[-1] for text in spread_cues(cues, shots)] == [str(10 * n + 9) for n in range(10_000)]

    def test_too_much_text_is_cut_and_told(self) -> None:
        lines: list[str] = []
        shots = [(float(n), n + 0.98) for n in range(2000)]
        texts = spread_cues([Cue(0, 2000, f"{n:05}") for n in range(20_000)], shots, lines.append)
        assert sum(map(len, texts)) <= 2 * MAX_PLACES * 6
        assert texts[0].startswith("00000 00001")
        assert len(lines) == 1
        assert re.fullmatch(r"19,\d+ of 20,000 lines of its subtitles were left out: too much text", lines[0])
        spread_cues([Cue(0, 2000, f"{n:05}" * 1000) for n in range(200)], shots[:100], lines.append)
        assert len(lines) == 2

    def test_long_lines_are_cut(self, tmp_path: Path) -> None:
        (cue,) = self.read(tmp_path, b"00:00:01,000 --> 00:00:02,000\n" + b"word " * 100_000)
        assert len(cue.text) <= 10_000

    def test_files_beside_a_video(self, tmp_path: Path) -> None:
        for name in ("film.mp4", "film.srt", "film.de.VTT", "film2.srt", "film.txt", "other.srt", "film.a.b.srt"):
            (tmp_path / name).touch()
        assert [path.name for path in subtitles_of(tmp_path / "film.mp4")] == ["film.de.VTT", "film.srt"]
        assert subtitles_of(tmp_path / "none" / "film.mp4") == []


def test_random_bytes_never_raise_anything_else(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for n in range(60):
        data = rng.integers(0, 256, int(rng.integers(0, 400)), np.uint8).tobytes()
        for name in ("a.txt", "a.json", "a.srt", "a.csv", "a.jpg"):
            (tmp_path / name).write_bytes(data)
        texts_of(tmp_path / "a.jpg")
        read_subtitles(tmp_path / "a.srt")
        assert xmp_texts(data) == []
        with pytest.raises(MediaError):
            list(read_captions(tmp_path / "a.csv", "no such column", f"{n}"))
