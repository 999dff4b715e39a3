"""A cascade in every shard: its sketches choose what all experts look at."""

from __future__ import annotations

import pytest

from rankloom.cluster import ShardedSearch, make_shards
from rankloom.cluster.shard_files import open_shard, shards_in
from rankloom.engine import Engine, SearchOptions
from tests.archives import ids
from tests.engine.test_cascade import QUERIES, N, original, small_is_large  # noqa: F401
from tests.shell import rankloom

pytestmark = pytest.mark.slow

EXPERTS_ALONE = SearchOptions(feedback=False, diffusion=False)


def test_nearly_the_same_is_found_as_by_looking_at_all(original, client, tmp_path):  # noqa: F811
    single, exact = Engine(original), Engine(original, index="exact")
    made = make_shards(single, tmp_path / "shards", 3)
    assert all(shard.sketches is not None for shard in made)
    search = ShardedSearch(single, client, tmp_path / "shards")
    for name, query in QUERIES.items():
        by_words = bool(query.text)  # then all items are looked at
        looked_at = single.apart(query).looked_at
        assert (looked_at is None) == by_words, name
        assert exact.apart(query).looked_at is None
        found = search.search(query, 30)
        best = exact.search(query, 30, EXPERTS_ALONE)
        assert found.missing == ()
        if by_words:
            assert found.results.hits == best.hits
            continue
        assert 3 * looked_at.n < N / 2
        # What one engine finds with its cascade, each shard finds among as many candidates of its own.
        assert {*ids(single.search(query, 30, EXPERTS_ALONE))} & {*ids(best)} <= {*ids(found.results)}
        assert len({*ids(found.results)} & {*ids(best)}) >= 0.9 * len(best)
        scores = {hit.id: hit.score for hit in best}
        for hit in found.results:
            assert hit.score == pytest.approx(scores.get(hit.id, hit.score), abs=1e-5)


def test_damaged_sketches_are_noticed(original, tmp_path):  # noqa: F811
    make_shards(Engine(original), tmp_path / "shards", 2)
    assert open_shard(str(tmp_path / "shards"), shards_in(str(tmp_path / "shards"))[0]).sketches.shape == (N // 2, 128)
    file = tmp_path / "shards" / "shard-2-of-2" / "sketches.bin"
    file.write_bytes(b"\1" + file.read_bytes()[1:])
    assert "sketches.bin is damaged" in rankloom("shard", "check", tmp_path / "shards", code=1).output
