"""The policy's ``[[after]]`` and ``[[inconsistent]]``: what was published before, and what rules matches out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError, nearest
from sfumato.method.base import Method
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.release.rule import Inconsistent
from sfumato.requirement.join_template import MOST_RELEASES, THIS
from sfumato.table.encode import Attribute
from sfumato.table.regular_file import located

if TYPE_CHECKING:
    from sfumato.publisher.policy import Policy
    from sfumato.release.earlier import Earlier

_AFTER = ("release", "data", "name", "title", "attributes")

ReadAttributes = Callable[[dict[str, Any]], Iterable[Attribute]]


@dataclass(frozen=True, kw_only=True)
class After:
    """An earlier release as a policy names it: a release folder, or a plain file with its attributes."""

    name: str
    release: str | None = None
    data: str | None = None
    title: str = ""
    attributes: tuple[Attribute, ...] = ()

    def read(self, folder: Path | None, nulls: Sequence[str]) -> "Earlier":
        """Read it; a relative path is resolved from the folder of the policy."""
        from sfumato.release.earlier import as_earlier
        from sfumato.release.earlier_file import from_file

        if self.release is not None:
            return as_earlier(located(self.release, folder, PolicyError), self.name)
        return from_file(self.data or "", self.attributes, name=self.name, title=self.title, nulls=nulls, folder=folder)


def parse_after(entries: object, where: str, read_attributes: ReadAttributes) -> tuple[After, ...]:
    """The earlier releases of a policy, in their order; without a name they are T2, T3, …"""
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise PolicyError(f'after of {where} must be tables: write [[after]] and below it release = "2024/release"')
    found = tuple(_after(e, f"T{i}", where, read_attributes) for i, e in enumerate(entries, 2))
    _refuse_names([a.name for a in found])
    return found


def _after(entry: dict[str, Any], default: str, where: str, read_attributes: ReadAttributes) -> After:
    for key in entry:
        if key not in _AFTER:
            raise PolicyError(f"[[after]] of {where} has the unknown key {key!r}{nearest(key, _AFTER)}")
    texts = {key: entry[key] for key in ("release", "data", "name", "title") if key in entry}
    if wrong := [key for key, value in texts.items() if not isinstance(value, str) or (key != "title" and not value)]:
        raise PolicyError(f"{wrong[0]} under [[after]] of {where} must be a string")
    if ("release" in entry) == ("data" in entry):
        raise PolicyError(
            f"[[after]] of {where} must have either release (the folder of a sfumato release) or data (a file, with "
            "its columns under [after.attributes])"
        )
    declared = entry.get("attributes")
    if "data" in entry and (not isinstance(declared, dict) or not declared):
        raise PolicyError(
            f"the file {entry['data']!r} under [[after]] of {where} has no [after.attributes]; declare its columns "
            "there as under [attributes]"
        )
    if "release" in entry and (declared is not None or "title" in entry):
        raise PolicyError(
            f"[[after]] of {where} declares a title or attributes for a sfumato release, which states its own; "
            "remove them"
        )
    attributes = tuple(read_attributes(declared)) if isinstance(declared, dict) else ()
    return After(**({"name": default} | texts), attributes=attributes)


def _refuse_names(names: Sequence[str]) -> None:
    """Refuse names that templates could not distinguish, and more releases than can be joined."""
    for name in names:
        if name.upper() == THIS or "." in name or not name.strip():
            raise PolicyError(
                f"an earlier release is called {name!r}; a name must have no dot and must not be {THIS}, which is "
                "this table"
            )
    if len({n.upper() for n in names}) < len(names):
        raise PolicyError(f"two earlier releases are called {_twice(names)!r}; give each a name of its own")
    if len(names) >= MOST_RELEASES:
        most = MOST_RELEASES - 1
        raise PolicyError(f"there are {len(names)} earlier releases; at most {most} can be joined with this table")


def _twice(names: Sequence[str]) -> str:
    upper = [n.upper() for n in names]
    return next(n for n in names if upper.count(n.upper()) > 1)


def parse_rules(entries: object, where: str, releases: Sequence[str]) -> tuple[Inconsistent, ...]:
    """The rules of inconsistency; ``t1`` is this table, ``t2`` the release called T2, in capitals or not."""
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise PolicyError(f"inconsistent of {where} must be tables: write [[inconsistent]] and below it t1 and t2")
    known = {n.upper(): n for n in (THIS, *releases)}
    return tuple(Inconsistent(sides=_sides(e, known, where)) for e in entries)


def _sides(entry: dict[str, Any], known: Mapping[str, str], where: str) -> dict[str, Any]:
    for key in entry:
        if key.upper() not in known:
            raise PolicyError(
                f"[[inconsistent]] of {where} names {key!r}, which is not one of the releases here{nearest(key, known)}"
            )
    return {known[key.upper()]: side for key, side in entry.items()}


def _with_earlier(
    method: Method | None, after: Sequence["Earlier"], rules: Sequence[Inconsistent], *, joined_by_audit: bool
) -> Method | None:
    """The method, given the earlier releases; one that ignores them is refused, unless an audit joins the releases.

    If no method is named and there are earlier releases, it is the one that uses them.
    """
    if method is None:
        if not after and not rules:
            return None
        method = method_from_table({"name": "tdssa"})
    takes = "after" in {f.name for f in fields(method)}
    if takes and not after:
        raise PolicyError(
            f"{method.name} publishes after earlier releases, but none is named; add [[after]] to the policy, or "
            "--after RELEASE to the command"
        )
    if not after:
        if rules:
            raise PolicyError(
                "[[inconsistent]] is about earlier releases, but none is named; add [[after]], or remove it"
            )
        return method
    if not takes and joined_by_audit:
        return method
    if not takes:
        raise PolicyError(
            f'only tdssa publishes with regard to [[after]], but the method is {method.name}; set name = "tdssa" under '
            "[method], or leave the join to the audit: remove [[after]] and run `sfumato audit OUT --after RELEASE`, "
            'or add [[audit]] with adversary = "sequential"'
        )
    return replace(method, after=tuple(after), inconsistent=tuple(rules))  # type: ignore[call-arg]


def published_after(policy: "Policy", more: Sequence[str | Path] = ()) -> "Policy":
    """The policy with its earlier releases read, and further ones from the current folder, for the method to use."""
    from sfumato.release.earlier import as_earlier

    known = [after.read(policy.folder, policy.nulls) for after in policy.after]
    for source in more:
        taken = {e.name.upper() for e in known}
        free = next(name for i in count(2) if (name := f"T{i}") not in taken)
        known.append(as_earlier(source, free))
    _refuse_names([e.name for e in known])
    joined = any(adversary.name == "sequential" for adversary in policy.audits)
    method = _with_earlier(policy.named, known, policy.inconsistent, joined_by_audit=joined)
    given = [
        {"release": str(Path(source).absolute()), "name": e.name}
        for source, e in zip(more, known[len(policy.after) :], strict=True)
    ]
    told = {"after": [*policy.content.get("after", ()), *given]} if given else {}
    return replace(policy, named=method, content={**policy.content, **told})
