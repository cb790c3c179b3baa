"""Series of measurements as Markdown tables and plots."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


@dataclass
class Sweep:
    """One figure: a value per method and per setting of the varied parameter."""

    title: str
    varied: str
    shown: str
    settings: Sequence[object]
    series: dict[str, list[float]] = field(default_factory=dict)

    def add(self, method: str, value: float) -> None:
        """The next value of a method."""
        self.series.setdefault(method, []).append(value)

    def as_markdown(self, form: str = ".3f") -> str:
        """One row per setting, one column per method."""
        head = [f"### {self.title}", "", f"{self.shown}, by {self.varied}.", ""]
        head += ["| " + " | ".join([self.varied, *self.series]) + " |", "| ---: " * (1 + len(self.series)) + "|"]
        rows = [
            "| " + " | ".join([str(s), *(format(v[i], form) for v in self.series.values())]) + " |"
            for i, s in enumerate(self.settings)
        ]
        return "\n".join([*head, *rows, ""])


def as_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"### {title}", "", "| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(str(c) for c in row) + " |" for row in rows), ""])


def plot(name: str, sweeps: Mapping[str, Sweep]) -> str:
    """All sweeps side by side as one picture; returns the Markdown that shows it."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "sfumato"
    import matplotlib.pyplot as plt

    columns = min(4, len(sweeps))
    lines = -(-len(sweeps) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False)
    for axis in axes.flat[len(sweeps) :]:
        axis.set_visible(False)
    for axis, (label, sweep) in zip(axes.flat, sweeps.items(), strict=False):
        for method, values in sweep.series.items():
            axis.plot([str(s) for s in sweep.settings], values, marker="o", markersize=3, label=method)
        axis.set_title(label, fontsize=9)
        axis.set_xlabel(sweep.varied, fontsize=8)
        axis.set_ylabel(sweep.shown, fontsize=8)
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{name}]({name}.svg)\n"
