"""Plots of the randomized response paper, as svg beside the page."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt

matplotlib.rcParams["svg.hashsalt"] = "sfumato"

RESULTS = Path(__file__).parents[1] / "results"


def three(
    file: str, xs: Sequence[float], curves: dict[str, list[list[float]]], titles: Sequence[str], label: str
) -> None:
    """One plot per measure, side by side."""
    figure, axes = plt.subplots(1, len(titles), figsize=(3.7 * len(titles), 3))
    for k, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for name, values in curves.items():
            axis.plot(list(xs), [v[k] for v in values], marker="o", markersize=3, label=name)
        axis.set(xlabel=label, title=title)
    axes[0].legend(fontsize=7)
    save(figure, file)


def save(figure: "plt.Figure", name: str) -> None:
    """As svg without a date, so that equal results give equal files."""
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
