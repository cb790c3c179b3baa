"""The analyst who predicts a class: how much a classifier loses when it learns from a release.

Fung's thesis, sections 4.4 and 5.4. A classifier is trained on the training rows and its error measured on the
held-out ones: on the raw rows (baseline, BE), on both masked alike (masked, AE in chapter 4, SE in chapter 5), without
the masked attributes X, which is what the most masked table amounts to (upper, UE), and without the sensitive
attributes Y (removal, RE), the simple remedy that confidentiality templates make unnecessary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.analyst.c45 import C45
from sfumato.analyst.features import Examples, examples
from sfumato.analyst.held_out import as_released
from sfumato.analyst.learners import Learner, learner_of
from sfumato.engine.local import as_published
from sfumato.errors import DataError, PolicyError, nearest
from sfumato.release.release import Release
from sfumato.requirement.base import names, whole_number
from sfumato.table.encode import Kind, Role
from sfumato.table.microdata import Microdata
from sfumato.table.source import read_frame

MaskFunction = Callable[[pl.DataFrame], pl.DataFrame]
"""Rows in, their masked columns out."""

Masked = Release | MaskFunction | tuple[object, object]


@dataclass(frozen=True, kw_only=True)
class ClassificationErrors:
    """Shares of the held-out rows that a classifier gets wrong, and what it was trained on.

    ``removal`` is None if no attribute is sensitive. ``majority`` is the error of always predicting the class that
    is most frequent in the training rows.

    ``learner`` is what was trained, on ``trained`` rows, and tested on ``tested`` others. ``baseline``, ``masked`` and
    ``upper`` are the errors on raw rows, on masked rows, and without the masked attributes.
    """

    learner: str
    baseline: float
    masked: float
    upper: float
    removal: float | None
    majority: float
    trained: int
    tested: int

    @property
    def loss(self) -> float:
        """What masking costs: masked error minus baseline (AE - BE)."""
        return self.masked - self.baseline

    @property
    def benefit(self) -> float:
        """What masking saves compared with removing the masked attributes: upper error minus masked (UE - AE)."""
        return self.upper - self.masked

    def words(self) -> str:
        """The errors in one sentence."""
        removal = "" if self.removal is None else f", without the sensitive attributes {self.removal:.2%}"
        return (
            f"error of {self.learner} on {self.tested} rows: raw {self.baseline:.2%}, masked {self.masked:.2%}, "
            f"without the masked attributes {self.upper:.2%}{removal}; of the majority class {self.majority:.2%}"
        )


def classification_error(
    train: object, test: object, *, class_: str | None = None, learner: str | Learner = "c45"
) -> float:
    """The share of the rows of ``test`` that a classifier trained on ``train`` gets wrong.

    Args:
        train: the training rows.
        test: the rows to predict.
        class_: the class; by default the column of that role.
        learner: ``c45``, ``tree``, ``naive-bayes``, or an object that learns.

    >>> rows = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42], "ill": ["no", "no", "no", "yes", "yes", "yes"]})
    >>> classification_error(rows, pl.DataFrame({"age": [19, 50], "ill": ["no", "no"]}), class_="ill")
    0.5
    """
    here, there = _Rows.of(train), _Rows.of(test)
    coded = examples(here.frame, there.frame, _class(class_, here), categorical=here.categorical)
    return _error(learner_of(learner), coded)


def classification_errors(
    train: object,
    test: object,
    *,
    masked: Masked,
    class_: str | None = None,
    x: str | Sequence[str] | None = None,
    y: str | Sequence[str] | None = None,
    learner: str | Learner = "c45",
) -> ClassificationErrors:
    """Train on raw and on masked rows; test on held-out rows, raw and masked the same way.

    ``train`` and ``test`` are the raw rows: microdata, frames or files. ``masked`` is a release of the training rows,
    whose labels are then given to the held-out ones; or a function that masks rows; or both tables, already masked.
    ``x`` are the masked attributes (default: the quasi-identifiers, or what masking changes), ``y`` the sensitive
    ones. A release need not have all columns of the raw rows: the classifier learns only from what it shows.

    Args:
        train: the raw training rows.
        test: the raw rows held out.
        masked: how the rows are masked.
        class_: the class; by default the column of that role.
        x: the masked attributes.
        y: the sensitive attributes.
        learner: ``c45``, ``tree``, ``naive-bayes``, or an object that learns.
    """
    here, there = _Rows.of(train), _Rows.of(test)
    name = _class(class_, here, masked)
    mine, theirs = _masked(masked, here.frame, there.frame)
    columns = [c for c in here.frame.columns if c in mine.columns]
    if name not in columns:
        raise PolicyError(f"the masked rows have no class column {name!r}{nearest(name, mine.columns)}")
    raw = examples(here.frame[columns], there.frame, name, categorical=here.categorical)
    seen = examples(mine[columns], theirs, name, categorical=here.categorical)
    hidden = _attributes("x", x, columns, name) if x is not None else _changed(masked, here.frame, mine, columns)
    secret = _attributes("y", y, columns, name) if y is not None else _sensitive(masked, here, columns)
    by = learner_of(learner)
    return ClassificationErrors(
        learner=learner if isinstance(learner, str) else type(learner).__name__,
        baseline=_error(by, raw),
        masked=_error(by, seen),
        upper=_error(by, raw.without(hidden)),
        removal=_error(by, raw.without(secret)) if secret else None,
        majority=float((raw.held_out != np.bincount(raw.label).argmax()).mean()),
        trained=len(raw.label),
        tested=len(raw.held_out),
    )


def rank_attributes(table: object, *, class_: str | None = None, top: int | None = None) -> list[str]:
    """The attributes by their importance for the class, as the thesis ranks them (4.4.1): the one at the root of the
    C4.5 tree, then the root of the tree grown without it, and so on until a tree tests nothing.

    Args:
        table: microdata, a frame or a file.
        class_: the class; by default the column of that role.
        top: how many to rank; by default all that reveal anything.

    >>> rows = pl.DataFrame({"a": [*"xxxxyyyy"], "b": [*"uuuvuvvv"], "c": [*"nnnnyyyy"]})
    >>> rank_attributes(rows, class_="c")
    ['a', 'b']
    """
    if top is not None:
        whole_number("ranking", "top", top, 1)
    rows = _Rows.of(table)
    coded = examples(rows.frame, rows.frame, _class(class_, rows), categorical=rows.categorical)
    ranked: list[str] = []
    while coded.features and len(ranked) != top:
        first = C45().fit(coded).root
        if first is None:
            break
        ranked.append(first)
        coded = coded.without([first])
    return ranked


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table to learn from: a frame, which columns are categories, and roles if they are known."""

    frame: pl.DataFrame
    categorical: frozenset[str] = frozenset()
    class_: str | None = None
    sensitive: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: object) -> "_Rows":
        if isinstance(table, Release):
            raise PolicyError("train and test must be raw rows, not a release; give the release as `masked`")
        if not isinstance(table, Microdata):
            return cls(read_frame(table))
        frame = pl.DataFrame([*(as_published(c) for c in table.columns.values()), *table.plain.get_columns()])
        names = [c.name for c in table.quasi if c.kind in (Kind.CATEGORICAL, Kind.ORDINAL)]
        classes = table.with_role(Role.CLASS)
        return cls(
            frame,
            frozenset(names),
            classes[0].name if len(classes) == 1 else None,
            tuple(c.name for c in table.sensitive),
        )


