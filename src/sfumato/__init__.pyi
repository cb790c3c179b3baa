"""The public names of sfumato and where each lives: the one list, read by type checkers and by ``__init__.py``."""

from sfumato.adversary.algorithm_aware import worlds as worlds
from sfumato.adversary.corruption import Corruption as Corruption
from sfumato.adversary.hilb_attack import hilb_attack as hilb_attack
from sfumato.adversary.inference import inferences as inferences
from sfumato.adversary.knowledge import Count as Count
from sfumato.adversary.knowledge import Fact as Fact
from sfumato.adversary.negative_rule import NegativeRule as NegativeRule
from sfumato.adversary.negative_rule import Suspects as Suspects
from sfumato.adversary.negative_rule import negative_rule_attack as negative_rule_attack
from sfumato.adversary.qi_distribution import DistributionRisk as DistributionRisk
from sfumato.adversary.qi_distribution import distribution_risk as distribution_risk
from sfumato.adversary.sampled_worlds import sampled_worlds as sampled_worlds
from sfumato.adversary.worst_case import worst_attack as worst_attack
from sfumato.adversary.worst_case import worst_predicate as worst_predicate
from sfumato.analyst.analyst import Analyst as Analyst
from sfumato.analyst.classification import ClassificationErrors as ClassificationErrors
from sfumato.analyst.classification import classification_error as classification_error
from sfumato.analyst.classification import classification_errors as classification_errors
from sfumato.analyst.classification import rank_attributes as rank_attributes
from sfumato.analyst.count_query import relative_errors as relative_errors
from sfumato.analyst.noisy_tree import DecisionTree as DecisionTree
from sfumato.analyst.reconstruction import reconstruct as reconstruct
from sfumato.analyst.reconstruction import sensitive_counts as sensitive_counts
from sfumato.analyst.workload import Workload as Workload
from sfumato.errors import DataError as DataError
from sfumato.errors import Infeasible as Infeasible
from sfumato.errors import OutputError as OutputError
from sfumato.errors import PolicyError as PolicyError
from sfumato.errors import ReleaseError as ReleaseError
from sfumato.errors import SfumatoError as SfumatoError
from sfumato.method.anatomy import Anatomy as Anatomy
from sfumato.method.art.art import Art as Art
from sfumato.method.hilb import Hilb as Hilb
from sfumato.method.hilb import HilbPlus as HilbPlus
from sfumato.method.hilb import HilbPlusPlus as HilbPlusPlus
from sfumato.method.hilb_safe import HilbSafe as HilbSafe
from sfumato.method.incognito.incognito import Incognito as Incognito
from sfumato.method.incognito.incognito import Optimum as Optimum
from sfumato.method.incognito.incognito import incognito as incognito
from sfumato.method.injector import Injector as Injector
from sfumato.method.mask.mask import Mask as Mask
from sfumato.method.mask.mask import MaskPlus as MaskPlus
from sfumato.method.mask.mask import MaskPlusPlus as MaskPlusPlus
from sfumato.method.mondrian import Mondrian as Mondrian
from sfumato.method.mondrian_plus import MondrianPlus as MondrianPlus
from sfumato.method.mondrian_plus import MondrianPlusPlus as MondrianPlusPlus
from sfumato.method.pg import PG as PG
from sfumato.method.pickup import stratified_pickup as stratified_pickup
from sfumato.method.rr.optimize import optimal_response as optimal_response
from sfumato.method.rr.rr import RandomizedResponse as RandomizedResponse
from sfumato.method.topdown.topdown import TopDown as TopDown
from sfumato.method.topdown.topdown import TopDownDisclosure as TopDownDisclosure
from sfumato.publisher.publish import partition as partition
from sfumato.publisher.publish import publish as publish
from sfumato.publisher.publish import publish_policy as publish_policy
from sfumato.release.release import Release as Release
from sfumato.release.release import load as load
from sfumato.report.summary import Summary as Summary
from sfumato.report.summary import summarize as summarize
from sfumato.requirement.alpha_k import AlphaK as AlphaK
from sfumato.requirement.corruption import Growth as Growth
from sfumato.requirement.corruption import RhoBreach as RhoBreach
from sfumato.requirement.disclosure import Disclosure as Disclosure
from sfumato.requirement.k_anonymity import KAnonymity as KAnonymity
from sfumato.requirement.l_diversity import LDiversity as LDiversity
from sfumato.requirement.link_probability import linkage_bounds as linkage_bounds
from sfumato.requirement.link_probability import linkage_probabilities as linkage_probabilities
from sfumato.requirement.link_probability import sample_linkage as sample_linkage
from sfumato.requirement.m_confidentiality import MConfidentiality as MConfidentiality
from sfumato.requirement.pg_bounds import pg_guarantee as pg_guarantee
from sfumato.requirement.pg_bounds import pg_retention as pg_retention
from sfumato.requirement.r_robustness import RRobustness as RRobustness
from sfumato.requirement.t_closeness import TCloseness as TCloseness
from sfumato.requirement.templates import Anonymity as Anonymity
from sfumato.requirement.templates import Confidentiality as Confidentiality
from sfumato.table.hierarchy import from_arx_csv as from_arx_csv
from sfumato.table.hierarchy import to_arx_csv as to_arx_csv
from sfumato.table.microdata import Microdata as Microdata
from sfumato.table.microdata import read as read
from sfumato.table.taxonomy import Taxonomy as Taxonomy

# Former names.
passed_over = hilb_attack
break_rule = negative_rule_attack

__version__: str
