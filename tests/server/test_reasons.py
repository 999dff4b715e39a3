"""What the page translates of the server's lines is what the server says."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import rankloom

SOURCE = Path(rankloom.__file__).parent
PAGE = SOURCE / "server" / "static"
# Of the system and of Pillow, not of ours.
OTHERS = {"permission denied", "no such file or directory", "image file is truncated", "image file is truncated (X"}


def written() -> list[re.Pattern[str]]:
    """The texts in the source, with anything where a value stands; those of some words."""
    texts = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.add("".join(map(str, parts)))
    texts |= {re.sub(r"^[a-z.]+: ", "", text) for text in texts}  # which field of a request is meant is left out
    named = (text for text in texts if re.search("[a-z]{4}", text) and len(text) < 300)
    return [re.compile(re.escape(text.strip()).replace("\0", ".+")) for text in named]


def test_translated_lines_are_those_of_the_server():
    module = (PAGE / "js" / "reasons.js").read_text("utf-8")
    german = json.loads((PAGE / "messages" / "de.json").read_text("utf-8"))
    lines = [line for line in german if f'"{line}"' in module]
    assert len(lines) > 80
    known = written()
    for line in lines:
        said = re.sub(r"\{\w+\}", "X", line)
        if not any(said.startswith(other) for other in OTHERS):
            assert any(text.fullmatch(said) for text in known) or _in_parts(said, known), f"nothing says: {line}"


def _in_parts(said: str, known: list[re.Pattern[str]]) -> bool:
    """Whether a text is put together of others, such as "describing: X"."""
    begins, _, rest = said.partition(":")
    return rest.strip() == "X" and any(text.fullmatch(begins) for text in known)
