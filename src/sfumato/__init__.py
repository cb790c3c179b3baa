"""sfumato publishes microdata: a release that researchers can use and adversaries cannot.

>>> import polars as pl, sfumato as sf
>>> frame = pl.DataFrame({"age": [21, 22, 35, 36], "ill": ["flu", "HIV", "flu", "cancer"]})
>>> table = sf.read(frame, quasi=["age"], sensitive="ill")
>>> release = sf.publish(table, require=sf.KAnonymity(k=2))
>>> sorted(release.tables["data"]["age"].unique())
['< 30', '>= 30']
>>> {finding.status for finding in release.check()}
{'holds'}
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sfumato.adversary.algorithm_aware import worlds
    from sfumato.adversary.corruption import Corruption
    from sfumato.adversary.inference import inferences
    from sfumato.adversary.knowledge import Count, Fact
    from sfumato.adversary.negative_rule import NegativeRule, Suspects, break_rule
    from sfumato.adversary.passed_over import passed_over
    from sfumato.adversary.qi_distribution import DistributionRisk, distribution_risk
    from sfumato.adversary.sampled_worlds import sampled_worlds
    from sfumato.adversary.worst import worst_attack, worst_predicate
    from sfumato.analyst.analyst import Analyst
    from sfumato.analyst.classification import (
        ClassificationErrors,
        classification_error,
        classification_errors,
        rank_attributes,
    )
    from sfumato.analyst.count_query import relative_errors
    from sfumato.analyst.reconstruction import reconstruct, sensitive_counts
    from sfumato.analyst.tree import DecisionTree
    from sfumato.analyst.workload import Workload
    from sfumato.errors import DataError, Infeasible, OutputError, PolicyError, ReleaseError, SfumatoError
    from sfumato.method.ahead import HilbSafe, MondrianPlus, MondrianPlusPlus
    from sfumato.method.anatomy import Anatomy
    from sfumato.method.art import Art
    from sfumato.method.hilb import Hilb, HilbPlus, HilbPlusPlus
    from sfumato.method.incognito import Incognito, Optimum, incognito
    from sfumato.method.injector import Injector
    from sfumato.method.mask import Mask, MaskPlus, MaskPlusPlus
    from sfumato.method.mondrian import Mondrian
    from sfumato.method.pg import PG
    from sfumato.method.pickup import stratified_pickup
    from sfumato.method.response import optimal_response
    from sfumato.method.rr import RandomizedResponse
    from sfumato.method.topdown import TopDown, TopDownDisclosure
    from sfumato.publisher.publish import partition, publish, publish_policy
    from sfumato.release.release import Release, load
    from sfumato.report.summary import Summary, summarize
    from sfumato.requirement.alpha_k import AlphaK
    from sfumato.requirement.corruption import Growth, RhoBreach
    from sfumato.requirement.disclosure import Disclosure
    from sfumato.requirement.k_anonymity import KAnonymity
    from sfumato.requirement.l_diversity import LDiversity
    from sfumato.requirement.linkage import linkage_bounds, linkage_probabilities, sample_linkage
    from sfumato.requirement.m_confidentiality import MConfidentiality
    from sfumato.requirement.r_robustness import RRobustness
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
    "Art": "method.art",
    "Injector": "method.injector",
    "RRobustness": "requirement.r_robustness",
    "DistributionRisk": "adversary.qi_distribution",
    "distribution_risk": "adversary.qi_distribution",
    "linkage_bounds": "requirement.linkage",
    "linkage_probabilities": "requirement.linkage",
    "sample_linkage": "requirement.linkage",
    "Mask": "method.mask",
    "MaskPlus": "method.mask",
    "MaskPlusPlus": "method.mask",
    "MConfidentiality": "requirement.m_confidentiality",
    "Count": "adversary.knowledge",
    "NegativeRule": "adversary.negative_rule",
    "Suspects": "adversary.negative_rule",
    "break_rule": "adversary.negative_rule",
    "Fact": "adversary.knowledge",
    "passed_over": "adversary.passed_over",
    "sampled_worlds": "adversary.sampled_worlds",
    "worlds": "adversary.algorithm_aware",
    "stratified_pickup": "method.pickup",
    "RandomizedResponse": "method.rr",
    "optimal_response": "method.response",
    "Disclosure": "requirement.disclosure",
    "Analyst": "analyst.analyst",
    "Incognito": "method.incognito",
    "Optimum": "method.incognito",
    "incognito": "method.incognito",
    "TopDown": "method.topdown",
    "TopDownDisclosure": "method.topdown",
    "inferences": "adversary.inference",
    "Summary": "report.summary",
    "summarize": "report.summary",
    "partition": "publisher.publish",
    "publish": "publisher.publish",
    "publish_policy": "publisher.publish",
    "Workload": "analyst.workload",
    "relative_errors": "analyst.count_query",
    "Release": "release.release",
    "load": "release.release",
    "ClassificationErrors": "analyst.classification",
    "classification_error": "analyst.classification",
    "classification_errors": "analyst.classification",
    "rank_attributes": "analyst.classification",
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
    "Analyst",
    "Anatomy",
    "Anonymity",
    "Art",
    "ClassificationErrors",
    "Confidentiality",
    "Corruption",
    "Count",
    "DataError",
    "DecisionTree",
    "Disclosure",
    "DistributionRisk",
    "Fact",
    "Growth",
    "Hilb",
    "HilbPlus",
    "HilbPlusPlus",
    "HilbSafe",
    "Incognito",
    "Infeasible",
    "Injector",
    "KAnonymity",
    "LDiversity",
    "MConfidentiality",
    "Mask",
    "MaskPlus",
    "MaskPlusPlus",
    "Microdata",
    "Mondrian",
    "MondrianPlus",
    "MondrianPlusPlus",
    "NegativeRule",
    "Optimum",
    "OutputError",
    "PolicyError",
    "RRobustness",
    "RandomizedResponse",
    "Release",
    "ReleaseError",
    "RhoBreach",
    "SfumatoError",
    "Summary",
    "Suspects",
    "TCloseness",
    "Taxonomy",
    "TopDown",
    "TopDownDisclosure",
    "Workload",
    "break_rule",
    "classification_error",
    "classification_errors",
    "distribution_risk",
    "from_arx_csv",
    "incognito",
    "inferences",
    "linkage_bounds",
    "linkage_probabilities",
    "load",
    "optimal_response",
    "partition",
    "passed_over",
    "pg_guarantee",
    "pg_retention",
    "publish",
    "publish_policy",
    "rank_attributes",
    "read",
    "reconstruct",
    "relative_errors",
    "sample_linkage",
    "sampled_worlds",
    "sensitive_counts",
    "stratified_pickup",
    "summarize",
    "to_arx_csv",
    "worlds",
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
