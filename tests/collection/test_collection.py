"""A folder of pictures becomes a collection, and stays one whatever happens to the files."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import av
import cv2
import numpy as np
import pytest
from PIL import Image

from rankloom.collection import (
    Captions,
    Collection,
    _backfill,
    add_encoder,
    describing,
    duplicate_groups,
    export_items,
    export_marks,
    index,
    repair,
    verify,
)
from rankloom.collection._writer import Writer
from rankloom.collection.describing import DescribedFile
from rankloom.collection.duplicates import near_pairs
from rankloom.collection.verify import unsound_vectors
from rankloom.datasets import read_qrels
from rankloom.descriptors import DESCRIPTORS, describe
from rankloom.experts.compact import CompactVectors, row_bytes
from rankloom.media import read_image
from tests.archives import write_encoder
from tests.shell import invoke

FEW = ["color_layout", "edge_histogram"]


def picture(seed, side=96):
    rng = np.random.default_rng(seed)
    image = np.full((side, side + 20, 3), rng.integers(0, 255, 3), np.uint8)
    for _ in range(6):
        centre = tuple(int(x) for x in rng.integers(0, side, 2))
        cv2.circle(image, centre, int(rng.integers(5, 40)), rng.integers(0, 255, 3).tolist(), -1)
    return image


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "pictures" / "summer_trip"
    place.mkdir(parents=True)
    for number in range(8):
        cv2.imwrite(str(place / f"redBoat{number}.png"), picture(number))
    return tmp_path / "pictures"


@pytest.fixture
def few(monkeypatch):
    """Two cheap descriptors as the default preset: these tests are about storage."""
    from rankloom.descriptors import PRESETS

    monkeypatch.setitem(PRESETS, "fast", FEW)


@pytest.fixture
def collection(tmp_path, folder, few):
    with Collection(tmp_path / "collection", create=True) as opened:
        index(opened, [folder], workers=0, ocr=False)
        yield opened


def paths(folder):
    return sorted(str(path) for path in folder.rglob("*.png"))


def test_items_vectors_thumbnails_texts(collection, folder):
    items = collection.items()
    assert [item.path for item in items] == paths(folder)
    assert [item.id for item in items] == list(range(1, 9))
    assert {(item.kind, item.width, item.height) for item in items} == {("picture", 116, 96)}
    for name in FEW:
        stored = collection.vectors(name)
        assert stored.shape == (8, DESCRIPTORS[name].dimension)
        assert stored.rows.shape == (8, DESCRIPTORS[name].dimension + 10)
        for item in items:
            expected = describe(read_image(item.path), [name])[name]
            np.testing.assert_array_equal(stored[item.id - 1], CompactVectors.of(expected[None])[0])
    thumbnail = cv2.imdecode(np.frombuffer(collection.thumbnail(3), np.uint8), cv2.IMREAD_COLOR)
    assert thumbnail.shape == (96, 116, 3)
    assert np.abs(thumbnail.astype(int) - cv2.imread(items[2].path).astype(int)).mean() < 12
    assert ("red Boat 2", "name") in collection.texts(3)
    assert ("summer trip", "folder") in collection.texts(3)


def test_indexing_in_this_process_leaves_its_threads_alone(collection, folder):
    before = dict(os.environ), cv2.getNumThreads()
    cv2.imwrite(str(folder / "new.png"), picture(99))
    assert index(collection, workers=0).stored == 1
    assert (dict(os.environ), cv2.getNumThreads()) == before


def test_turned_pictures_have_the_size_that_is_seen(tmp_path, few):
    folder = tmp_path / "turned"
    folder.mkdir()
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        size = (60, 90) if orientation >= 5 else (90, 60)
        Image.new("RGB", size, (20 * orientation, 90, 30)).save(folder / f"{orientation}.jpg", exif=exif)
    with Collection(tmp_path / "c", create=True) as opened:
        index(opened, [folder], workers=0, ocr=False)
        assert [(item.width, item.height) for item in opened.items()] == [(90, 60)] * 8
        for number in range(1, 9):
            thumbnail = cv2.imdecode(np.frombuffer(opened.thumbnail(number), np.uint8), cv2.IMREAD_COLOR)
            assert thumbnail.shape == (60, 90, 3)


@pytest.mark.slow
def test_heic_and_avif(tmp_path, few):
    from pillow_heif import register_heif_opener

    register_heif_opener()
    folder = tmp_path / "phone"
    folder.mkdir()
    exif = Image.Exif()
    exif[0x0112], exif[0x0132] = 6, "2024:05:01 12:30:00"
    for name, format in (("a.heic", "HEIF"), ("b.avif", "AVIF")):
        Image.fromarray(picture(3)).save(folder / name, format, exif=exif.tobytes())
        data = (folder / name).read_bytes()
        (folder / f"cut_{name}").write_bytes(data[: len(data) // 2])
        (folder / f"damaged_{name}").write_bytes(data[:16] + bytes(len(data) - 16))
    with Collection(tmp_path / "c", create=True) as opened:
        report = index(opened, [folder], workers=0)
        assert (report.stored, report.failed) == (2, 4)
        assert [(item.width, item.height, item.taken) for item in opened.items()] == [
            (96, 116, "2024-05-01T12:30:00")
        ] * 2
        reasons = dict(opened.errors())
        assert {os.path.basename(path) for path in reasons} == {
            "cut_a.heic", "damaged_a.heic", "cut_b.avif", "damaged_b.avif",
        }  # fmt: skip
        assert all(why and "\n" not in why for why in reasons.values())


def test_unchanged_files_cost_a_stat(collection, folder):
    """Other bytes of the same length and time are not noticed: nothing but the stat is looked at."""
    for path in paths(folder):
        status = os.stat(path)
        with open(path, "r+b") as file:
            file.write(b"garbage")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    report = index(collection, workers=0)
    assert (report.unchanged, report.stored, report.followed, report.failed) == (8, 0, 0, 0)


def test_renamed_copied_changed_deleted(collection, folder):
    old, new = paths(folder)[0], folder / "moved" / "blueFish.png"
    item = collection.find(old)[0].id
    collection.mark("q1", item, 1.0)
    new.parent.mkdir()
    os.rename(old, new)
    shutil.copy(paths(folder)[1], folder / "copy.png")
    changed = paths(folder)[4]
    cv2.imwrite(changed, picture(100))
    deleted = paths(folder)[6]
    os.unlink(deleted)
    report = index(collection, workers=0)
    assert (report.stored, report.followed, report.removed) == (1, 2, 2)
    moved = collection.find(new)[0]
    assert moved.id == item  # the mark goes with it
    assert collection.marks()[0].id == str(item)
    assert ("blue Fish", "name") in collection.texts(item)
    assert all("Boat" not in text for text, _ in collection.texts(item))
    assert sum(len(one.paths) == 2 for one in collection.items()) == 1
    assert collection.find(changed)[0].id == 9
    assert len(collection.items()) == 7  # 8 - 1 deleted; the old content of the changed file is hidden too
    assert collection.info().hidden == 2
    assert collection.present().sum() == 7
    cv2.imwrite(deleted, picture(int(deleted[-5])))  # it comes back: nothing is computed again
    report = index(collection, workers=0)
    assert (report.stored, report.followed) == (0, 1)
    assert collection.info().hidden == 1


@pytest.mark.slow
def test_shots_of_a_video_with_subtitles(collection, folder):
    with av.open(str(folder / "film.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        for number in range(60):
            image = np.full((480, 640, 3), (200, 30, 30) if number < 30 else (20, 60, 220), np.uint8)
            image[20:60, (2 * number) % 120 : (2 * number) % 120 + 30] = 255 if number < 30 else 0
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    times = ["00:00:00,500 --> 00:00:02,500", "00:00:03,500 --> 00:00:05,500"]
    (folder / "film.srt").write_text(f"1\n{times[0]}\nA red wall\n\n2\n{times[1]}\nThe blue sea\n")
    report = index(collection, workers=0)
    assert (report.stored, report.items) == (1, 2)
    assert report.video_seconds == pytest.approx(6.0, abs=0.2)
    assert 0 < report.video_work <= report.seconds
    first, second = collection.find(folder / "film.mp4")
    assert [first.kind, first.shot, second.shot] == ["shot", 0, 1]
    assert (first.width, first.height) == (640, 480)  # of the video, not of the frame that was described
    assert first.end == pytest.approx(3.0, abs=0.2)
    assert 2.9 < first.end < second.start
    assert ("A red wall", "subtitle") in collection.texts(first.id)
    assert ("The blue sea", "subtitle") in collection.texts(second.id)
    index(collection, workers=0, descriptors=["hog"])  # shots are cut again, and find their items
    assert collection.vectors("hog")[[first.id - 1, second.id - 1]].any(axis=1).all()
    info = collection.info()
    assert (info.videos, info.shots, info.items) == (1, 2, 10)
    os.rename(folder / "film.mp4", folder / "sea.mp4")
    os.rename(folder / "film.srt", folder / "sea.srt")
    assert index(collection, workers=0).followed == 1
    assert ("The blue sea", "subtitle") in collection.texts(second.id)


def test_bad_files_are_kept_with_their_reason(collection, folder):
    (folder / "broken.jpg").write_bytes(b"\xff\xd8 this is not a picture")
    (folder / "empty.png").write_bytes(b"")
    (folder / "odd.mp4").write_bytes(b"no video")
    report = index(collection, workers=0)
    assert (report.failed, report.stored) == (3, 0)
    errors = dict(collection.errors())
    assert set(errors) == {str(folder / name) for name in ("broken.jpg", "empty.png", "odd.mp4")}
    assert all(reason and "\n" not in reason for reason in errors.values())
    assert index(collection, workers=0).failed == 0  # not read again
    assert index(collection, workers=0, retry=True).failed == 3
    cv2.imwrite(str(folder / "empty.png"), picture(50))
    os.unlink(folder / "broken.jpg")
    report = index(collection, workers=0)
    assert (report.stored, report.removed) == (1, 1)
    assert len(collection.errors()) == 1


def test_a_name_that_is_no_text_is_told_and_skipped(collection, folder):
    name = os.path.join(os.fsencode(folder), b"bad\xff\xfe.png")
    try:
        shutil.copy(os.fsencode(paths(folder)[0]), name)
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    cv2.imwrite(str(folder / "good.png"), picture(90))
    report = index(collection, workers=0)
    assert report.stored == 1
    assert len(report.unreadable) == 1
    assert "not Unicode" in report.unreadable[0][1]
    report.unreadable[0][0].encode()  # it can be printed


def test_interrupted_by_the_keyboard_keeps_what_is_described(tmp_path, folder, few):
    def press(done, total, text):
        if done == 5:
            raise KeyboardInterrupt

    with Collection(tmp_path / "c", create=True) as opened:
        with pytest.raises(KeyboardInterrupt):
            index(opened, [folder], workers=0, progress=press)
        assert len(opened.items()) == 5
        assert verify(opened).problems == []
        assert index(opened, workers=0).stored == 3


def test_what_killed_runs_left_is_cleaned(collection, folder):
    (collection.folder / ".repair-x").mkdir()
    killed = "import os; from rankloom._io import replaced\nwith replaced('a') as place: place.touch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", killed], cwd=collection.folder, check=False)
    assert list(collection.folder.glob(".*"))
    index(collection, workers=0)
    assert not list(collection.folder.glob(".*"))


def test_a_missing_folder_that_is_named_is_an_error(collection, folder):
    os.rename(folder, f"{folder}.away")
    with pytest.raises(FileNotFoundError, match="no such file"):
        index(collection, [folder], workers=0)
    assert len(collection.items()) == 8


def test_captions(collection, folder, tmp_path):
    table = tmp_path / "captions.tsv"
    relative = os.path.relpath(paths(folder)[0], folder)
    table.write_text(f"image\ttext\n{relative}\tA boat at sea\nredBoat3.png\tSunset\nnone.png\tNothing\n")
    report = index(collection, workers=0, captions=Captions(str(table), "image", "text"))
    assert report.captions == 2
    assert ("A boat at sea", "caption") in collection.texts(1)
    assert ("Sunset", "caption") in collection.texts(4)
    table.write_text(f"image\ttext\n{relative}\tA ship\n")
    index(collection, workers=0, captions=Captions(str(table), "image", "text"))
    captions = [text for text, source in collection.texts(1) if source == "caption"]
    assert captions == ["A ship"]
    with pytest.raises(ValueError, match="no column 'caption'"):
        index(collection, workers=0, captions=Captions(str(table), "image"))


def test_missing_captions_are_an_error_at_once(tmp_path, folder, few):
    with Collection(tmp_path / "c", create=True) as opened:
        with pytest.raises(ValueError, match=r"^the captions .*none\.csv cannot be read: no such file or directory$"):
            index(opened, [folder], workers=0, captions=Captions(str(tmp_path / "none.csv")))
        assert len(opened) == 0


def test_texts_that_are_left_out_are_told(collection, folder, tmp_path):
    cv2.imwrite(str(folder / "new.png"), picture(60))
    (folder / "new.json").write_text(json.dumps({"tags": [f"word{number}" for number in range(250)]}))
    (folder / "new.txt").write_text("word " * 9000)
    table = tmp_path / "captions.csv"
    table.write_text("path,caption\n" + "".join(f"redBoat0.png,caption {number}\n" for number in range(400)))
    report = index(collection, workers=0, captions=Captions(str(table)))
    names = [(os.path.basename(path), line) for path, line in report.warnings]
    assert names == [
        ("new.png", "new.txt: a text of 45,000 characters was cut to 10,000"),
        ("new.png", "new.json: 50 more texts left out, the limit is 200 of 50,000 characters"),
        ("redBoat0.png", "100 of its 400 texts were left out: an item may have 300, of 60,000 characters"),
    ]
    (item,) = collection.find(folder / "new.png")
    assert len(collection.texts(item.id)) == 1 + 1 + 200  # its name, new.txt and new.json
    assert sum(source == "caption" for _, source in collection.texts(1)) == 300


def write_video(path, drawn=0):
    """Two seconds in one shot, that get brighter; `drawn` is something to see."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(20):
            image = np.full((48, 64, 3), 5 * number, np.uint8) + np.uint8(drawn)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_files_of_subtitles_are_bounded(collection, folder):
    write_video(folder / "film.mp4")
    for number in range(25):
        (folder / f"film.{number:02}.srt").write_text(f"1\n00:00:00,0 --> 00:00:01,5\nline {number}\n")
    (folder / "film.00.srt").write_bytes(b" " * 5_000_000)
    report = index(collection, workers=0)
    lines = [line for _, line in report.warnings]
    assert len(lines) == 2
    assert lines[0].startswith("film.00.srt beside it was not read: a text file of 5,000,000 bytes")
    assert lines[1] == "5 of its 25 files of subtitles were left out"
    (item,) = collection.find(folder / "film.mp4")
    subtitles = [text for text, source in collection.texts(item.id) if source == "subtitle"]
    assert subtitles == [" ".join(f"line {number}" for number in range(1, 20))]


