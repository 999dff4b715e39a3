"""How a collection in PostgreSQL is named, and the file by which its folder says where its tables are."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from rankloom._io import atomic_write, make_folder

POINTER = "database.json"  # in the folder of a collection whose tables are elsewhere
FILES = "files"  # under which the table of facts has the folder
VARIABLE = "RANKLOOM_DATABASE"  # the environment variable that names the database of new collections
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class Address(NamedTuple):
    """A database, the schema that holds the tables of one collection, and its folder, if the address names one."""

    database: str
    schema: str
    files: str | None = None

    @property
    def shown(self) -> str:
        """The address without a password, for people."""
        parts = urlsplit(self.database)
        host = re.sub(r":[^:@]*@", "@", parts.netloc)
        return urlunsplit(parts._replace(netloc=host, query=_with(parts.query, schema=self.schema)))


def parsed(text: str) -> Address:
    """The parts of `postgresql://user@host/database?schema=photos&files=/mnt/photos`.

    What is left of it is for the driver. Both parameters may be left out: the schema is `rankloom`, and an existing
    collection knows its folder.

    Examples
    --------
    >>> parsed("postgresql://db.example/archive?schema=photos&files=/mnt/photos&connect_timeout=3")
    Address(database='postgresql://db.example/archive?connect_timeout=3', schema='photos', files='/mnt/photos')
    """
    parts = urlsplit(text)
    values = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema, files = values.pop("schema", "rankloom"), values.pop("files", None)
    if not _SCHEMA.fullmatch(schema):
        raise ValueError(f"{schema!r} cannot be the schema of a collection; use small letters, digits and _")
    return Address(urlunsplit(parts._replace(query=urlencode(values))), schema, files)


def _with(query: str, **values: str) -> str:
    return urlencode([*parse_qsl(query), *values.items()], safe="/")


def write_pointer(folder: Path, address: Address) -> None:
    """Let a folder say where the tables of its collection are; only its owner reads it: there may be a password."""
    make_folder(folder)
    content = {"address": address.database, "schema": address.schema}
    with atomic_write(folder / POINTER) as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())
    os.chmod(folder / POINTER, 0o600)


def read_pointer(folder: Path) -> Address | None:
    """Where the tables of the collection in a folder are; None if they are in the folder."""
    try:
        content = json.loads((folder / POINTER).read_text("utf-8"))
        return Address(str(content["address"]), parsed(f"postgresql:///?schema={content['schema']}").schema)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{folder / POINTER} does not say which database has the tables ({error})") from None
