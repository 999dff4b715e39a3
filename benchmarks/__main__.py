"""Run the sections named on the command line, or all; exit with 1 if a bar fails."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module

# Before anything loads a thread pool: every peer and we get one thread.
for pool in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{pool}_NUM_THREADS"] = "1"

SECTIONS = (
    "margin", "sparse", "online", "cascade", "content_aware", "descriptors", "collection", "reading", "text", "search",
    "quality", "words", "learning", "letor", "waiting", "replay", "large", "browse",
    "cluster",
)  # fmt: skip


def main(names: list[str]) -> int:
    unknown = set(names) - set(SECTIONS)
    if unknown:
        print(f"unknown section {unknown.pop()!r}; known are {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    from benchmarks.harness import show, write

    # One query of many rows is measured on purpose, and as fast as without a qid to be sorted.
    warnings.filterwarnings("ignore", "fit without qid")
    failed = 0
    for name in names or SECTIONS:
        section = import_module(f"benchmarks.{name}")
        bars = section.run()
        show(section.TITLE, bars)
        write(name, section.TITLE, bars)
        failed += sum(bar.passed is False for bar in bars)
    print(f"\n{failed} bars failed" if failed else "\nall bars passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