def test_lines_of_subtitles_are_bounded_over_all_files(collection, folder, monkeypatch):
    monkeypatch.setattr(describing, "MAX_CUES", 10)
    shutil.copy(write_video(folder / "film.mp4"), folder / "other.mp4")
    for name, count in (("film.de", 7), ("film.en", 8), ("other", 3)):
        times = "00:00:00,0 --> 00:00:01,5"
        (folder / f"{name}.srt").write_text("".join(f"{times}\n{name} {n}\n\n" for n in range(count)))
    report = index(collection, workers=0)
    assert [line for _, line in report.warnings] == ["5 lines of its subtitles were left out: the limit is 10"]


def test_a_descriptor_added_later_is_the_same_as_at_once(collection, folder, tmp_path):
    before = {name: np.array(collection.vectors(name)) for name in FEW}
    cv2.imwrite(str(folder / "new.png"), picture(60))
    os.unlink(paths(folder)[-1])
    index(collection, workers=0, descriptors=["hog"])
    assert {one.name: one.rows for one in collection.descriptors()} == {**dict.fromkeys(FEW, 9), "hog": 9}
    for name, vectors in before.items():
        np.testing.assert_array_equal(collection.vectors(name)[:8], vectors)
    hog = collection.vectors("hog")
    for item in collection.items():
        expected = describe(read_image(item.path), ["hog"])["hog"]
        np.testing.assert_array_equal(hog[item.id - 1], CompactVectors.of(expected[None])[0])
    gone = [one for one in range(1, 10) if not collection.present()[one - 1]]
    missing = collection.db.execute("SELECT item FROM missing WHERE descriptor = 'hog'").fetchall()
    assert [one for (one,) in missing] == gone
    assert not hog[np.array(gone) - 1].any()


