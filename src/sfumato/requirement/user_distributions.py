"""Distributions supplied by a user who knows the epidemiology: ``japanese, heart disease, 0.003``."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, PolicyError
from sfumato.requirement.distribution import DistributionEntry
from sfumato.table.checks import is_number
from sfumato.table.ordered_domain import number_of
from sfumato.table.regular_file import located, read_text
from sfumato.table.taxonomy import named

_MODEL = "r-robustness"
_LARGEST = 256 * 1024 * 1024
Raw = tuple[Any, ...]
"""A line as it is given: the signature, as values or as one mapping attribute -> value, then value and probability."""


def read_distributions(path: str | Path) -> tuple[Raw, ...]:
    """The lines of a csv file: values of a signature, a sensitive value, a probability.

    With a header the columns of the signature are named, and an empty cell means that the attribute is not part
    of it; without one each value must belong to one quasi-identifier only.
    """
    try:
        text = read_text(
            located(path, None, PolicyError), f"the distributions {path}", largest=_LARGEST, kind=PolicyError
        )
        lines = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), skipinitialspace=True)]
    except csv.Error as e:
        raise PolicyError(f"cannot read the distributions {path}: {e}; correct the csv file") from None
    lines = [line for line in lines if any(line)]
    header = lines.pop(0) if lines and number_of(lines[0][-1]) is None else None
    if not lines:
        told = f", only the header {', '.join(header)!r}" if header else ""
        raise DataError(
            f"{path} contains no distributions{told}; a line should look like 'japanese, heart disease, 0.003'"
        )
    if header and len(set(header)) < len(header):
        raise DataError(f"{path} has the header {', '.join(header)!r}; name each column once")
    return tuple(_line(line, header, str(path)) for line in lines)


def _line(line: Sequence[str], header: Sequence[str] | None, path: str) -> Raw:
    chance = number_of(line[-1])
    if len(line) < 3 or chance is None or (header is not None and len(line) != len(header)):
        raise DataError(
            f"{path} has the line {', '.join(line)!r}; a line must be a signature, a value and a probability"
        )
    if header is None:
        return (*line[:-1], chance)
    return ({n: v for n, v in zip(header[:-2], line[:-2], strict=True) if v}, line[-2], chance)


def checked(raw: object) -> tuple[Raw, ...]:
    """Given lines, if each has a signature, a value and a probability that is neither 0 nor 1."""
    if isinstance(raw, str | Path):
        return read_checked(raw)
    if not isinstance(raw, Sequence) or any(isinstance(e, str) or not isinstance(e, Sequence) for e in raw):
        raise PolicyError(f"{_MODEL}: distributions must be a file name or a list of [signature, value, probability]")
    return tuple(_checked(tuple(entry)) for entry in raw)


def read_checked(path: str | Path) -> tuple[Raw, ...]:
    """The checked lines of a file."""
    return tuple(_checked(entry) for entry in read_distributions(path))


def _checked(entry: Raw) -> Raw:
    if len(entry) < 3 or not isinstance(entry[-2], str):
        raise PolicyError(f"{_MODEL}: the distribution {list(entry)!r} must be a [signature, value, probability]")
    chance = entry[-1]
    if not is_number(chance) or not 0 <= chance <= 1:
        raise PolicyError(
            f"{_MODEL}: the probability of {list(entry[:-1])!r} is {chance!r}; it must be between 0 and 1"
        )
    if chance in (0, 1):
        raise PolicyError(
            f"{_MODEL}: the probability of {list(entry[:-1])!r} is {chance:g}; probabilities of 0 or 1 cannot be "
            "protected against: keep away from both, e.g. by 1/(2n) for a sample of n"
        )
    return (*entry[:-1], float(chance))


def resolved(
    entries: Sequence[Raw], quasi: Mapping[str, Sequence[str]], leaves: Sequence[str]
) -> tuple[DistributionEntry, ...]:
    """The same lines, each with the attributes of its signature named and its words spelled as in the table."""
    domains = {name: _spelling(words) for name, words in quasi.items()}
    values = _spelling(leaves)
    return tuple((_signature(e[:-2], domains), _spelled(e[-2], values, "a sensitive value"), e[-1]) for e in entries)


def _spelling(words: Sequence[str]) -> dict[str, str]:
    return {word.casefold(): word for word in words} | {word: word for word in words}


def _spelled(word: str, known: Mapping[str, str], what: str) -> str:
    found = known.get(word) or known.get(word.casefold())
    if found is None:
        raise PolicyError(
            f"{_MODEL}: a distribution is about {word!r}, which is not {what}: there are "
            f"{named(dict.fromkeys(known.values()))}; correct the word or remove the line"
        )
    return found


def _signature(words: Raw, domains: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    if len(words) == 1 and isinstance(words[0], Mapping):
        return {name: _in(name, str(word), domains) for name, word in words[0].items()}
    signature: dict[str, str] = {}
    for word in map(str, words):
        owners = [n for n, known in domains.items() if word in known or word.casefold() in known]
        if len(owners) != 1 or owners[0] in signature:
            told = "no quasi-identifier has that value; correct the word or remove the line"
            if owners:
                told = f"that is a value of {named(owners)}; name the attributes, each once"
            raise PolicyError(f"{_MODEL}: a distribution is about {word!r}, but {told}")
        signature[owners[0]] = _in(owners[0], word, domains)
    return signature


def _in(name: str, word: str, domains: Mapping[str, Mapping[str, str]]) -> str:
    if name not in domains:
        raise PolicyError(f"{_MODEL}: a distribution is about {name!r}; the quasi-identifiers are {named(domains)}")
    return _spelled(word, domains[name], f"a value of {name!r}")
