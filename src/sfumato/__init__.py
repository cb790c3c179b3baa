"""sfumato publishes microdata: a release that researchers can use and adversaries cannot.

>>> import polars as pl, sfumato as sf
>>> frame = pl.DataFrame({"age": [21, 22, 35, 36], "ill": ["flu", "HIV", "flu", "cancer"]})
>>> table = sf.read(frame, quasi=["age"], sensitive="ill")
>>> release = sf.publish(table, require=sf.KAnonymity(k=2))
>>> sorted(release.tables["data"]["age"].unique())
['[21, 23)', '[35, 37)']
>>> [finding.status for finding in release.check()]
['holds', 'holds', 'holds', 'holds']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sfumato.adversary.corruption import Corruption
    from sfumato.adversary.worst import worst_attack, worst_predicate
    from sfumato.analyst.reconstruction import reconstruct, sensitive_counts
    from sfumato.analyst.tree import DecisionTree
    from sfumato.errors import DataError, Infeasible, OutputError, PolicyError, ReleaseError, SfumatoError
    from sfumato.method.ahead import HilbSafe, MondrianPlus, MondrianPlusPlus
    from sfumato.method.anatomy import Anatomy
    from sfumato.method.hilb import Hilb, HilbPlus, HilbPlusPlus
    from sfumato.method.mondrian import Mondrian
    from sfumato.method.pg import PG
    from sfumato.publisher.publish import partition, publish, publish_policy
    from sfumato.release.release import Release, load
    from sfumato.requirement.alpha_k import AlphaK
    from sfumato.requirement.corruption import Growth, RhoBreach
    from sfumato.requirement.k_anonymity import KAnonymity
    from sfumato.requirement.l_diversity import LDiversity
    from sfumato.requirement.retention import pg_guarantee, pg_retention
    from sfumato.requirement.t_closeness import TCloseness
    from sfumato.requirement.templates import Anonymity, Confidentiality
    from sfumato.table.hierarchy import from_arx_csv, to_arx_csv
    from sfumato.table.microdata import Microdata, read
    from sfumato.table.taxonomy import Taxonomy

_HOME = {
    "read": "table.microdata",
    "Microdata": "table.microdata",
    "Taxonomy": "table.taxonomy",
    "from_arx_csv": "table.hierarchy",
    "to_arx_csv": "table.hierarchy",
    "KAnonymity": "requirement.k_anonymity",
    "LDiversity": "requirement.l_diversity",
    "TCloseness": "requirement.t_closeness",
    "AlphaK": "requirement.alpha_k",
    "Anonymity": "requirement.templates",
    "Confidentiality": "requirement.templates",
    "RhoBreach": "requirement.corruption",
    "Growth": "requirement.corruption",
    "pg_guarantee": "requirement.retention",
    "pg_retention": "requirement.retention",
    "Mondrian": "method.mondrian",
    "MondrianPlus": "method.ahead",
    "MondrianPlusPlus": "method.ahead",
    "Hilb": "method.hilb",
    "HilbPlus": "method.hilb",
    "HilbPlusPlus": "method.hilb",
    "HilbSafe": "method.ahead",
    "Anatomy": "method.anatomy",
    "Corruption": "adversary.corruption",
    "worst_attack": "adversary.worst",
    "worst_predicate": "adversary.worst",
    "reconstruct": "analyst.reconstruction",
    "sensitive_counts": "analyst.reconstruction",
    "DecisionTree": "analyst.tree",
    "PG": "method.pg",
    "partition": "publisher.publish",
    "publish": "publisher.publish",
    "publish_policy": "publisher.publish",
    "Release": "release.release",
    "load": "release.release",
    "SfumatoError": "errors",
    "PolicyError": "errors",
    "DataError": "errors",
    "OutputError": "errors",
    "Infeasible": "errors",
    "ReleaseError": "errors",
}
"""Where each public name lives; imported when first used, so that the command line starts at once."""

__all__ = [
    "PG",
    "AlphaK",
    "Anatomy",
    "Anonymity",
    "Confidentiality",
    "Corruption",
    "DataError",
    "DecisionTree",
    "Growth",
    "Hilb",
    "HilbPlus",
    "HilbPlusPlus",
    "HilbSafe",
    "Infeasible",
    "KAnonymity",
    "LDiversity",
    "Microdata",
    "Mondrian",
    "MondrianPlus",
    "MondrianPlusPlus",
    "OutputError",
    "PolicyError",
    "Release",
    "ReleaseError",
    "RhoBreach",
    "SfumatoError",
    "TCloseness",
    "Taxonomy",
    "from_arx_csv",
    "load",
    "partition",
    "pg_guarantee",
    "pg_retention",
    "publish",
    "publish_policy",
    "read",
    "reconstruct",
    "sensitive_counts",
    "to_arx_csv",
    "worst_attack",
    "worst_predicate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(f"sfumato.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