def test_visual_words_are_trained_once(collection, folder):
    index(collection, workers=0, descriptors=["sift_words"])
    version = next(one.version for one in collection.descriptors() if one.name == "sift_words")
    cv2.imwrite(str(folder / "new.png"), picture(60))
    index(collection, workers=0)
    again = next(one for one in collection.descriptors() if one.name == "sift_words")
    assert (again.version, again.rows) == (version, 9)


def test_visual_words_of_videos_alone(tmp_path):
    (tmp_path / "films").mkdir()
    squares = np.kron(np.random.default_rng(0).integers(0, 2, (6, 8)), np.full((8, 8), 100))[:, :, None]
    write_video(tmp_path / "films" / "film.mp4", squares)
    (tmp_path / "films" / "broken.mp4").write_bytes(b"no video")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [tmp_path / "films"], workers=0, descriptors=["sift_words"])
        assert next(one.rows for one in collection.descriptors() if one.name == "sift_words") == 1
        assert [path for path, _ in collection.errors()] == [str(tmp_path / "films" / "broken.mp4")]


@pytest.mark.slow
def test_workers_give_the_same_collection(folder, tmp_path, collection):
    with Collection(tmp_path / "other", create=True) as other:
        index(other, [folder], workers=2)
        assert [item.path for item in other.items()] == [item.path for item in collection.items()]
        for name in FEW:
            np.testing.assert_array_equal(other.vectors(name), collection.vectors(name))


