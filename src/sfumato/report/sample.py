"""What the report says about a sampled release: labels weighted by group sizes, and its limits."""

from collections.abc import Mapping

import polars as pl

from sfumato.analyst.reconstruction import sensitive_counts
from sfumato.release.release import Release
from sfumato.release.scheme.sampling import SIZE


def weighted(release: Release, name: str, labels: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """The people behind each label of a sample; for the sensitive attribute, as an analyst reconstructs them."""
    if labels is None or not release.sampled:
        return labels
    if name in release.quasi():
        data = release.tables["data"]
        sums = pl.DataFrame({"label": data[name].cast(pl.String), "size": data[SIZE]}).group_by("label").sum()
        return dict(zip(sums.to_series(0).to_list(), sums.to_series(1).to_list(), strict=True))
    if not release.description.method.settings.get("p"):
        return labels
    found = sensitive_counts(release)
    return {value: max(count, 0.0) for value, count in zip(found.values, found.counts.tolist(), strict=True)}


def sample_limits(release: Release) -> list[str]:
    """What to know about a release by perturbed generalization."""
    method = release.description.method.settings
    epsilon = method.get("epsilon")
    told = f"ε = {epsilon:.4g}" if epsilon is not None else "no finite ε"
    return [
        f"Each sensitive value was kept with probability p = {method['p']:g} and otherwise drawn uniformly from the "
        f"whole domain; groups have at least k = {method['k']} people, and one row of each is shown.",
        f"By itself, without groups and sampling, the perturbation of a value is locally differentially private with "
        f"{told} (ln(1 + p·n/(1 − p)) for n values).",
        "Any single sensitive value in the release may be noise. Counts must be reconstructed from p, the domain and "
        "the sizes G, which the manifest and the table state.",
        "It does not hide who is in the table, and it holds for this release alone: a second release about the same "
        "people exposes each of them again.",
    ]
