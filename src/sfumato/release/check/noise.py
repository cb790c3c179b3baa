"""Whether the noise that a manifest states can be drawn and undone, and whether the tables look like such draws."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.release.check.finding import Finding
from sfumato.release.check.plausible import FALSE_ALARM, MOST_VALUES, Floats, PublishedColumn, implausible, tests_of
from sfumato.release.manifest import ValueAttribute
from sfumato.release.part_tables import sample_of
from sfumato.requirement.base import is_number
from sfumato.table.distortion import retention_matrix
from sfumato.table.encode import Role
from sfumato.table.published import domain_codes, value_codes

if TYPE_CHECKING:
    from sfumato.release.release import Release

_ENTRY = {"keep", "matrix"}


Noise = Callable[["Release"], tuple[dict[str, Floats], str]]
"""The matrix of each column that a test can use, and what is stated of the noise in words."""


def matrices_plausible(release: "Release") -> Finding:
    """Whether a randomized release can have been drawn by its matrices."""
    if release.description.matrices:
        return _plausible(release, _randomized)
    told = "every column shows the values of the private table; ε is infinite"
    return Finding("no value was randomized", "holds", told)


def sample_plausible(release: "Release") -> Finding:
    """Whether the sensitive values of a sample can have been perturbed as stated."""
    return _plausible(release, _sampled)


def _plausible(release: "Release", noise: Noise) -> Finding:
    """Broken if the noise is invalid or the tables contradict it; otherwise stated: outsiders cannot verify it."""
    claim = "values were randomized as stated"
    try:
        matrices, told = noise(release)
    except (SfumatoError, TypeError, ValueError, AttributeError) as e:
        return Finding(claim, "broken", str(e))
    columns = [_seen(release, name, matrices.get(name)) for name in release.description.attributes]
    if why := implausible(columns):
        return Finding(claim, "broken", f"they do not look randomized: {why}")
    tests = tests_of(columns)
    looks = f"{tests} tests find nothing against it (false alarms {FALSE_ALARM:g})" if tests else "no test applies"
    return Finding(claim, "stated", f"not verifiable from outside; {looks}; {told}")


def one_sensitive(scheme: str, sensitive: int) -> str | None:
    """Why this number of sensitive attributes cannot be perturbed, or None."""
    return None if sensitive == 1 else f"{scheme} needs one sensitive attribute, but {sensitive} are declared"


def _seen(release: "Release", name: str, matrix: Floats | None) -> PublishedColumn:
    column, entry = sample_of(release.tables)["data"][name], release.description.attributes[name]
    if matrix is None and not isinstance(entry, ValueAttribute):
        codes, size = value_codes(column)
        return PublishedColumn(name, codes.astype("int64"), size, None)
    domain = release.description.domain(name)
    return PublishedColumn(name, domain_codes(column, domain), len(domain), matrix)


def _randomized(release: "Release") -> tuple[dict[str, Floats], str]:
    ways, given = release.description.distortions(), release.description.matrices
    for name, entry in given.items():
        if strange := entry.keys() - _ENTRY:
            raise SfumatoError(f"the matrix of {name!r} has {sorted(strange)[0]!r}, which is not a known key")
    told = ", ".join(f"{n}: keep {ways[n].keep:.4g} of {ways[n].size}" for n in given)
    small = [n for n in given if ways[n].changes and ways[n].size <= MOST_VALUES]
    return {n: ways[n].matrix for n in small}, f"stochastic, invertible; {told or 'none changed'}"


def _sampled(release: "Release") -> tuple[dict[str, Floats], str]:
    p: Any = release.description.method.settings.get("p")
    if not is_number(p) or not 0 <= p <= 1:
        raise SfumatoError(f"the manifest states p = {p!r} as the retention probability; it must be in [0, 1]")
    (name,) = release.with_role(Role.SENSITIVE)
    size = len(release.description.domain(name))
    if p == 1 or size > MOST_VALUES:
        return {}, f"p = {p:g}"
    return {name: retention_matrix(p, size)}, f"p = {p:g}"
