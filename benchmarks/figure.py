"""Draw docs/images/pairs.png: the time of the loss over all pairs against the rows. `python -m benchmarks.figure`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Before anything loads a thread pool, as in `python -m benchmarks`.
for pool in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{pool}_NUM_THREADS"] = "1"

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "pairs.png"
ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LOOP_LIMIT = 10_000  # rows; the double loop needs a hundred times longer for each further power of ten
LOOP, OURS, INK, FAINT = "#c2410c", "#1d4ed8", "#1f2937", "#6b7280"

Series = list[tuple[int, float]]


def measure() -> tuple[Series, Series]:
    """Seconds of one value and gradient, half of the rows relevant: of the double loop and of ours."""
    import numpy as np

    from benchmarks.harness import many, seconds
    from benchmarks.margin import D, double_loop, problem
    from rankloom.groups import group_rows, preferences
    from rankloom.rankers._risks import pair_risk
    from rankloom.rankers.losses import LOSSES

    weights = np.random.default_rng(1).normal(size=D) / 2
    loop: Series = []
    ours: Series = []
    for n in ROWS:
        X, y = problem(n // 2, n - n // 2)
        risk = pair_risk(X, preferences(y, group_rows(None, n)), LOSSES["logistic"])
        times = max(1, 100_000 // n)
        ours_once = many(lambda risk=risk: risk.value_gradient(weights), times)
        if n > LOOP_LIMIT:
            ours.append((n, seconds(ours_once, repeats=5)[0] / times))
            continue
        loop_times = max(1, 1_000_000 // n**2)
        loop_once = many(lambda X=X, n=n: double_loop(X, weights, n // 2), loop_times)
        slow, fast = seconds(loop_once, ours_once, repeats=5)
        loop.append((n, slow / loop_times))
        ours.append((n, fast / times))
    return loop, ours


def draw(loop: Series, ours: Series, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5), dpi=110, layout="constrained")
    for series, colour in ((loop, LOOP), (ours, OURS)):
        axes.plot(*zip(*series, strict=True), color=colour, linewidth=2.5, marker="o", markersize=5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(80, 1_600_000)
    axes.set_ylim(ours[0][1] / 1.8, loop[-1][1] * 2.2)

    label = {"fontsize": 12, "fontweight": "bold"}
    n, slow = loop[-1]
    axes.annotate(
        "loop over all pairs\n(compiled by numba)", loop[-1], xytext=(-14, 2), textcoords="offset points", ha="right",
        va="center", color=LOOP, **label,
    )  # fmt: skip
    last, least = ours[-1]
    axes.annotate(
        "Rankloom, the same sum", ours[-4], xytext=(12, -14), textcoords="offset points", va="center", color=OURS,
        **label,
    )  # fmt: skip
    fast = dict(ours)[n]
    axes.plot([n, n], [fast, slow], color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.annotate(
        f"{_round(slow / fast):,}x faster\nat {n:,} rows", (n, (slow * fast) ** 0.5), xytext=(9, 0),
        textcoords="offset points", va="center", color=INK, fontsize=11,
    )  # fmt: skip
    axes.annotate(
        f"{(last / 2) ** 2 / 1e9:,.0f} billion pairs\nin {_spell(least)}", ours[-1], xytext=(8, 10),
        textcoords="offset points", ha="right", va="bottom", color=INK, fontsize=11,
    )  # fmt: skip

    axes.set_title(
        "Logistic loss over all pairs: one value and gradient, one thread", loc="left", color=INK, fontsize=13, pad=12
    )
    axes.set_xlabel("rows of the query (half of them relevant, 19 features)", color=INK, fontsize=11)
    axes.set_ylabel("seconds", color=INK, fontsize=11)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda y, _: _spell(y))
    axes.tick_params(colors=FAINT, which="both", labelsize=10)
    axes.tick_params(which="minor", length=0)
    axes.grid(which="major", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#9ca3af")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")
    plt.close(figure)


def _round(number: float) -> int:
    """Two digits: the third changes from run to run."""
    return int(float(f"{number:.2g}"))


def _spell(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.999:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0e} s"


def main() -> int:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("the figure needs matplotlib: pip install matplotlib", file=sys.stderr)
        return 1
    loop, ours = measure()
    for name, series in (("double loop", loop), ("ours", ours)):
        print(name + ":", ", ".join(f"{n:,} rows {_spell(seconds)}" for n, seconds in series))
    draw(loop, ours, IMAGE)
    print(f"wrote docs/images/{IMAGE.name}, {IMAGE.stat().st_size / 1024:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