def test_second_indexer_is_told(collection):
    with collection.indexing(), Collection(collection.folder) as other:
        with pytest.raises(ValueError, match=f"being indexed by process {os.getpid()}"):
            index(other, workers=0)
        assert other.mark("q", 1, 1.0) == 1  # marks need not wait for the indexer


def test_verify_finds_and_repairs(collection):
    assert verify(collection).problems == []
    expected = {name: np.array(collection.vectors(name)) for name in FEW}
    stored = next(one for one in collection.descriptors() if one.name == "color_layout")
    file = collection.folder / f"vectors/{stored.name}-{stored.version}.codes"
    data = bytearray(file.read_bytes())
    data[37] ^= 0x40
    file.write_bytes(data)
    os.truncate(collection.folder / "vectors/edge_histogram-1.codes", 100)
    thumbnails = collection.folder / "thumbnails.bin"
    data = bytearray(thumbnails.read_bytes())
    data[10] ^= 0xFF
    thumbnails.write_bytes(data)
    found = verify(collection)
    assert len(found.problems) == 3
    assert not found.sound
    with pytest.raises(ValueError, match="rankloom repair"):
        collection.vectors("edge_histogram")
    repaired = verify(collection, repair=True, workers=0)
    assert (repaired.repaired, repaired.lost) == (3, 0)
    assert verify(collection).problems == []
    for name, vectors in expected.items():
        np.testing.assert_array_equal(collection.vectors(name), vectors)
    assert all(cv2.imdecode(np.frombuffer(collection.thumbnail(i), np.uint8), 1) is not None for i in range(1, 9))
    cv2.imwrite(str(collection.folder.parent / "pictures" / "later.png"), picture(70))
    index(collection, workers=0)  # appending goes on after a repair
    assert verify(collection).problems == []


