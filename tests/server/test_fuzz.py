"""Hostile requests: generated from the OpenAPI description, uploads that are no pictures, and paths that lead out."""

from __future__ import annotations

import io
import json
import struct
import zlib
from time import sleep

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from PIL import Image
from schemathesis import GenerationMode, checks

from rankloom.collection import Collection
from rankloom.engine import Engine
from rankloom.server import ServerSettings, create_app
from tests.serving import HEADER, UNLIMITED, copied, sample

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
SECRETS = ("Traceback", 'File "', "sqlite3", "/etc/")


def says_little(text):
    """An error is one line without anything of this machine."""
    assert str(sample()) not in text
    assert not any(secret in text for secret in SECRETS), text
    body = json.loads(text)
    assert list(body) == ["error"]
    assert len(body["error"]) <= 320
    assert "\n" not in body["error"]


@pytest.fixture
def described(tmp_path):
    with Collection(copied(tmp_path / "c")) as collection:
        app = create_app(Engine(collection), ServerSettings(names=("testserver",), limits=UNLIMITED))
        yield schemathesis.openapi.from_asgi("/api/openapi.json", app)
        app.state.context.jobs.close()
        app.state.context.work.close()


BOUNDED = settings(
    max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
def test_generated_requests(described, mode):
    """Every call, with requests as it wants them and with others."""
    calls = 0
    for found in described.get_all_operations():
        operation = found.ok()

        @BOUNDED
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            nonlocal calls
            calls += 1
            response = case.call(headers=HEADER)
            while response.status_code == 503 and "retry-after" in response.headers:  # a repair that was asked for
                sleep(0.05)
                response = case.call(headers=HEADER)
            case.validate_response(response, checks=CHECKS)
            if response.status_code >= 400:
                says_little(response.text)

        try:
            ask()
        except Unsatisfiable:  # a call without parameters has no wrong ones
            assert mode is GenerationMode.NEGATIVE
    assert calls > 200


# Uploads -------------------------------------------------------------------------------------------------------------


def png(width, height, data=b"", kind=2):
    """A PNG file that says it is so large, whatever it holds."""

    def part(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(data)) + part(b"IEND", b"")


def good(kind="PNG", **options):
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "teal").save(file, kind, **options)
    return file.getvalue()


