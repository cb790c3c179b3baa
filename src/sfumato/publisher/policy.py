"""The policy: one TOML file that says what the data are, what is required and how to publish."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.adversary.population_risk import checked_size
from sfumato.engine.settings import EngineSettings
from sfumato.errors import PolicyError, SfumatoError, about, nearest
from sfumato.method.base import Method
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.publisher.after import After, parse_after, parse_rules
from sfumato.publisher.audit_section import parse_audit
from sfumato.publisher.context_section import ContextSection
from sfumato.publisher.engine_section import parse_engine
from sfumato.publisher.integrate_section import IntegrateSection
from sfumato.publisher.toml import document
from sfumato.release.files.spreadsheet import SPREADSHEET
from sfumato.release.rule import Inconsistent
from sfumato.requirement.base import Requirement
from sfumato.requirement.catalogue import from_table as requirement_from_table
from sfumato.requirement.k_map import KMap
from sfumato.table.address import masked, may_hold_secret
from sfumato.table.encode import Attribute, Role, kind_of
from sfumato.table.form import KEYS as FORM_KEYS
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import Missing
from sfumato.table.population import Population
from sfumato.table.regular_file import located, read_text
from sfumato.table.taxonomy import named

if TYPE_CHECKING:
    from sfumato.adversary.base import Adversary

ROLE_WORDS = {
    **{str(r): r for r in Role},
    "identifying": Role.IDENTIFIER,
    "direct": Role.IDENTIFIER,
    "quasi-identifying": Role.QUASI,
    "quasi-identifier": Role.QUASI,
    "quasi_identifying": Role.QUASI,
    "qid": Role.QUASI,
    "key": Role.QUASI,
    "keyvar": Role.QUASI,
    "keyvars": Role.QUASI,
    "sensitive-attribute": Role.SENSITIVE,
    "sensvar": Role.SENSITIVE,
    "confidential": Role.SENSITIVE,
    "target": Role.CLASS,
    "label": Role.CLASS,
    "non-sensitive": Role.INSENSITIVE,
}
"""Role words, including those of other tools, in lower case."""

DROP = "drop"
"""The role of a column that is left out."""
_TOP = (
    *("title", "data", "population", "attributes", "require", "method", "output"),
    *("after", "inconsistent", "integrate", "context", "audit", "engine"),
)
_DATA = ("source", "query", "missing", "others", "nulls", "weights", *FORM_KEYS)
_POPULATION = ("source", "query", "size")
_OUTPUT = ("spreadsheet", "csv")
_CSV = ("auto", "always")
_ATTRIBUTE = ("role", "kind", "taxonomy", "domain", "pad", "reason")
_MISSING = ("error", "category", "drop")
_OTHERS = ("error", "drop", "insensitive")
_LARGEST = 16 * 1024 * 1024
_DEEPEST = 200


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A whole job, checked as far as it can be without the data."""

    title: str
    source: str
    query: str | None
    missing: Missing
    others: str
    nulls: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    requirements: tuple[Requirement, ...]
    named: Method | None
    """The method that the policy names; None if it is chosen once the table is read (`sfumato.publisher.choose`)."""
    spreadsheet: str
    csv: str = "auto"
    """Whether a release in parts gets a csv file too: "auto" (not) or "always"."""
    integrate: IntegrateSection | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    folder: Path
    form: Form = PLAIN
    """How the source writes its rows."""
    population_size: int | None = None
    """How many people the table is a sample of, for the report; None if the policy does not say."""
    weights: str | None = None
    """The column that says how many people of the population each row stands for."""
    context: ContextSection | None = None
    """Who publishes, for whom and for what; for the certificate."""
    left_out: frozenset[str] = frozenset()
    """The columns with the role drop: neither published nor used, and not identifiers."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why attributes have their roles, where the policy says so."""
    population: Population | None = field(default=None, repr=False)
    """The table of the population that the people are drawn from, if the policy names one."""
    audits: tuple["Adversary", ...] = ()
    """The adversaries whose parameters the policy gives."""
    after: tuple[After, ...] = ()
    inconsistent: tuple[Inconsistent, ...] = ()
    called: str | None = None
    """What reports and the stored policy call the source, if that differs from where it is read."""
    content: Mapping[str, Any] = field(repr=False)
    """The parsed content of the file; this and ``source`` may contain a password."""

    @property
    def method(self) -> Method:
        """The method: the one named, or the one that was chosen."""
        if self.named is None:
            raise SfumatoError("the method of this job was not chosen yet; please report it")
        return self.named

    @property
    def source_name(self) -> str:
        """The source as it may be shown: what it is called, or where it is read from without a password."""
        return masked(self.source) if self.called is None else self.called

    def to_toml(self) -> str:
        """The policy as it may be stored: rebuilt from its content, without comments or passwords."""
        data = {**self.content["data"], "source": self.source_name}
        told = {**self.content, "data": data}
        if "source" in told.get("population", {}):
            told["population"] = {**told["population"], "source": masked(str(told["population"]["source"]))}
        return document(told)

    def covering(self, columns: Iterable[str]) -> tuple[Attribute, ...]:
        """The attributes of a table with these columns: those named, and the rest by the rule for others."""
        columns = list(columns)
        names = {a.name for a in self.attributes} | self.left_out | ({self.weights} if self.weights else set())
        for name in names:
            if name not in columns:
                raise PolicyError(
                    f"the policy names the column {name!r}, which the data do not have{nearest(name, columns)}"
                )
        rest = [c for c in columns if c not in names]
        if rest and self.others == "error":
            raise PolicyError(
                f"the data have {len(rest)} columns that the policy does not name: {named(rest)}; give each a role "
                'under [attributes], or set others = "drop" or "insensitive" under [data]'
            )
        others = rest if self.others == "insensitive" else ()
        return (*self.attributes, *self._kept_back(), *(Attribute(name=c, role=Role.INSENSITIVE) for c in others))

    def _kept_back(self) -> list[Attribute]:
        """The weights, if they have no role of their own: read like an identifier, and not published either."""
        apart = self.weights is not None and self.weights not in {a.name for a in self.attributes}
        return [Attribute(name=str(self.weights), role=Role.IDENTIFIER)] if apart else []