def test_near_pairs_against_brute_force():
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2**63, 40, dtype=np.uint64)
    hashes = np.concatenate([base, base ^ np.uint64(0b101), base[:10] ^ np.uint64(1 << 63), base[:3]])
    for most in (0, 1, 3, 7):
        expected = [
            [i, j]
            for i in range(len(hashes))
            for j in range(i + 1, len(hashes))
            if bin(int(hashes[i]) ^ int(hashes[j])).count("1") <= most
        ]
        assert near_pairs(hashes, most).tolist() == expected


def test_duplicates_are_grouped(collection, folder):
    image = cv2.imread(paths(folder)[2])
    cv2.imwrite(str(folder / "smaller.jpg"), cv2.resize(image, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA))
    index(collection, workers=0)
    assert duplicate_groups(collection) == [[3, 9]]


def test_export(collection, tmp_path):
    collection.mark("boat", 2, 1.0)
    collection.mark("boat", 2, 0.0)
    collection.mark("boat", 5, 2.0)
    for name in ("items.csv", "items.parquet"):
        assert export_items(collection, tmp_path / name) == 8
    with open(tmp_path / "items.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[2]["path"] == collection.items([3])[0].path
    assert "summer trip" in rows[2]["text"]
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "items.parquet").num_rows == 8
    assert export_marks(collection, tmp_path / "qrels.txt") == (2, 0, 0, 0)
    assert [(one.qid, one.id, one.grade) for one in read_qrels(tmp_path / "qrels.txt")] == [
        ("boat", "2", 0.0), ("boat", "5", 2.0),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="ending"):
        export_items(collection, tmp_path / "items.doc")


