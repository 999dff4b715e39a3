"""Fair ratios: one thread each, warmed up, interleaved repeats, medians of CPU time."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Bar:
    """A figure and the bar that it has to pass. `passed` None: only reported."""

    name: str
    what: str
    bar: str
    figure: str
    passed: bool | None


def at_least(name: str, what: str, figure: float, bar: float, unit: str = "x") -> Bar:
    return Bar(name, what, f">= {bar:g}{unit}", f"{figure:.4g}{unit}", bool(figure >= bar))


def at_most(name: str, what: str, figure: float, bar: float, unit: str = "x") -> Bar:
    return Bar(name, what, f"<= {bar:g}{unit}", f"{figure:.4g}{unit}", bool(figure <= bar))


def seconds(*calls: Callable[[], object], repeats: int = 7, warm_up: bool = True) -> list[float]:
    """The median CPU time of each call; the calls take turns, so that all meet the same machine."""
    if warm_up:
        for call in calls:
            call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, taken in zip(calls, times, strict=True):
            began = time.process_time()
            call()
            taken.append(time.process_time() - began)
    return [float(np.median(taken)) for taken in times]


def many(call: Callable[[], object], times: int) -> Callable[[], None]:
    """Call several times, for calls shorter than the clock is fine."""

    def repeated() -> None:
        for _ in range(times):
            call()

    return repeated


def machine() -> dict[str, str]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu)
    found = {"cpu": cpu, "cores": str(os.cpu_count()), "python": platform.python_version(), "system": platform.system()}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "lightgbm"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def write(section: str, title: str, bars: list[Bar]) -> None:
    """Results as JSON and as a Markdown table."""
    RESULTS.mkdir(exist_ok=True)
    about = {"section": section, "when": datetime.now(UTC).strftime("%Y-%m-%d"), "threads": "1", **machine()}
    record = {**about, "bars": [asdict(bar) for bar in bars]}
    (RESULTS / f"{section}.json").write_text(json.dumps(record, indent=1) + "\n")
    lines = [f"# {title}", "", ", ".join(f"{key} {value}" for key, value in about.items()), ""]
    lines += ["| bar | what | to reach | measured | |", "|---|---|---|---|---|"]
    lines += [f"| {b.name} | {b.what} | {b.bar} | {b.figure} | {_verdict(b)} |" for b in bars]
    (RESULTS / f"{section}.md").write_text("\n".join(lines) + "\n")


def _verdict(bar: Bar) -> str:
    return {True: "pass", False: "**FAIL**", None: ""}[bar.passed]


def show(title: str, bars: list[Bar]) -> None:
    print(f"\n{title}")
    width = max(len(bar.what) for bar in bars)
    for bar in bars:
        verdict = {True: "pass", False: "FAIL", None: "-"}[bar.passed]
        print(f"  {bar.name:<7} {bar.what:<{width}}  {bar.bar:>12}  {bar.figure:>12}  {verdict}")
