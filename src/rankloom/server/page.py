"""The page's own files: read and joined once, compressed, and named by their content, so that a browser keeps them."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rankloom.server.bundle import bundled, joined_styles
from rankloom.server.languages import ENGLISH, LANGUAGES, language_of, messages_of, translated

STATIC = Path(__file__).parent / "static"
_INDEX, _MAIN = "index.html", "main.js"
_SCRIPT, _STYLES = "js/page.js", "page.css"  # all modules and all styles; those are served one by one, too, to look at
_FOREVER, _ASK = "public, max-age=31536000, immutable", "no-cache"
_TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html",
    ".webmanifest": "application/manifest+json",
}  # fmt: skip
_VARY = "Accept-Encoding"
_VARY_PAGE = f"{_VARY}, Accept-Language, Cookie"


class _File(NamedTuple):
    """A file as it is sent: plain and compressed."""

    content: bytes
    compressed: bytes
    media_type: str
    etag: str


class Page:
    """Serves the files below /static; below /static/VERSION they never change, so nobody asks for them twice.

    Parameters
    ----------
    folder : the files.
    """

    def __init__(self, folder: Path = STATIC):
        contents = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(".d.ts")
        }
        self.version = hashlib.blake2b(b"\0".join(contents.values()), digest_size=8).hexdigest()
        page, contents[_STYLES] = joined_styles(contents[_INDEX].decode(), contents, _STYLES)
        modules = {name.removeprefix("js/"): text.decode() for name, text in contents.items() if name.endswith(".js")}
        contents[_SCRIPT] = bundled(modules, _MAIN).encode()
        page = page.replace(f'"/static/js/{_MAIN}"', f'"/static/{_SCRIPT}"', 1)
        page = page.replace('"/static/', f'"/static/{self.version}/')
        self._files = {name: _file(name, content) for name, content in contents.items() if name != _INDEX}
        self._pages = {language: _file(_INDEX, self._in(language, page, contents)) for language in LANGUAGES}

    def _in(self, language: str, page: str, contents: dict[str, bytes]) -> bytes:
        """The page in a language; it asks for the messages of its modules before they do."""
        name = f"messages/{language}.json"
        if language == ENGLISH:
            return translated(page, language, {}).encode()
        link = f'  <link rel="preload" as="fetch" crossorigin href="/static/{self.version}/{name}">\n'
        page = page.replace("</head>", f"{link}</head>", 1)
        return translated(page, language, messages_of(contents[name])).encode()

    def index(self, headers: Headers) -> Response:
        """The page itself, of which a browser asks each time whether it is still the same."""
        return _response(self._pages[language_of(headers)], headers, _ASK, _VARY_PAGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        name = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix("/")
        named = name.removeprefix(f"{self.version}/")
        if named not in self._files:
            raise HTTPException(404)
        response = _response(self._files[named], Headers(scope=scope), _ASK if named == name else _FOREVER)
        await response(scope, receive, send)


@cache
def own_page() -> Page:
    """The files that come with the package, joined and compressed once a process: all applications serve the same."""
    return Page()


def _file(name: str, content: bytes) -> _File:
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    etag = f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'
    return _File(content, gzip.compress(content, mtime=0), kind, etag)


def _response(file: _File, asked: Headers, caching: str, vary: str = _VARY) -> Response:
    headers = {"Cache-Control": caching, "ETag": file.etag, "Vary": vary}
    known = {tag.strip().removeprefix("W/") for tag in asked.get("if-none-match", "").split(",")}
    if file.etag in known:
        return Response(status_code=304, headers=headers)
    if "gzip" in asked.get("accept-encoding", "").lower() and len(file.compressed) < len(file.content):
        return Response(file.compressed, media_type=file.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.media_type, headers=headers)