HOSTILE = {
    "nothing": b"",
    "one byte": b"\x00",
    "text": b"this is no picture",
    "zeros": bytes(100_000),
    "html": b"<html><script>alert(1)</script></html>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "svg that includes": b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file",
    "pdf": b"%PDF-1.7\n1 0 obj<<>>endobj",
    "zip": b"PK\x03\x04" + bytes(200),
    "program": b"\x7fELF" + bytes(200),
    "playlist": b"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nfile:///etc/passwd\n",
    "bomb of pixels": png(100_000, 100_000),
    "wide bomb": png(2**31 - 1, 1),
    "no pixels": png(0, 10),
    "short data": png(500, 500, b"\x00" * 100),
    "wrong data": b"\x89PNG\r\n\x1a\n" + bytes(300),
    "cut jpeg": good("JPEG")[:80],
    "cut png": good()[:60],
    "gif of no size": b"GIF89a" + bytes(20),
    "webp header": b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(8),
    "tiff of itself": b"II*\x00\x08\x00\x00\x00" + struct.pack("<H", 65535) + b"\x01" * 300,
    "avif header": b"\x00\x00\x00\x20ftypavif" + bytes(24),
    "windows metafile": b"\xd7\xcd\xc6\x9a" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_upload(web, name):
    answer = web.post("/api/upload", content=HOSTILE[name], headers={"Content-Type": "image/png"})
    assert answer.status_code == 422, answer.text
    says_little(answer.text)


@pytest.mark.slow
def test_damaged_pictures_end_well(web):
    """A byte of a good picture is changed, at many places: a picture or a refusal, and the server goes on."""
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"):
        data = good(kind)
        for place in range(0, len(data), max(1, len(data) // 12)):
            broken = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
            answer = web.post("/api/upload", content=broken, headers={"Content-Type": "image/png"})
            assert answer.status_code in (200, 422), (kind, place, answer.text)
            if answer.status_code == 422:
                says_little(answer.text)
    assert web.get("/api/health").status_code == 200


@pytest.mark.parametrize("name", ["../../evil.png", "/etc/evil.png", "evil\x00.png", "C:\\evil.png"])
def test_names_of_uploads_are_not_used(web, name, tmp_path):
    headers = {"Content-Type": "image/png", "Content-Disposition": f'attachment; filename="{name!a}"'}
    key = web.post("/api/upload", content=good(), headers=headers).json()["picture"]
    assert key.isalnum()
    assert not [*tmp_path.parent.rglob("*evil*")]


# Paths ---------------------------------------------------------------------------------------------------------------

OUTSIDE = [
    "/../../../etc/passwd",
    "/static/../../../../etc/passwd",
    "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/%2e%2e/app.py",
    "/static/....//....//etc/passwd",
    "/static//etc/passwd",
    "/static/%00",
    "/static/js/../../app.py",
    "/static/..\\app.py",
    "/api/items/../../etc/passwd",
    "/api/items/1%2f..%2f2/file",
    "/api/items/%2e%2e/file",
    "/api/items/1/file/../../..",
    "/api/pictures/..%2f..%2frankloom.db/thumbnail",
    "/api/pictures/%2fetc%2fpasswd/thumbnail",
    "/api/pictures/a.b/thumbnail",
    "/rankloom.db",
    "/static/",
    "/static",
    "/api/",
    "/.git/config",
    "/api/items/1/thumbnail%0d%0aSet-Cookie:x=y",
    "/docs",
    "/redoc",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_lead_out(web, path):
    answer = web.request("GET", httpx_url(path))
    assert answer.status_code in (307, 404, 405, 422), (path, answer.status_code)
    assert b"root:" not in answer.content
    assert b"import" not in answer.content
    assert "set-cookie" not in answer.headers


def httpx_url(path):
    """The path as it stands: clients would tidy it up first."""
    import httpx2 as httpx

    return httpx.URL("http://localhost").copy_with(raw_path=path.encode())


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b'{"query": {"text": "\\ud800"}}',
     b'{"query": {"text": "a\\u0000b"}}', b'{"query": {"text": "a"}, "k": NaN}',
     b'{"query": {"text": "a"}, "k": 1e400}',
     b'{"query": {"text": "a"}, "k": 99999}',
     b'{"query": {"text": "a", "text_weight": Infinity}}', b'{"query": {"text": "a"}, "offset": -1}', b"[" * 90_000,
     b'{"query": {"text": "a"}, "method": "__import__"}', b'{"query": {"text": "a"}, "unknown": 1}',
     b'{"query": {"examples": [{"item": "1; DROP TABLE items"}]}}', b'{"query": {"examples": [{"picture": "../x"}]}}'],
)  # fmt: skip
def test_bodies_that_make_no_sense(web, body):
    answer = web.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code != 200:
        says_little(answer.text)


@pytest.mark.parametrize(
    "text",
    [
        '"',
        '"" ""',
        "* * *",
        "-",
        "--",
        "a" * 1000,
        "' OR 1=1 --",
        "%s%n",
        "\u202e\u0000",
        "🦜" * 200,
        "NEAR(a b)",
        "a* -a*",
    ],
)
def test_odd_words(web, text):
    answer = web.post("/api/search", json={"query": {"text": text}})
    assert answer.status_code in (200, 422), answer.text
    assert answer.status_code == 200 or len(answer.json()["error"]) < 320


@pytest.mark.parametrize(
    "value",
    ["bytes=0-", "bytes=-1", "bytes=5-1", "bytes=a-b", "items=0-1", "bytes=" + "0-0," * 200 + "1-1", "x" * 5000],
)
def test_odd_ranges(web, value):
    answer = web.get("/api/items/1/file", headers={"Range": value})
    assert answer.status_code in (200, 206, 400, 416)


@pytest.mark.parametrize(
    "value", ["", "x", "rankloom_user", "rankloom_user=x; " * 50, "rankloom_user=\\x00", 'rankloom_user="a b', "=;=;="]
)
def test_odd_cookies(web, value):
    answer = web.get("/api/session", headers={"Cookie": value})
    assert answer.status_code == 200
