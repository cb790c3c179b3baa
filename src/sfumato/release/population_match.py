"""How many people of a population fit the labels of each group of a release: the count that k-map is judged by."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernel.group import group_rows
from sfumato.release.judgement import Judgement
from sfumato.release.label_meaning import LabelMeaning, masks_of, parse_label, read, shown_ends
from sfumato.release.labels import Meanings
from sfumato.requirement.base import Verdict
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Column, Domain, Kind
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    from sfumato.release.release import Release

Integers = NDArray[np.int64]
_NOBODY = -1


class People(NamedTuple):
    """The distinct vectors of quasi-identifiers of a population, one array of codes per attribute, with how many
    people have each."""

    columns: Sequence[Column]
    codes: Sequence[Integers]
    weights: Integers

    @classmethod
    def of(cls, population: Microdata) -> "People":
        """The population, compressed."""
        columns = population.quasi
        found = group_rows([c.codes for c in columns], [c.size for c in columns])
        return cls(columns, [c.codes[found.first].astype(np.int64) for c in columns], found.size)


class LabelColumn(NamedTuple):
    """One quasi-identifier of the groups: the labels that occur, what each means, and the label of each group.

    ``parts`` are the masks and intervals among the names that labels list.
    """

    labels: Sequence[str]
    nodes: Mapping[str, Any]
    of_group: Integers
    parts: Collection[str] = ()


def fitting(domain: Domain, labels: Sequence[str], nodes: Mapping[str, Any], parts: Collection[str]) -> list[Integers]:
    """The values of a population's domain that each label covers, as the manifest explains it.

    Of the names that labels list, ``parts`` are masks and intervals; all others are values, whatever they look like.
    """
    meanings = Meanings(domain)
    return [_covered(meanings, parse_label(label, nodes[label]), parts) for label in labels]


def _covered(meanings: Meanings, label: LabelMeaning, parts: Collection[str]) -> Integers:
    if label.interval is not None or not label.listed:
        return meanings.codes(label)
    found = [np.array([meanings.leaf[name]], np.int64) for name in label.names if name in meanings.leaf]
    inner = [LabelMeaning(shown_ends(name), (name,), False) for name in label.names if name in parts]
    found += [meanings.codes(part) for part in inner]
    return np.asarray(np.unique(np.concatenate([np.zeros(0, np.int64), *found])), np.int64)


def overlap(fits: Sequence[Integers]) -> bool:
    """Whether some value is covered by two labels."""
    every = np.concatenate([np.zeros(0, np.int64), *fits])
    return len(np.unique(every)) < len(every)


def owners(fits: Sequence[Integers], size: int) -> Integers:
    """The one label that covers each value; -1 if none does, or several do.

    >>> owners([np.array([0, 1]), np.array([1, 3])], 4).tolist()
    [0, -1, -1, 1]
    """
    every = np.concatenate([np.zeros(0, np.int64), *fits])
    owner = np.full(size, _NOBODY)
    owner[every] = np.repeat(np.arange(len(fits)), [len(codes) for codes in fits])
    owner[np.bincount(every, minlength=size) > 1] = _NOBODY
    return owner


def matched(people: People, keys: Sequence[Integers], of_person: Sequence[Integers], sizes: Sequence[int]) -> Integers:
    """How many people have the key of each group; ``of_person`` are the keys of the vectors, -1 if none fits.

    >>> people = People([], [], np.array([5, 2, 9]))
    >>> matched(people, [np.array([0, 1])], [np.array([1, 1, -1])], [2]).tolist()
    [0, 7]
    """
    inside = np.logical_and.reduce([k != _NOBODY for k in of_person])
    joined = [np.concatenate([mine, theirs[inside]]) for mine, theirs in zip(keys, of_person, strict=True)]
    found = group_rows(joined, sizes)
    groups = len(keys[0])
    counts = np.bincount(found.of_row[groups:], weights=people.weights[inside], minlength=len(found.first))
    return np.asarray(counts[found.of_row[:groups]], np.int64)


def matches(people: People, groups: Sequence[LabelColumn]) -> Integers:
    """How many people fit all labels of each group; people may fit several groups if labels overlap."""
    fits = [fitting(c.domain, g.labels, g.nodes, g.parts) for c, g in zip(people.columns, groups, strict=True)]
    keys = [g.of_group for g in groups]
    if not any(overlap(f) for f in fits):
        owned = [owners(f, c.size) for f, c in zip(fits, people.columns, strict=True)]
        of_person = [o[codes] for o, codes in zip(owned, people.codes, strict=True)]
        return matched(people, keys, of_person, [len(g.labels) for g in groups])
    covers = [np.zeros((len(f), c.size), np.bool_) for f, c in zip(fits, people.columns, strict=True)]
    for cover, of_label in zip(covers, fits, strict=True):
        for label, codes in enumerate(of_label):
            cover[label, codes] = True
    return np.array([_inside(people, covers, [k[g] for k in keys]) for g in range(len(keys[0]))], np.int64)


def _inside(people: People, covers: Sequence[NDArray[np.bool_]], labels: Sequence[Any]) -> int:
    """How many people the labels of one group cover."""
    fit = [c[label][codes] for c, label, codes in zip(covers, labels, people.codes, strict=True)]
    return int(people.weights[np.logical_and.reduce(fit)].sum())


def judge_population(
    requirement: KMap,
    columns: Sequence[pl.Series],
    nodes: Mapping[str, Mapping[str, Any]],
    kinds: Mapping[str, Kind],
    parts: Mapping[str, Collection[str]] | None = None,
) -> Judgement:
    """Judge the groups that columns of labels make by how many people of the population fit them."""
    people = People.of(requirement.people_of().coded({c.name: kinds[c.name] for c in columns}))
    counts = counted_groups(people, columns, nodes, parts or {})
    return Judgement(requirement, {"k": int(counts.min())}, len(counts), int((counts < requirement.k).sum()))


def counted_groups(
    people: People,
    columns: Sequence[pl.Series],
    nodes: Mapping[str, Mapping[str, Any]],
    parts: Mapping[str, Collection[str]],
    of_row: Integers | None = None,
) -> Integers:
    """How many people fit each group of rows with equal labels; ``of_row`` numbers the groups if they have numbers."""
    texts = [c.cast(pl.String) for c in columns]
    labels = [t.unique().sort() for t in texts]
    codes = [t.cast(pl.Enum(l)).to_physical().to_numpy() for t, l in zip(texts, labels, strict=True)]
    first = (
        group_rows(codes, [len(l) for l in labels]).first if of_row is None else np.unique(of_row, return_index=True)[1]
    )
    groups = [
        LabelColumn(l.to_list(), nodes[c.name], codes_of[first].astype(np.int64), parts.get(c.name, ()))
        for c, l, codes_of in zip(columns, labels, codes, strict=True)
    ]
    return matches(people, groups)


def judge_release(requirement: KMap, release: "Release") -> Judgement:
    """Judge a release by a population that the checker provides."""
    columns, nodes, parts = _labels_of(release)
    kinds = {name: release.description.label(name).kind for name in nodes}
    return judge_population(requirement, columns, nodes, kinds, parts)


def released_groups(release: "Release", population: Microdata) -> Integers:
    """How many people of a population fit each group of a release that labels people, as `Release.groups` numbers
    them."""
    return counted_people(release, People.of(population))


def counted_people(release: "Release", people: People) -> Integers:
    """How many of these people fit each group of a release that labels people, by their weights."""
    columns, nodes, parts = _labels_of(release)
    return counted_groups(people, columns, nodes, parts, release.groups())


def _labels_of(
    release: "Release",
) -> tuple[list[pl.Series], dict[str, Mapping[str, Any]], dict[str, Collection[str]]]:
    """The label columns of a release, what their labels mean, and the masks and intervals among these."""
    entries = {name: release.description.label(name) for name in release.quasi()}
    nodes: dict[str, Mapping[str, Any]] = {name: entry.nodes for name, entry in entries.items()}
    parts: dict[str, Collection[str]] = {n: masks_of(entry.domain, read(entry.nodes)) for n, entry in entries.items()}
    return [release.tables["data"][name] for name in entries], nodes, parts


def unseen(release: "Release") -> Verdict:
    """How a claim stands from the public part alone, which does not contain the population."""
    if not release.scheme_class.labels_people:
        return Verdict("broken", {}, f"it needs labels, but {release.scheme} shows none that hide people")
    return Verdict("stated", {}, "the population is not public")