def read_policy(path: str | Path) -> Policy:
    """Read and check a policy file."""
    path = located(path, None, PolicyError)
    if may_hold_secret(str(path)) and not path.exists():
        raise PolicyError("expected a policy file, not a database address; `sfumato init` proposes one")
    where, remedy = f"the policy {path}", "`sfumato init DATA` proposes one"
    text = read_text(path, where, largest=_LARGEST, kind=PolicyError, remedy=remedy)
    return parse_policy(text, folder=path.parent, name=path.name)


def parse_policy(text: str, *, folder: Path, name: str = "the policy") -> Policy:
    """Check the text of a policy; file names in it are relative to ``folder``."""
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise PolicyError(f"{name} is nested too deeply; a policy has at most {_DEEPEST} levels") from None
    except ValueError as e:
        raise PolicyError(f"{name} is not TOML: {e}; correct it, or let `sfumato init DATA` propose a policy") from None
    _refuse_extremes(content, name)
    _known_keys(content, _TOP, name)
    with about("data"):
        data = _table(content, "data", name)
        _known_keys(data, _DATA, f"[data] of {name}")
        missing = _one_of(data.get("missing", "error"), _MISSING, "missing")
        others = _one_of(data.get("others", "error"), _OTHERS, "others")
        nulls = tuple(_texts(data.get("nulls", ()), "nulls"))
        form, source = Form.of(data), _source(data.get("source"))
    with about("require"):
        required = list(_requirements(content.get("require"), name, folder))
    with about("population"):
        population = _table(content, "population", name) if "population" in content else {}
        _check_population(population, f"[population] of {name}")
    with about("attributes"):
        attributes = tuple(_attributes(_table(content, "attributes", name)))
    like_data = Population(None, nulls=nulls, missing=missing, folder=folder, form=form.for_another())
    people = _population(population, like_data) if "source" in population else None
    after = parse_after(content.get("after"), name, _attributes)
    return Policy(
        title=_text(content.get("title", ""), "title"),
        source=source,
        query=_text(data["query"], "query under [data]") if "query" in data else None,
        missing=missing,
        others=others,
        nulls=nulls,
        form=form,
        weights=_text(data["weights"], "weights under [data]") if "weights" in data else None,
        attributes=attributes,
        requirements=tuple(_with_population(required, people, sized="size" in population)),
        named=_method(content, name),
        spreadsheet=_spreadsheet(_table(content, "output", name) if "output" in content else {}, name),
        csv=_csv(content.get("output", {})),
        integrate=_integrate(content, name, folder),
        engine=parse_engine(content, name, folder),
        folder=folder,
        population_size=population.get("size"),
        population=people,
        audits=parse_audit(content.get("audit"), name),
        left_out=_left_out(_table(content, "attributes", name)),
        context=_context(content, name),
        reasons=_reasons(_table(content, "attributes", name)),
        after=after,
        inconsistent=parse_rules(content.get("inconsistent"), name, [a.name for a in after]),
        content=content,
    )


