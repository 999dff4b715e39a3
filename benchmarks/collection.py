"""Collections: what a second run costs, and whether memory grows with the archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import SHARED, Bar, at_least, at_most

TITLE = "Collections"

RUN = """
import sys
from rankloom.collection import Collection, index
if __name__ == "__main__":
    with Collection(sys.argv[2], create=True) as collection:
        # In one process, so that its memory is all there is.
        report = index(collection, [sys.argv[1]], workers=0, ocr=False, speech=False)
    with open("/proc/self/status") as file:  # not getrusage, which remembers the size of the process it came from
        peak = next(line.split()[1] for line in file if line.startswith("VmHWM"))
    print(report.items, report.seconds, peak)
"""


def index(pictures: Path, collection: Path) -> tuple[int, float, float]:
    """Items, seconds and peak memory (KB) of a run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "run.py")
        script.write_text(RUN)
        found = subprocess.run(
            [sys.executable, str(script), str(pictures), str(collection)], capture_output=True, text=True, check=True
        )
    items, seconds, peak = found.stdout.split()[-3:]
    return int(items), float(seconds), float(peak)


def run() -> list[Bar]:
    source = SHARED / "images-caltech101" / "images"
    if not source.is_dir():
        return [Bar("5c", "index of Caltech-101 pictures", "-", "no ../shared/data", None)]
    files = sorted(path for path in source.rglob("*.jpg"))[:1500]
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        for place, some in ((small, files[:150]), (large, files)):
            place.mkdir()
            for number, file in enumerate(some):
                shutil.copy(file, place / f"{number:05}.jpg")
        _, _, few = index(small, Path(folder, "a"))
        items, first, many = index(large, Path(folder, "b"))
        began = time.perf_counter()
        _, again, _ = index(large, Path(folder, "b"))
        whole = time.perf_counter() - began
    return [
        at_least(
            "5c", f"index of {items:,} pictures ({items / first:.0f} a second), first / again", first / again, 100
        ),
        Bar("5c", "  again, with the start of the program", "-", f"{whole:.2f} s", None),
        at_most("5c", f"peak memory of {len(files):,} pictures / of 150 ({few / 1024:.0f} MB)", many / few, 1.1),
    ]
