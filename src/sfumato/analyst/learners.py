"""The learners: our own C4.5, and scikit-learn's decision tree and naive Bayes (the extra ``sfumato[analysis]``)."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.c45 import C45
from sfumato.analyst.features import Examples, Feature
from sfumato.errors import PolicyError, nearest
from sfumato.requirement.base import whole_number
from sfumato.table.taxonomy import named


class Learner(Protocol):
    """Learns from the training rows and predicts the class of the held-out ones."""

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        """The predicted class of each held-out row, as an index into ``examples.classes``."""


@dataclass(frozen=True, kw_only=True)
class EntropyTree:
    """scikit-learn's binary tree by information gain; one-hot categories, at least ``leaf`` rows per leaf."""

    leaf: int = 25

    def __post_init__(self) -> None:
        whole_number("tree", "leaf", self.leaf, 1)

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        tree = _sklearn("tree").DecisionTreeClassifier(criterion="entropy", min_samples_leaf=self.leaf, random_state=0)
        here, there = (
            np.concatenate([np.zeros((len(rows), 1)), *(_one_by_one(f, held_out) for f in examples.features)], axis=1)
            for rows, held_out in ((examples.label, False), (examples.held_out, True))
        )
        return np.asarray(tree.fit(here, examples.label).predict(there), np.int64)


@dataclass(frozen=True, kw_only=True)
class NaiveBayes:
    """scikit-learn's naive Bayes: categories and intervals by their frequencies, plain numbers by normal densities."""

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        plain = [f for f in examples.features if f.numbers is not None and not f.labelled]
        others = [f for f in examples.features if f.numbers is None or f.labelled]
        prior = np.log(np.bincount(examples.label) / len(examples.label))
        score = np.tile(prior, (len(examples.held_out), 1))
        bayes = _sklearn("naive_bayes")
        if plain:
            here, there = (np.stack([_finite(f, held_out) for f in plain], axis=1) for held_out in (False, True))
            score += bayes.GaussianNB().fit(here, examples.label).predict_joint_log_proba(there) - prior
        if others:
            model = bayes.CategoricalNB(min_categories=[f.size + 1 for f in others])
            model.fit(np.stack([f.codes for f in others], axis=1), examples.label)
            unseen = np.stack([np.where(f.held_out < 0, f.size, f.held_out) for f in others], axis=1)
            score += model.predict_joint_log_proba(unseen) - prior
        return np.asarray(score.argmax(axis=1), np.int64)


def _sklearn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise PolicyError(
            "this learner needs scikit-learn, which is not installed; install it with the extra sfumato[analysis], "
            "or use the learner 'c45', which needs no other package"
        ) from None


def _finite(feature: Feature, held_out: bool) -> NDArray[np.float64]:
    """The numbers of an ordered feature; a missing one becomes the smallest minus one."""
    known = np.asarray(feature.numbers)
    numbers = np.asarray(feature.held_out_numbers) if held_out else known[feature.codes]
    least = known[np.isfinite(known)]
    return np.where(np.isfinite(numbers), numbers, least[0] - 1 if len(least) else 0.0)


def _one_by_one(feature: Feature, held_out: bool) -> NDArray[np.float64]:
    """A feature as numeric columns: itself, or one indicator per category."""
    if feature.numbers is not None:
        return _finite(feature, held_out)[:, None]
    codes = feature.held_out if held_out else feature.codes
    return np.asarray(codes[:, None] == np.arange(feature.size), np.float64)


LEARNERS: dict[str, type[C45] | type[EntropyTree] | type[NaiveBayes]] = {
    "c45": C45,
    "tree": EntropyTree,
    "naive-bayes": NaiveBayes,
}


def learner_of(given: str | Learner) -> Learner:
    """A learner by its name, or the given one."""
    if not isinstance(given, str):
        if not callable(getattr(given, "predict", None)):
            raise PolicyError(f"{given!r} is not a learner: it has no predict(examples); use one of {named(LEARNERS)}")
        return given
    if given not in LEARNERS:
        raise PolicyError(f"there is no learner {given!r}{nearest(given, LEARNERS)}")
    return LEARNERS[given]()
