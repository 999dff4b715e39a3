"""What the owner says of items as sidecars in XMP, which other programs read; pictures and videos stay untouched."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from rankloom._addresses import is_address
from rankloom._io import atomic_write, make_folder
from rankloom.collection.collection import Collection
from rankloom.collection.organizing import Notes, noted_items, notes_of
from rankloom.collection.overview import indexed_roots

ENDING = ".xmp"
_AT_ONCE = 1000  # items that are read
_OURS = b'x:xmptk="Rankloom"'
_PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Rankloom">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
{fields}  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


class ExportedSidecars(NamedTuple):
    """How many sidecars were written, and those of other programs that were left as they are."""

    written: int
    left: list[str]


def xmp_packet(notes: Notes) -> bytes:
    """An XMP packet with caption, tags and stars.

    >>> from rankloom.media.embedded import xmp_texts
    >>> xmp_texts(xmp_packet(Notes("Cats & dogs", ("sea", "2024"), 4)))
    ['Cats & dogs', 'sea', '2024']
    """
    fields = ""
    if notes.caption:
        text = f'<rdf:Alt><rdf:li xml:lang="x-default">{_text(notes.caption)}</rdf:li></rdf:Alt>'
        fields += f"   <dc:description>{text}</dc:description>\n"
    if notes.tags:
        tags = "".join(f"<rdf:li>{_text(tag)}</rdf:li>" for tag in notes.tags)
        fields += f"   <dc:subject><rdf:Bag>{tags}</rdf:Bag></dc:subject>\n"
    if notes.stars:
        fields += f"   <xmp:Rating>{notes.stars}</xmp:Rating>\n"
    return _PACKET.format(fields=fields).encode("utf-8", "replace")


def _text(text: str) -> str:
    """A text as XML takes it; characters that XML has no place for are left out."""
    return escape("".join(letter for letter in text if letter in "\t\n" or letter >= " "))


def sidecars(collection: Collection, items: list[int]) -> Iterator[tuple[str, bytes]]:
    """For each file of items the path that its sidecar would have, and the packet; once a file, read as they go."""
    wanted = [*dict.fromkeys(items)]
    seen: set[str] = set()
    for start in range(0, len(wanted), _AT_ONCE):
        batch = wanted[start : start + _AT_ONCE]
        notes = notes_of(collection, batch)
        for item in collection.items([number for number in batch if number in notes]):
            note = notes[item.id]
            if not (note.caption or note.tags or note.stars):
                continue
            for path in item.paths:
                if path not in seen:
                    seen.add(path)
                    yield path + ENDING, xmp_packet(note)


def export_sidecars(
    collection: Collection, folder: str | os.PathLike[str] | None, warn: Callable[[str], None] = lambda line: None
) -> ExportedSidecars:
    """Write a sidecar for each file whose item has a caption, tags or stars of the owner.

    Parameters
    ----------
    collection : whose items.
    folder : where to, in folders as the files have them; None for beside the files, where a sidecar of another program
        is left as it is.
    warn : called with a line for each file that could not be written.
    """
    roots = sorted(indexed_roots(collection), key=len, reverse=True)
    written, left = 0, []
    for path, packet in sidecars(collection, noted_items(collection)):
        if folder is None and is_address(path):
            warn(f"{path}: nothing is written beside an address; name a folder for the sidecars")
            continue
        target = Path(path) if folder is None else Path(folder, _below(path, roots))
        try:
            if folder is None and target.exists() and _OURS not in target.read_bytes():
                left.append(str(target))
                continue
            make_folder(target.parent)
            with atomic_write(target) as file:
                file.write(packet)
            written += 1
        except OSError as error:
            warn(f"{target}: {error.strerror or error}")
    return ExportedSidecars(written, left)


def _below(path: str, roots: list[str]) -> str:
    """The name of an indexed folder, and what lies below it."""
    for root in roots:
        if path.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
            return os.path.join(os.path.basename(root), os.path.relpath(path, root))
    return os.path.basename(path)
