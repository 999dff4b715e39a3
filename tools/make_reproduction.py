"""Make docs/reproduction.md from a report of `rankloom bench all`: its tables and some figures.

    rankloom bench all --data ../shared/data --out report/
    python tools/make_reproduction.py report/ docs/ "the machine, and when"

Tables that the page folds are left out. Figures hold numbers alone, never pictures of the data.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from rankloom.experiments.papers.everything import STEPS, TITLE
from rankloom.experiments.papers.report import Section, markdown

FIGURES = {  # of the report -> name below docs/images
    "car/car-against.png": "reproduction-car.png",
    "cascade/quality-against-cost.png": "reproduction-cascade.png",
    "online/map.png": "reproduction-map.png",
    "online/cost-by-instances.png": "reproduction-costs.png",
    "online/progressive.png": "reproduction-progressive.png",
    "online-semantic/map.png": "reproduction-map-semantic.png",
}
INTRO = """What each paper reports, what its methods reach here, and our best. The papers' data are not public but for
Caltech-101, so that shapes can be compared and not digits; each part says which data stand in their place. Conclusions
that do not appear are marked "no", with a reason. [papers.md](papers.md) maps every table and figure to its code.

Measured on {where}, by

```
rankloom bench all --data DATA --out report/
```

with MQ2008, 1,824 photographs of Caltech-101, and Flickr8k's 2,000 photographs with their captions and judgements. The
report itself has more tables and figures, and puts all into one HTML file. This page is made from it by
`tools/make_reproduction.py`."""


def main(report: Path, docs: Path, where: str) -> None:
    """Write the page and its figures."""
    sections, missing = [], []
    for step in STEPS:
        if not (report / f"{step}.json").exists():
            missing.append(step)
            continue
        for plain in json.loads((report / f"{step}.json").read_text("utf-8"))["sections"]:
            section = Section.from_dict(plain)
            figures = [(f"images/{FIGURES[file]}", what) for file, what in section.figures if file in FIGURES]
            tables = tuple(table for table in section.tables if not table.folded)
            sections.append(replace(section, tables=tables, figures=tuple(figures)))
    for file, name in FIGURES.items():
        if not (report / file).exists():
            continue
        shutil.copyfile(report / file, docs / "images" / name)
    intro = INTRO.format(where=where)
    if missing:
        intro += f"\n\n**Not part of this run yet: {', '.join(missing)}.**"
    text = markdown(TITLE, intro, sections)
    (docs / "reproduction.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
