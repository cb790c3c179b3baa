"""The interface of all domains, so that callers need not ask which kind one is.

A domain numbers its values, with codes ``0 .. size-1``. Two kinds implement it: `Taxonomy` (a tree; a label is a node,
or some children of one) and `OrderedDomain` (a line; a label is a range of neighbours).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NotRequired, Protocol, Self, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Interval = tuple[float, float]

Meaning = Sequence[str | float | None] | None
"""What a label means: values, the ends of an interval, or None if that is not public."""


class BoxLabel(NamedTuple):
    """How a part of a domain is shown: its label, what that means, and the share of the domain that it hides."""

    label: str
    meaning: Meaning
    share: float


class BoxLabels(NamedTuple):
    """The same for many parts, in their order."""

    labels: list[str]
    meanings: list[Meaning]
    shares: NDArray[np.float64]


class AxisData(TypedDict):
    """A domain as the kernels see it: a line has positions, a tree has nodes."""

    size: int
    position: NotRequired[NDArray[np.float64]]
    lo: NotRequired[NDArray[np.int32]]
    hi: NotRequired[NDArray[np.int32]]
    parent: NotRequired[NDArray[np.int32]]
    leaf_node: NotRequired[NDArray[np.int32]]
    sets: NotRequired[bool]


class NumberScale(NamedTuple):
    """The number or day of each value, without missing ones, and their resolution (0: none)."""

    values: NDArray[np.float64]
    step: float
    dated: bool


class Domain(Protocol):
    """The values of an attribute, coded by rank or in leaf order."""

    @property
    def size(self) -> int:
        """How many codes there are."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values as text, in code order."""

    @property
    def derived(self) -> bool:
        """Whether the values were found in the data, so that listing them would reveal which ones occur."""

    @property
    def ordered(self) -> bool:
        """Whether any range of neighbours is a label."""

    @property
    def measured(self) -> bool:
        """Whether labels are intervals of numbers or days."""

    @property
    def hierarchical(self) -> bool:
        """Whether a taxonomy was given or built."""

    @property
    def shown_or_suppressed(self) -> bool:
        """Whether a group shows one value or nothing, never a set of values."""

    @property
    def missing_apart(self) -> bool:
        """Whether the last code is a missing value among numbers, which no interval contains."""

    @property
    def intervals(self) -> Mapping[str, Interval] | None:
        """The half-open intervals of the labels of a tree of numbers."""

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node of a tree; a line has none."""

    @property
    def height(self) -> NDArray[np.int32]:
        """The height of each node of a tree above its farthest leaf; a line has none."""

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The number or day of each value, or the start of its interval; NaN for words and missing values."""

    @property
    def named_ranges(self) -> Mapping[str, tuple[int, int]]:
        """The codes ``[lo, hi)`` below each name of a tree."""

    def axis(self, *, sets: bool) -> AxisData:
        """The domain as an axis for the kernels; ``sets``: whether some children of a node can be shown."""

    def value(self, code: int) -> BoxLabel:
        """How a single value is shown."""

    def box(self, lo: int, hi: int, node: int, mask: int) -> BoxLabel:
        """How a box of the kernels is shown: the least and the greatest code, and on a tree the lowest node around them
        or some of its children."""

    def boxes(self, boxes: Integers) -> BoxLabels:
        """How many boxes are shown, each as `box` shows it; their least codes, greatest codes, nodes and children."""

    def box_codes(self, lo: int, hi: int, node: int, mask: int) -> tuple[int, ...]:
        """The codes that the label of such a box covers."""

    def cut_label(self, lo: int, hi: int, node: int) -> BoxLabel:
        """How a part ``[lo, hi)`` of a cut is shown; the parts of a cut cover the domain without gaps."""

    def levels(self) -> list[Integers]:
        """The node of each code on each level, from single values up to one node for all of them."""

    def node_label(self, node: int) -> BoxLabel:
        """How a node on one of these levels is shown."""

    def range_label(self, lo: int, hi: int) -> tuple[str, Meaning]:
        """How the codes ``[lo, hi)`` of a sample are shown, so that no single value can be read from the ends."""

    def codes_between(self, low: float, high: float) -> Integers:
        """The codes of the values in ``[low, high)``."""

    def codes_of_values(self, values: Sequence[str]) -> list[int]:
        """The code of each value; -1 if it has none."""

    def span(self) -> Interval:
        """The interval of all values of a measured domain."""

    def intervals_of(self, names: Sequence[str]) -> list[Interval]:
        """The intervals that names mean on a measured domain; the whole domain if none is known."""

    def scale(self) -> NumberScale | None:
        """The numbers or days of a domain that is measured value by value."""

    def declared(self) -> list[str | float] | None:
        """What is public about the domain whatever the rows contain: its values, or the ends of its range."""

    def public_tree(self) -> dict[str, object] | None:
        """The taxonomy that was given, in the nested form of `Taxonomy.from_tree`."""

    def typed_values(self) -> pl.Series | None:
        """The values in the type in which they are published unchanged; None if that is text."""

    def with_missing(self) -> Self:
        """The same domain with the category ``(missing)``, if it lacks it."""

    def sparing(self, rows: Integers) -> Self:
        """The same domain, with labels that do not end at a value of a single row, given the rows of each value."""

    def observed(self, kept: NDArray[np.bool_]) -> Self:
        """The domain of the kept values alone; no other value influences it."""