@pytest.mark.slow
def test_many_threads_read_while_one_writes(collection, folder):
    stop, failures = threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                assert len(collection.items()) >= 8
                assert len(collection.vectors("color_layout")) >= 8
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(200, 206):
        cv2.imwrite(str(folder / f"n{number}.png"), picture(number))
        index(collection, workers=0)
        collection.mark("q", number - 199, 1.0)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(collection.items()) == 14


def test_an_encoder_of_ones_own(collection, tmp_path):
    write_encoder(tmp_path / "a.onnx")
    assert add_encoder(collection, "mean", tmp_path / "a.onnx") == 3
    os.unlink(tmp_path / "a.onnx")  # it was copied
    index(collection, workers=0)
    vectors = np.asarray(collection.vectors("mean"), dtype=float)
    assert vectors.shape == (8, 3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)
    with pytest.raises(ValueError, match="cannot be the name"):
        add_encoder(collection, "hog", tmp_path / "a.onnx")


def test_errors_of_the_arguments(tmp_path, folder, few):
    with pytest.raises(FileNotFoundError, match="is not a collection"):
        Collection(tmp_path / "none")
    with Collection(tmp_path / "new", create=True) as opened:
        with pytest.raises(ValueError, match="nothing to index"):
            index(opened)
        with pytest.raises(ValueError, match="unknown preset"):
            index(opened, [folder], preset="best")
        with pytest.raises(ValueError, match="unknown descriptor"):
            index(opened, [folder], descriptors=["smell"])
        with pytest.raises(ValueError, match="no vectors of 'hog'"):
            opened.vectors("hog")
        with pytest.raises(KeyError, match="no item 5"):
            opened.mark("q", 5, 1.0)


def test_index_says_how_fast_videos_are(tmp_path, few):
    film, place = write_video(tmp_path / "film.mp4"), tmp_path / "c"
    told = invoke("index", str(film), "-c", str(place), "--workers", "0", "--no-ocr", "--no-speech")
    assert re.search(r"0 min 2 s of video, at \d+\.\d times real time a worker", told.output)


def test_commands(folder, tmp_path, few):
    place = str(tmp_path / "c")

    def call(*arguments, code=0):
        found = invoke(*arguments, "-c", place)
        assert found.exit_code == code, found.output
        return found.output

    assert "8 files described (8 items)" in call("index", str(folder), "--workers", "0", "--no-ocr")
    assert json.loads(call("index", "--workers", "0", "--json"))["unchanged"] == 8
    assert "8 items of 8 files (8 pictures" in call("info")
    assert json.loads(call("info", "--json"))["items"] == 8
    (folder / "bad.png").write_bytes(b"x")
    assert "1 could not be read" in call("index", "--workers", "0")
    assert "bad.png: " in call("info", "--errors")
    assert "0 damaged" in call("verify")
    assert "0 groups" in call("duplicates")
    assert "8 items" in call("export", str(tmp_path / "o.csv"))
    os.truncate(tmp_path / "c" / "vectors" / "color_layout-2.codes", 10)
    assert "is too short" in call("verify", code=1)
    assert "1 damaged blocks repaired" in call("verify", "--repair", "--workers", "0")
    missing = invoke("info", "-c", str(tmp_path / "none"))
    assert missing.exit_code == 1
    assert len(missing.output.strip().splitlines()) == 1


