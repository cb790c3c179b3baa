"""The figures of Fung's thesis as svg."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "fung", "svg.fonttype": "none", "font.size": 9, "figure.figsize": (5.6, 3.6)})

from matplotlib import pyplot as plt  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"


def lines(
    name: str,
    title: str,
    xs: Sequence[object],
    errors: Mapping[str, Sequence[float]],
    levels: Mapping[str, float],
    x: str = "k",
    y: str = "error in %",
) -> str:
    """Errors in percent over k or N, evenly spaced as in the thesis; levels are dashed. Returns the Markdown image."""
    _, axes = plt.subplots()
    places = range(len(xs))
    for label, ys in errors.items():
        axes.plot(places, [100 * e for e in ys], marker="o", markersize=3, label=label)
    for label, level in levels.items():
        axes.axhline(100 * level, linestyle="--", linewidth=0.8, color="grey")
        axes.annotate(label, (0, 100 * level), xytext=(0, 2), textcoords="offset points", color="grey")
    axes.set_xticks(places, [str(v) for v in xs], rotation=60 if len(xs) > 9 else 0)
    axes.set_xlabel(x)
    return _saved(axes, name, title, y)


def points(name: str, title: str, pairs: Sequence[tuple[float, float]]) -> str:
    """Each requirement as a point: error with several templates across, with the united one upwards."""
    _, axes = plt.subplots(figsize=(4.2, 4.2))
    axes.scatter([100 * a for a, _ in pairs], [100 * b for _, b in pairs], s=12, label="a requirement")
    low, high = (100 * f(v for p in pairs for v in p) for f in (min, max))
    axes.plot([low, high], [low, high], linewidth=0.8, color="grey")
    axes.set_xlabel("error in %, several templates")
    return _saved(axes, name, title, "error in %, one united template")


def _saved(axes: object, name: str, title: str, y: str) -> str:
    figure = axes.figure
    axes.margins(y=0.1)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / f"fung-{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{title}](fung-{name}.svg)"
