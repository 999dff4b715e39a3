"""Several servers of one collection in PostgreSQL: they learn from the same marks, and any of them may go."""

import json
import signal
import threading
import urllib.error
import urllib.request
from functools import partial

import pytest

from rankloom import Collection
from rankloom.collection.copying import copy_collection
from rankloom.collection.marks import marks
from tests.postgres import own_server
from tests.serving import HEADER, Served, sample
from tests.waiting import LONG, wait_until

pytestmark = pytest.mark.slow
QUERY = {"examples": [{"item": 3}]}


def post(server, path, body):
    """The data of an answer, or the status of a refusal."""
    headers = {**HEADER, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.address}/api/{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code


def order(server):
    """The results of a server that has learned from all marks: of the last ones it does so in the background."""
    wait_until(lambda: not post(server, "search", {"query": QUERY, "k": 1})["learning"], pause=0.1)
    return [(hit["id"], hit["score"]) for hit in post(server, "search", {"query": QUERY, "k": 30})["hits"]]


def acknowledges(server, item):
    """Whether a server takes a mark; one whose database is away says so, and who marks tries again."""
    given = post(server, "feedback", {"query": QUERY, "marks": [{"item": item}]})
    assert given == 503 or isinstance(given, dict), given
    return given != 503


def test_three_servers_one_killed_and_the_database_too(tmp_path):
    with own_server() as database:
        sign = "&" if "?" in database.uri else "?"
        name = f"{database.uri}{sign}schema=photos&files={tmp_path / 'c'}"
        copy_collection(sample() / "c", name)
        servers = [Served(name) for _ in range(3)]
        try:
            first = [number for number, _ in order(servers[0])]
            acknowledged = set()
            for place, item in enumerate(first[1:13]):
                given_mark = {"item": item, "grade": 1.0 if place % 2 else 0.0}
                given = post(servers[place % 3], "feedback", {"query": QUERY, "marks": [given_mark]})
                assert isinstance(given, dict), given
                acknowledged.add(item)
            assert servers[0].stop(signal.SIGKILL) != 0
            assert order(servers[1]) == order(servers[2])  # both know the marks of all three
            assert [number for number, _ in order(servers[1])] != first
            database.kill()
            starting = threading.Thread(target=database.start)
            starting.start()
            for place, item in enumerate(first[13:21]):
                wait_until(partial(acknowledges, servers[1 + place % 2], item))
                acknowledged.add(item)
            starting.join()
            assert len(acknowledged) == 12 + 8
            assert order(servers[1]) == order(servers[2])
            with Collection(name) as collection:
                assert acknowledged <= {found.item for found in marks(collection)}
        finally:
            for server in servers:
                server.stop()