def _class(given: str | None, rows: _Rows, masked: object = None) -> str:
    """The class column: named, or the one with that role."""
    if given is not None:
        if not isinstance(given, str):
            raise PolicyError(f"class_ = {given!r}; it must be the name of a column")
        return given
    if rows.class_ is not None:
        return rows.class_
    if isinstance(masked, Release):
        names = masked.with_role(Role.CLASS)
        if len(names) == 1:
            return names[0]
    raise PolicyError("no class column is given; name it in `class_`, or give one column the role 'class'")


def _masked(masked: Masked, train: pl.DataFrame, test: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables as the analyst sees them."""
    if isinstance(masked, Release):
        if "data" not in masked.tables:
            raise PolicyError(f"a {masked.scheme!r} release has no table of rows to learn from")
        return masked.tables["data"], as_released(masked, test)
    if isinstance(masked, tuple) and len(masked) == 2:
        mine, theirs = (_Rows.of(t).frame for t in masked)
        return mine, theirs
    if not callable(masked):
        raise PolicyError(
            f"masked is {_called(masked)}; it must be a release, a function that masks rows, or the masked training "
            "rows and the masked held-out rows, (train, test)"
        )
    return _with(train, masked(train)), _with(test, masked(test))


def _called(given: object) -> str:
    """A short description of what was given."""
    return f"{len(given)} tables" if isinstance(given, tuple) else f"of type {type(given).__name__}"


def _with(frame: pl.DataFrame, shown: pl.DataFrame) -> pl.DataFrame:
    """Rows with their masked columns in place of the raw ones."""
    if not isinstance(shown, pl.DataFrame):
        raise DataError(
            f"the mask returned an object of type {type(shown).__name__}; it must return a Polars DataFrame"
        )
    if shown.height != frame.height:
        raise DataError(f"masking {frame.height} rows returned {shown.height}; a mask must return one row per row")
    return frame.with_columns(shown.get_columns())


def _attributes(what: str, given: str | Sequence[str], columns: Sequence[str], class_: str) -> list[str]:
    """Attributes by name, none of which is the class."""
    for name in names(given):
        if name not in columns or name == class_:
            raise PolicyError(
                f"{what} names {name!r}, which is not an attribute{nearest(name, set(columns) - {class_})}"
            )
    return list(names(given))


def _changed(masked: Masked, raw: pl.DataFrame, shown: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The masked attributes: the quasi-identifiers of a release, or else the columns that differ."""
    if isinstance(masked, Release):
        return [n for n in masked.quasi() if n in columns]
    if raw.height != shown.height:
        raise PolicyError("the masked attributes are not given; name them in `x`")
    return [n for n in columns if not raw[n].cast(pl.String).equals(shown[n].cast(pl.String))]


def _sensitive(masked: Masked, rows: _Rows, columns: Sequence[str]) -> list[str]:
    """The attributes with the role sensitive, if roles are known."""
    names = list(rows.sensitive)
    if isinstance(masked, Release):
        names = masked.with_role(Role.SENSITIVE)
    return [n for n in names if n in columns]


def _error(learner: Learner, coded: Examples) -> float:
    predicted = learner.predict(coded)
    if len(predicted) != len(coded.held_out):
        raise DataError(
            f"the learner returned {len(predicted)} classes for {len(coded.held_out)} rows; it must return one per row"
        )
    return float((predicted != coded.held_out).mean())
