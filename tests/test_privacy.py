"""Nothing leaves this machine: whole tasks are watched by strace, with every reader and extra that is installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pytest
from PIL import Image

from tests.collection.test_reading import write_files
from tests.serving import HEADER, picture

SECONDS = 60  # that the server is watched: onnxruntime looks its vendor's host up after some
PACKAGE = Path(__file__).parents[1] / "src" / "rankloom"
NETWORK = "connect,sendto,sendmsg,sendmmsg"
WRITING = "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,symlink,symlinkat,link,linkat"


def strace() -> str:
    """Return the tracer of this system; in CI it must be there."""
    path = shutil.which("strace")
    works = path and subprocess.run([path, "-qq", "-e", "trace=none", "true"], capture_output=True).returncode == 0
    if path and works:
        return path
    if os.environ.get("CI"):
        pytest.fail("no strace that works here: install it (apt install strace)")
    pytest.skip("no strace that works here")


class Watched:
    """Commands whose system calls are recorded, with a home of their own."""

    def __init__(self, root: Path):
        self.root, self.home, self.temporary = root, root / "home", root / "tmp"
        for folder in (self.home, self.temporary):
            folder.mkdir()
        self.traces: list[Path] = []
        kept = ("PATH", "LANG", "LC_ALL")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env |= {"HOME": str(self.home), "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *command: str, **options) -> subprocess.Popen:
        trace = self.root / f"trace-{len(self.traces)}"
        self.traces.append(trace)
        watch = [strace(), "-D", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "200", "-o", str(trace)]
        watch += ["-e", f"trace={NETWORK},{WRITING}"]
        options = {"env": self.env, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        return subprocess.Popen([*watch, sys.executable, *command], **options)

    def run(self, *command: str) -> str:
        with self.start(*command) as process:
            said, _ = process.communicate(timeout=900)
        assert process.returncode == 0, said
        return said

    def calls(self) -> list[str]:
        return [line for trace in self.traces for line in trace.read_text(errors="replace").splitlines()]


def reached(calls: list[str]) -> set[str]:
    """Return the addresses outside this machine that calls tried to reach, name servers on it included."""
    found = set()
    for call in calls:
        for address in re.findall(r"sin6?_port=htons\(\d+\), (?:sin6_flowinfo=\S+, )?[^}]*", call):
            port = re.search(r"htons\((\d+)\)", address)[1]
            host = re.search(r'"([^"]+)"', address)[1]
            if port == "53" or not (host.startswith("127.") or host in ("::1", "::ffff:127.0.0.1")):
                found.add(f"{host}:{port}")
    return found


def written(calls: list[str]) -> set[Path]:
    """Return the files and folders that calls made or opened for writing."""
    found = set()
    for call in calls:
        name = re.match(r"\d+ +(\w+)\(", call)
        if name is None or re.search(r"= -1 E", call):
            continue
        if name[1] in ("open", "openat") and not re.search(r"O_(WRONLY|RDWR|CREAT)", call):
            continue
        if name[1] in WRITING.split(","):
            found.update(Path(path) for path in re.findall(r'"(/[^"]*)"', call)[-1:])
    return found


UPLOAD = picture()
LIBRARY = """
import numpy as np
from rankloom import Collection, Engine, make_ranker
from rankloom.collection.query import Query
from rankloom.rankers.export import onnx_model
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 6)), rng.integers(0, 3, 300)
for name in ("rlr", "opar1", "rankboost", "lambdamart"):
    make_ranker(name).fit(X, y, qid=np.arange(300) // 20).predict(X)
onnx_model(make_ranker("rlr").fit(X, y, qid=np.arange(300) // 20))
with Collection("{c}") as collection:
    Engine(collection).search(Query(text="harbour"), 3)
"""


@pytest.mark.slow
def test_whole_tasks_reach_nobody_and_write_nowhere_else(tmp_path):
    """Index with all readers, search in every way, upload, mark, serve; by shell, server, workers, cluster, library."""
    watched = Watched(tmp_path)
    files, c = tmp_path / "files", str(tmp_path / "c")
    write_files(files)
    rng = np.random.default_rng(0)
    for number in range(6):
        pixels = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((240, 180), Image.Resampling.BICUBIC).save(files / f"red {number}.jpg")
    rankloom = ("-m", "rankloom")
    assert "10 " in watched.run(*rankloom, "index", str(files), "-c", c, "--workers", "2", "--preset", "fast")
    with watched.start(*rankloom, "serve", "-c", c, "--port", "0") as server:
        try:
            line = next(line for line in server.stdout if "is at http" in line)
            began = time.monotonic()
            with httpx.Client(base_url=re.search(r"http://[\d.:]+", line)[0], headers=HEADER, timeout=300) as web:
                web.get("/")
                sent = web.post("/api/upload", content=UPLOAD, headers={"Content-Type": "image/png"})
                key = sent.raise_for_status().json()["picture"]
                query = {"text": "harbour", "examples": [{"picture": key}]}
                for grade in (1, 0):
                    hits = web.post("/api/search", json={"query": query, "k": 5}).raise_for_status().json()["hits"]
                    marks = [{"item": hits[0]["id"], "grade": grade}]
                    web.post("/api/feedback", json={"query": query, "marks": marks}).raise_for_status()
            watched.run(*rankloom, "people", "on", "-c", c)
            watched.run(*rankloom, "search", "harbour", "-c", c)
            watched.run(*rankloom, "search", "--like", str(files / "a.png"), "-c", c)
            watched.run(*rankloom, "search", "--item", "1", "--index", "faiss", "-c", c)
            watched.run(*rankloom, "index", str(files), "-c", str(tmp_path / "d"), "--cluster", "local:2")
            watched.run("-c", LIBRARY.format(c=c))
            time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=300)
    calls = watched.calls()
    assert any("connect(" in call for call in calls), "nothing was watched"
    assert reached(calls) == set()
    allowed = (c, str(tmp_path / "d"), str(watched.temporary), f"{watched.home}/.cache/rankloom", "/dev/", "/proc/")
    others = {path for path in written(calls) if not str(path).startswith(allowed)}
    # Compiled kernels are kept next to their modules, as Python keeps its bytecode.
    assert {
        path for path in others if not str(path).startswith(f"{PACKAGE}/") or "__pycache__" not in path.parts
    } == set()


def test_the_watch_sees_what_it_looks_for(tmp_path):
    """A look-up, a connection elsewhere, a file in the home and one in the cache of somebody else are noticed."""
    watched = Watched(tmp_path)
    watched.run(
        "-c",
        "import os, pathlib, socket\n"
        "pathlib.Path(os.environ['HOME'], 'device-id').write_text('me')\n"
        "for host, port in (('192.0.2.1', 53), ('127.0.0.53', 53), ('192.0.2.7', 443)):\n"
        "    with socket.socket(type=socket.SOCK_DGRAM) as out:\n"
        "        out.connect((host, port))\n",  # of a datagram socket: nothing is sent
    )
    calls = watched.calls()
    assert reached(calls) == {"192.0.2.1:53", "127.0.0.53:53", "192.0.2.7:443"}
    assert watched.home / "device-id" in written(calls)
