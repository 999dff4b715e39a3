"""Where items were taken: read when they are indexed, later for old collections; filtered by rectangles; grouped."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

from rankloom.collection import Collection, export_items, index
from rankloom.collection.browsing import Catalogue
from rankloom.collection.contents import counters
from rankloom.collection.places import Atlas, clusters_in, position_of
from rankloom.collection.query import Filters, Query
from rankloom.collection.rectangles import Rectangle, around, rectangle
from rankloom.descriptors import PRESETS
from rankloom.media.positions import Position
from tests.collection.test_collection import FEW
from tests.media.test_positions import PARIS, degrees
from tests.shell import rankloom

SUVA = {1: "S", 2: degrees(18, 8), 3: "E", 4: degrees(178, 26)}  # Fiji lies on both sides of the date line
TAVEUNI = {1: "S", 2: degrees(16, 50), 3: "W", 4: degrees(179, 58)}


def taken_at(path, gps, tone):
    image = Image.new("RGB", (40, 30), (tone, 60, 90))
    exif = image.getexif()
    if gps:
        exif[0x8825] = gps
    image.save(path, exif=exif.tobytes())


@pytest.fixture
def traveled(tmp_path, monkeypatch):
    """A collection of four pictures: Paris, twice Fiji, and one without a place."""
    monkeypatch.setitem(PRESETS, "fast", FEW)
    (tmp_path / "p").mkdir()
    for tone, (name, gps) in enumerate((("a", PARIS), ("b", SUVA), ("c", TAVEUNI), ("d", None))):
        taken_at(tmp_path / "p" / f"{name}.jpg", gps, 60 * tone)
    with Collection(tmp_path / "c", create=True) as opened:
        index(opened, [tmp_path / "p"], workers=0, ocr=False)
        yield opened


def listed(collection, within):
    return sorted(Catalogue(collection).listing(Filters(within=within)).items.tolist())


def stored_vectors(collection):
    return {path.name: path.read_bytes() for path in (collection.folder / "vectors").iterdir()}


def test_positions_are_read_and_filtered_by(traveled, tmp_path):
    assert [position_of(traveled, item) for item in (1, 4)] == [Position(48.8577, 2.295), None]
    assert listed(traveled, (2.0, 48.0, 3.0, 49.0)) == [1]
    assert listed(traveled, (177.0, -19.0, -179.0, -16.0)) == [2, 3]  # over the date line
    assert listed(traveled, (-179.0, -19.0, 177.0, -16.0)) == []
    assert listed(traveled, (-180, -90, 180, 90)) == [1, 2, 3]
    assert listed(traveled, around(48.86, 2.35, 10)) == [1]
    export_items(traveled, tmp_path / "items.csv")
    with open(tmp_path / "items.csv", encoding="utf-8") as file:
        rows = {int(row["id"]): (row["latitude"], row["longitude"]) for row in csv.DictReader(file)}
    assert rows[1] == ("48.8577", "2.295")
    assert rows[4] == ("", "")
    found = rankloom("search", "-c", traveled.folder, "--within", "170,-20,-170,-10", "--json")
    assert len(found.stdout.splitlines()) == 2
    near = rankloom("search", "-c", traveled.folder, "--near", "48.86,2.35,10", "--json")
    assert '"id": 1' in near.stdout
    for wrong in (("--within", "1,2,3"), ("--within", "0,50,1,40"), ("--near", "95,0,1"), ("--near", "here")):
        assert "Error: Invalid value for" in rankloom("search", "-c", traveled.folder, *wrong, code=2).output


def test_an_old_collection_gets_positions_without_describing_again(traveled):
    with traveled.transaction() as db:
        db.execute("DELETE FROM positions")
    before, vectors = len(traveled), stored_vectors(traveled)
    report = index(traveled, workers=0)
    assert (report.stored, report.items, len(traveled)) == (0, 0, before)
    assert stored_vectors(traveled) == vectors
    assert position_of(traveled, 1) == Position(48.8577, 2.295)
    known = counters(traveled)
    index(traveled, workers=0)  # it is known now which have none
    assert counters(traveled) == known


def test_a_query_keeps_its_rectangle(traveled):
    query = Query("boat", filters=Filters(within=[1, 2, 3, 4]))
    assert Query.from_json(query.to_json()) == query
    assert query.qid == Query("boat").qid
    with pytest.raises(ValueError, match="no place"):
        Filters(within=(1, 4, 3, 2))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((0, -90, 400, 90), "-180,-90,180,90"),
        ((-200, 0, -170, 1), "160,0,-170,1"),
        ((0.123456789, 0, 1, 1), "0.123457,0,1,1"),
    ],
)
def test_rectangles_are_turned_to_the_map(place, text):
    assert rectangle(place).text == text
    assert around(89.99, 0, 100).text.startswith("-180,") is True


def test_clusters_are_few_and_hold_all():
    rng = np.random.default_rng(0)
    n = 100_000
    positions = np.full((n + 1, 2), np.nan)
    positions[1:, 0], positions[1:, 1] = rng.uniform(-80, 80, n), rng.uniform(-180, 180, n)
    items = np.arange(n, 0, -1)
    world = clusters_in(positions, items, Rectangle(-180.0, -90.0, 180.0, 90.0), 12, 8)
    assert len(world) <= 96
    assert sum(cluster.size for cluster in world) == n
    assert [cluster.size for cluster in world] == sorted((cluster.size for cluster in world), reverse=True)
    pacific = Rectangle(170.0, -30.0, -170.0, 0.0)
    here = (positions[1:, 0] >= -30) & (positions[1:, 0] <= 0) & (abs(positions[1:, 1]) >= 170)
    groups = clusters_in(positions, items, pacific, 4, 4)
    assert sum(cluster.size for cluster in groups) == here.sum()
    for cluster in groups:
        west, south, east, north = rectangle(cluster.within)
        inside = (positions[:, 0] >= south - 1e-6) & (positions[:, 0] <= north + 1e-6)
        turned = (positions[:, 1] - west + 1e-6) % 360 <= (east - west) % 360 + 2e-6
        assert (inside & turned).sum() >= cluster.size
        assert -30 <= cluster.latitude <= 0
        assert abs(cluster.longitude) >= 170


def test_an_atlas_follows_the_collection(traveled):
    atlas, items = Atlas(traveled), np.array([4, 3, 2, 1])
    assert atlas.extent(items)[0] == 3
    assert atlas.extent(items[:1]) == (0, None)
    with traveled.transaction() as db:
        db.execute("UPDATE positions SET latitude = NULL, longitude = NULL")
    assert atlas.extent(items) == (0, None)
    assert atlas.clusters(items, Rectangle(-180.0, -90.0, 180.0, 90.0), 4, 4) == []