@pytest.mark.sqlite
def test_default_folder_is_the_users(tmp_path, folder, few, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    found = invoke("index", str(folder), "--workers", "0")
    assert found.exit_code == 0, found.output
    assert (tmp_path / "data" / "rankloom" / "rankloom.db").is_file()


@pytest.mark.slow
def test_one_writer_by_the_command_too(collection, folder):
    with collection.indexing():
        command = [sys.executable, "-m", "rankloom", "index", str(folder), "-c", str(collection.folder)]
        found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert found.returncode == 1
    assert "is being indexed by process" in found.stderr


class TestDrives:
    """A drive that is not mounted looks like a folder that is empty or not there."""

    @pytest.fixture
    def two_roots(self, collection, folder, tmp_path):
        table = tmp_path / "captions.csv"
        table.write_text(f"path,caption\n{folder / 'summer_trip' / 'redBoat1.png'},An old boat\n")
        other = tmp_path / "other"
        other.mkdir()
        cv2.imwrite(str(other / "sea.png"), picture(77))
        index(collection, [folder, other], workers=0, captions=Captions(str(table)))
        return folder, other

    @pytest.mark.parametrize("how", ["empty", "not there"])
    def test_nothing_is_forgotten(self, collection, two_roots, how):
        folder, other = two_roots
        os.rename(folder, f"{folder}.away")
        if how == "empty":
            folder.mkdir()
        (other / "sea.png").rename(other / "ocean.png")  # the other folder is followed
        report = index(collection, workers=0)
        assert (report.away, report.removed, report.followed) == ([(str(folder), 8)], 1, 1)
        assert len(collection.items()) == 9
        assert ("An old boat", "caption") in collection.texts(2)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(f"{folder}.away", folder)
        assert (index(collection, workers=0).unchanged, len(collection.items())) == (9, 9)

    def test_they_are_forgotten_on_request(self, collection, two_roots):
        folder, _ = two_roots
        shutil.rmtree(folder)
        report = index(collection, workers=0, forget_missing=True)
        assert (report.away, report.removed, len(collection.items())) == ([], 8, 1)

    def test_the_command_says_it_in_one_line(self, collection, two_roots):
        folder, _ = two_roots
        shutil.rmtree(folder)
        done = invoke("index", "-c", str(collection.folder), "--workers", "0", "--no-neighbours")
        assert f"{folder} is empty or not there: its 8 files are kept" in done.stderr
        assert "rankloom index --forget-missing" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["short", "hole", "gone"])
def test_a_damaged_file_is_refused_before_it_grows(collection, folder, damage):
    index(collection, descriptors=["hog"], workers=0)  # whose vectors are long: holes are pages of the disk
    (file,) = collection.folder.glob("vectors/hog-*.codes")
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        with open(file, "r+b") as vectors:
            vectors.truncate(100)
            if damage == "hole":
                vectors.truncate(len(content))
    cv2.imwrite(str(folder / "new.png"), picture(99))
    with pytest.raises(ValueError, match=r"vectors/hog-.*rankloom repair") as caught:
        index(collection, workers=0)
    assert "\n" not in str(caught.value)
    assert len(collection) == 8
    collection.close()
    assert repair(collection.folder, workers=0).problems == []
    assert file.read_bytes() == content
    with Collection(collection.folder) as again:
        assert index(again, workers=0).items == 1


def test_what_took_long_is_stored_at_once(collection):
    writer = Writer(collection)
    writer.add(DescribedFile("film.mp4", "video", 1, 1, error="no frames", seconds=60.0))
    assert collection.errors() == [("film.mp4", "no frames")]
    writer.close()


@pytest.mark.slow
def test_damaged_blocks_are_described_together(collection, folder, monkeypatch):
    """All descriptors and thumbnails of a file at once, and each file once."""
    for number in range(8, 12):  # one block each
        cv2.imwrite(str(folder / f"{number}.png"), picture(number))
        index(collection, workers=0)
    files = [*collection.folder.glob("vectors/*.codes"), collection.folder / "thumbnails.bin"]
    vectors = {file: file.read_bytes() for file in files[:-1]}
    for file in files:
        file.write_bytes(bytes(file.stat().st_size))
    described = []
    original = describing.describe_file

    def counting(path, *arguments, **options):
        described.append(path)
        return original(path, *arguments, **options)

    monkeypatch.setattr(_backfill, "describe_file", counting)
    report = verify(collection, repair=True, workers=0)
    assert report.repaired == 3 * 5
    assert len(described) == len(set(described)) == 12
    assert verify(collection).problems == []
    assert {file: file.read_bytes() for file in vectors} == vectors
    assert all(collection.thumbnail(item.id)[:2] == b"\xff\xd8" for item in collection.items())


def test_vectors_that_are_no_numbers_name_the_cure(collection):
    assert unsound_vectors(collection) is None
    (file,) = collection.folder.glob("vectors/edge_histogram-*.codes")
    vectors = np.memmap(file, np.uint8, "r+").reshape(-1, row_bytes(96))
    vectors[1, 96:98] = np.array([np.nan], "<f2").view(np.uint8)
    vectors.flush()
    said = unsound_vectors(collection)
    assert said.startswith("the vector of edge_histogram of item 2 is damaged (not a number)")
    assert f"rankloom repair -c {collection.folder}" in said
    assert not verify(collection).sound
