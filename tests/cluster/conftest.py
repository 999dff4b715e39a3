"""One cluster of two processes for each file of tests."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster

from tests.waiting import LONG

WORKERS = 2


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options = {"threads_per_worker": 1, "memory_limit": 0, "silence_logs": logging.CRITICAL}
    options["dashboard_address"] = "127.0.0.1:0"  # the port that is its own unless given has one cluster at a time
    patient = dask.config.set({"distributed.comm.timeouts.connect": "300s"})  # a busy machine is slow, not wrong
    with patient, LocalCluster(n_workers=WORKERS, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A cluster that a busy machine starts late is waited for."""
    monkeypatch.setattr("rankloom.cluster.connecting.CONNECT_SECONDS", LONG)


def kill_a_worker(client: Client) -> None:
    """Kill the first worker; its nanny starts another."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


class Store:
    """An object store on this machine."""

    def __init__(self, endpoint: str):
        import s3fs

        self.files = s3fs.S3FileSystem(endpoint_url=endpoint)

    def put(self, bucket: str, folder: Path) -> None:
        """Fill a bucket with the files below a folder."""
        self.files.mkdir(bucket)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.files.put_file(str(path), f"{bucket}/{path.relative_to(folder)}")

    def delete(self, bucket: str, name: str) -> None:
        self.files.rm_file(f"{bucket}/{name}")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """The store; it comes before `client`, whose workers inherit how it is reached."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    settings = {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patched:
        for name, value in settings.items():
            patched.setenv(name, value)
        yield Store(endpoint)
    server.stop()