def _refuse_extremes(content: object, name: str) -> None:
    """Refuse whole numbers beyond the 64 bits of TOML, and excessive nesting."""
    level = [content]
    for _ in range(_DEEPEST):
        level = [inner for table in level if isinstance(table, dict) for inner in table.values()] + [
            inner for row in level if isinstance(row, list) for inner in row
        ]
        if any(isinstance(value, int) and value.bit_length() > 63 for value in level):
            raise PolicyError(f"{name} has a whole number beyond 64 bits; no setting is that large")
    if level:
        raise PolicyError(f"{name} is nested too deeply; a policy has at most {_DEEPEST} levels")


def _known_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise PolicyError(f"{where} has the unknown key {key!r}{nearest(key, known)}").about(key)


def _table(content: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    table = content.get(key)
    if not isinstance(table, dict) or not table:
        raise PolicyError(f"{name} has no [{key}] table; see `sfumato init` for a policy that works")
    return table


def _source(value: object) -> str:
    """The source; if it is invalid, it is not shown, since it may contain a password."""
    if value is None:
        raise PolicyError("the policy has no source under [data]; give a file name or a database URL").about("source")
    if not isinstance(value, str):
        raise PolicyError("source under [data] must be a string: a file name or a database URL").about("source")
    return value


def _check_population(table: Mapping[str, Any], where: str) -> None:
    """Refuse a population that is neither a table nor a number of people, or both."""
    _known_keys(table, _POPULATION, where)
    if "size" in table:
        checked_size(table["size"], f"size under {where}")
        if len(table) > 1:
            raise PolicyError(
                f"{where} has both a size and a source; the source already gives the number of people, so give one of "
                "them"
            )
    elif table and not isinstance(table.get("source"), str):  # not shown, since it may contain a password
        raise PolicyError(f"{where} must have a source (a file name or a database URL) or a size (how many people)")


def _population(table: Mapping[str, Any], like_data: Population) -> Population:
    """The table of a population, read with the same rules as the data."""
    query = _text(table["query"], "query under [population]") if "query" in table else None
    return replace(like_data, source=table["source"], query=query)


def _with_population(
    requirements: Sequence[Requirement], people: Population | None, *, sized: bool
) -> list[Requirement]:
    """The requirements; those that need a population get it."""
    maps = [r for r in requirements if isinstance(r, KMap)]
    if maps and sized:
        raise PolicyError(
            "k-map counts the people of the population who fit each group, so their number is not enough; give a table "
            'of their quasi-identifiers, [population] source = "..." in place of size'
        )
    for r in maps:
        replace(r, population=people).people_of()
    return [replace(r, population=people) if isinstance(r, KMap) else r for r in requirements]


@about("method")
def _method(content: Mapping[str, Any], name: str) -> Method | None:
    if "method" not in content and "integrate" not in content:
        return None
    method = method_from_table(_table(content, "method", name) if "method" in content else {"name": "tds2p"})
    if "integrate" in content and method.name != "tds2p":
        raise PolicyError(
            f"{name} has [integrate], which needs the method tds2p, but its method is {method.name}; remove one of "
            "the two"
        )
    return method


@about("integrate")
def _integrate(content: Mapping[str, Any], name: str, folder: Path) -> IntegrateSection | None:
    if "integrate" not in content:
        return None
    return IntegrateSection.parse(content["integrate"], name=name, folder=folder)


@about("context")
def _context(content: Mapping[str, Any], name: str) -> ContextSection | None:
    if "context" not in content:
        return None
    found = ContextSection.parse(content["context"], name=name)
    if found.disclose and "integrate" in content:
        raise PolicyError(
            f"disclose in [context] of {name}: a release of two publishers is the same on both sides, and neither side "
            "can put its own context into it; remove disclose"
        )
    return found


def _reasons(table: Mapping[str, Any]) -> dict[str, str]:
    """Why attributes have their roles."""
    told = {name: entry["reason"] for name, entry in table.items() if isinstance(entry, dict) and "reason" in entry}
    return {name: _text(reason, f"the reason of the attribute {name!r}") for name, reason in told.items()}


@about("output")
def _spreadsheet(output: Mapping[str, Any], name: str) -> str:
    _known_keys(output, _OUTPUT, f"[output] of {name}")
    return str(_one_of(output.get("spreadsheet", "plain"), SPREADSHEET, "spreadsheet"))


@about("output")
def _csv(output: Mapping[str, Any]) -> str:
    return str(_one_of(output.get("csv", "auto"), _CSV, "csv"))


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise PolicyError(f"{what} is {value!r}; it must be a string")
    return value


def _texts(value: object, what: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple) or any(isinstance(v, dict | list) for v in value):
        raise PolicyError(f"{what} is {value!r}; it must be a list of strings")
    return [str(v).lower() if isinstance(v, bool) else str(v) for v in value]


def _one_of(value: object, known: tuple[str, ...], what: str) -> Any:
    if value not in known:
        raise PolicyError(f"{what} = {value!r}{nearest(str(value), known)}").about(what)
    return value


def _attributes(table: dict[str, Any]) -> Iterable[Attribute]:
    for name, entry in table.items():
        with about(name):
            found = _attribute(name, {"role": entry} if isinstance(entry, str) else entry)
        if found is not None:
            yield found


def _attribute(name: str, entry: object) -> Attribute | None:
    """What a policy says about a column; None if it is left out."""
    where = f"the attribute {name!r}"
    if not isinstance(entry, dict):
        raise PolicyError(f'{where} is {entry!r}; write e.g. {name} = {{ role = "quasi" }}')
    _known_keys(entry, _ATTRIBUTE, where)
    if _is_dropped(entry):
        return None
    with about("role"):
        role = _role(entry.get("role"), where)
    with about("kind"):
        kind = kind_of(name, entry["kind"]) if "kind" in entry else None
    with about("taxonomy"):
        taxonomy = _taxonomy(entry.get("taxonomy"), where)
    with about("domain"):
        domain = tuple(_texts(entry["domain"], f"the domain of {where}")) if "domain" in entry else None
    return Attribute(name=name, role=role, kind=kind, taxonomy=taxonomy, domain=domain, pad=entry.get("pad"))


def _is_dropped(entry: object) -> bool:
    """Whether a column is left out; anything else said about it has no effect."""
    if isinstance(entry, dict) and entry.get("role") == DROP and len(entry) > 1 + ("reason" in entry):
        raise PolicyError("a column with the role drop is left out, so it has no kind, taxonomy or domain; remove them")
    return entry == DROP or (isinstance(entry, dict) and entry.get("role") == DROP)


def _left_out(table: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, entry in table.items() if _is_dropped(entry))


def _role(word: object, where: str) -> Role:
    if word is None:
        raise PolicyError(f"{where} has no role; it must be one of {', '.join(Role)} or {DROP}")
    role = ROLE_WORDS.get(str(word).lower())
    if role is None:
        raise PolicyError(f"{where} has the unknown role {word!r}{nearest(str(word), (*ROLE_WORDS, DROP))}")
    return role


def _taxonomy(value: object, where: str) -> Any:
    if value is not None and not isinstance(value, str | dict):
        raise PolicyError(f"the taxonomy of {where} is {value!r}; it must be a file name or a tree")
    return value


def _requirements(entries: object, name: str, folder: Path) -> Iterable[Requirement]:
    if not isinstance(entries, list) or not entries:
        raise PolicyError(f'{name} has no requirements; add a [[require]] table, e.g. model = "k-anonymity" and k = 5')
    for number, entry in enumerate(entries, 1):
        file = entry.get("distributions") if isinstance(entry, dict) else None
        told = entry | {"distributions": str(folder / file)} if isinstance(file, str) else entry
        with about(str(number)):
            found = requirement_from_table(told)
        yield found
