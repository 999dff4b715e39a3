"""Results by doubt: nearest to the border between right and wrong first, where something says where it is."""

import numpy as np
import pytest

from rankloom.collection import Mark
from rankloom.collection.query import Filters, Query
from rankloom.engine import SearchOptions
from rankloom.engine.sorting import orders_of, sorted_search
from tests.archives import alike, ids, like

N = 48
PLAIN = SearchOptions()


def by_doubt(engine, query, options=PLAIN, k=N):
    return sorted_search(engine, query, k, options, "uncertain")


def test_marks_make_a_border_and_what_is_marked_is_not_in_doubt(changing):
    engine, query = alike(changing), Query("boat")
    first = ids(engine.search(query, N))
    right, wrong = first[:2], first[4:6]
    engine.feedback(query, [Mark(item, 1.0) for item in right])
    assert "uncertain" not in orders_of(engine.search(query, N))  # nothing is known of what is wrong
    engine.feedback(query, [Mark(item, 0.0) for item in wrong])
    results = engine.search(query, N)
    assert "uncertain" in orders_of(results)
    doubtful = by_doubt(engine, query)
    assert sorted(ids(doubtful)) == sorted({*ids(results)} - {*right, *wrong})
    scores = engine.rank(query).scores
    border = (scores[np.array(right) - 1].mean() + scores[np.array(wrong) - 1].mean()) / 2
    distance = np.abs(scores[np.array(ids(doubtful)) - 1] - border)
    assert np.all(np.diff(distance) >= 0)
    assert {hit.id: hit.score for hit in doubtful}.items() <= {hit.id: hit.score for hit in results}.items()
    page = by_doubt(engine, query, SearchOptions(offset=3), 5)
    assert ids(page) == ids(doubtful)[3:8]
    assert [hit.rank for hit in page] == [4, 5, 6, 7, 8]
    assert page.total == len(doubtful)
    copies = by_doubt(engine, query, SearchOptions(collapse=True))
    assert {*ids(copies)} <= {*ids(doubtful)}


def test_the_suggested_end_is_a_border(changing):
    engine, query = alike(changing), like(9)
    results = engine.search(query, N)
    end = results.cutoff
    assert end is not None
    doubtful = by_doubt(engine, query)
    scores = {hit.id: hit.score for hit in results}
    border = (results[end - 1].score + results[end].score) / 2
    distance = [abs(scores[item] - border) for item in ids(doubtful)]
    assert distance == sorted(distance)
    assert {*ids(doubtful)[:2]} & {results[end - 1].id, results[end].id}
    assert (doubtful.cutoff, doubtful.likely) == (None, None)


def test_where_nothing_says_what_is_in_doubt_the_order_is_refused(changing):
    engine = alike(changing)
    for query, options in ((Query("boat"), PLAIN), (like(9), SearchOptions(diffusion=False))):
        assert "uncertain" not in orders_of(engine.search(query, N, options))
        with pytest.raises(ValueError, match="mark one result right and one wrong"):
            by_doubt(engine, query, options)
    with pytest.raises(ValueError, match="give words or an example"):
        by_doubt(engine, Query(filters=Filters(kind="picture")))
