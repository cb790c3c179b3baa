"""Speed of perturbed generalization on a million rows: publishing, mining and attacking."""

from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks import tables
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.method.pg import make_boxes
from sfumato.release.scheme.sampling import one_of_each
from sfumato.requirement.base import as_fraction
from sfumato.table.distortion import Distortion

ROWS, K, P = 1_000_000, 6, 0.3
VALUES = [str(i) for i in range(50)]
QUASI = [*tables.QUASI, "occupation"]
CLASSES = {"short": VALUES[:20], "full": VALUES[20:21], "long": VALUES[21:]}
ATTACKS = 100_000


def table(rows: int = ROWS) -> sf.Microdata:
    """Blown-up Adult: eight quasi-identifiers, and the weekly hours in 50 steps of two as the sensitive attribute."""
    frame = datasets.adult_million(rows).with_columns(hours=pl.col("hours-per-week").clip(0, 99) // 2)
    trees = datasets.adult_taxonomies()
    return sf.read(
        frame,
        quasi=QUASI,
        sensitive="hours",
        taxonomies={name: trees[name] for name in QUASI if name in trees},
        domains={"hours": VALUES},
    )


def lines() -> Iterator[Line]:
    """The three targets of PG."""
    data = table()
    codes = pl.DataFrame({c.name: c.codes for c in data.quasi})
    sort = median_time(lambda: codes.sort(codes.columns))
    yield Line(
        f"pg: perturb, generalize, sample, k = {K}",
        data.rows,
        median_time(lambda: _drawn(data)),
        "Polars sort of the eight QIs",
        sort,
        4.0,
    )
    yield _tree(data)
    group = median_time(lambda: codes.group_by(codes.columns).len())
    yield Line(
        f"{ATTACKS:,} posteriors, 50 values", ATTACKS, median_time(_attack), "Polars group_by, 1M rows", group, 2.0
    )


def _drawn(data: sf.Microdata) -> np.ndarray:
    """All three phases, from coded columns to the rows drawn with their perturbed values."""
    counts, draws = LocalEngine(data).count(["hours"]), Draws()
    boxes = make_boxes(counts, K)
    drawn = one_of_each(Grouping.of_vectors(counts, boxes.of_row, len(boxes.size)), draws)
    return Distortion.retaining(as_fraction(P), 50).draw(counts["hours"].codes[drawn], draws.bytes)


def _tree(data: sf.Microdata) -> Line:
    """A tree on the release, against scikit-learn's on as many plain rows."""
    from sklearn.tree import DecisionTreeClassifier

    release = sf.publish(data, require=sf.KAnonymity(k=K), method=sf.PG(p=P))
    rows = np.random.default_rng(0).choice(data.rows, release.manifest["rows"], replace=False)
    features = np.stack([c.codes[rows] for c in data.quasi], axis=1)
    classes = np.digitize(data["hours"].codes[rows], [20, 21])
    peer = median_time(lambda: DecisionTreeClassifier().fit(features, classes))
    ours = median_time(lambda: sf.DecisionTree.from_release(release, CLASSES))
    return Line("pg: decision tree on the release", len(rows), ours, "scikit-learn's tree, plain sample", peer, 3.0)


def _attack() -> np.ndarray:
    """Equations 8 to 19 for attacks with a group, a prior and corrupted people of their own each."""
    rng = np.random.default_rng(1)
    size = rng.integers(K, 3 * K, ATTACKS)
    present = (rng.random(ATTACKS) * size).astype(np.int64)
    attacks = sf.Corruption(prior="skewed", skew=0.1).posterior(
        p=P,
        domain=50,
        observed=rng.integers(0, 50, ATTACKS),
        size=size,
        candidates=present + 2 * (size - 1 - present) + 3,
        corrupted=present + 3,
        present=present,
        matching=present // 4,
    )
    return attacks.beliefs


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
