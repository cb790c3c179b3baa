"""Matrices of randomized response fitted to noisy counts, so that the choice of the matrices is private too."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.rr.optimize import OptimalResponse, Problem, refuse_hopeless, solve
from sfumato.method.rr.pairs import Watch
from sfumato.requirement.disclosure import JointShares
from sfumato.table.distortion import Floats

MOST_NOISY_CELLS = 4_000_000
"""The largest contingency table, sensitive attribute included, to which noise is added cell by cell."""

_MARGIN = 3.0


def fit_to_noisy_counts(
    problem: Problem, epsilon: float, draws: Draws, watch: Watch = lambda done: None
) -> OptimalResponse:
    """The optimum of Problem 1 on noisy counts, if it meets the limits on the true ones.

    The noise makes the choice of the matrices ``epsilon``-differentially private under the replacement of one row;
    it needs the number of rows, the domains and the limits to be public, hence no limits per person. Whether the true
    counts meet the limits is checked last; that is the only fact about the table not protected by noise.
    """
    if problem.own_limits:
        raise PolicyError(
            'rr: fit = "noisy" cannot use limits per person (person = ...): they are private, and the noise does not '
            'cover them; give tau alone, set the matrices by hand, or set fit = "counts"'
        )
    refuse_hopeless(problem)
    noisy = noisy_problem(problem, noisy_counts(problem, epsilon, draws), epsilon)
    try:
        ways = list(solve(noisy, watch).distortions.values())
    except Infeasible:
        raise Infeasible(
            f"disclosure: no matrices reach the limit on the noisy counts that they are fitted to; {_remedy(epsilon)}"
        ) from None
    over = problem.over(ways)
    if over:
        raise Infeasible(
            f"disclosure: the matrices fitted to noisy counts leave {over} of {len(problem.bounds)} combinations of "
            f"quasi-identifiers above their limit; each run draws new noise: {_remedy(epsilon)}"
        )
    return problem.result(ways)


def _remedy(epsilon: float) -> str:
    return (
        f"raise fit_epsilon (it is {epsilon:g}) for less noise, raise tau, use a table with more rows, set the "
        "matrices "
        'by hand (keep), or set fit = "counts", which reveals something about the table'
    )


def noisy_counts(problem: Problem, epsilon: float, draws: Draws) -> NDArray[np.int64]:
    """The rows in each cell of the full domain, with discrete Laplace noise in every cell, including empty ones.

    Replacing a row takes one from a cell and adds one to another, so the L1 sensitivity of the counts is 2, and noise
    of epsilon / 2 in each cell gives epsilon in total.
    """
    cells = math.prod(problem.sizes)
    if cells > MOST_NOISY_CELLS:
        raise PolicyError(
            f"quasi-identifiers and sensitive attribute have {cells:,} combinations, more than the "
            f"{MOST_NOISY_CELLS:,} whose counts get noise; coarsen or drop a quasi-identifier, set the matrices "
            'by hand (keep), or set fit = "counts"'
        )
    return problem.counts() + draws.two_sided_geometric(cells, epsilon / 2)


def noisy_problem(problem: Problem, counts: NDArray[np.int64], epsilon: float) -> Problem:
    """Problem 1 on the noisy counts, with a margin so that the true counts will most likely meet the limits.

    From the private table it uses only what is public: the number of rows, the domains, the limits. A cell may
    hold up to ``doubt`` rows more than it shows, which raises its risk by no more than that factor; cells that show
    fewer than that count as empty, since noise in many empty cells would look like people to hide among.
    """
    doubt = _MARGIN * 2 / epsilon
    held: Floats = np.where(counts > doubt, counts, 0).reshape(-1, problem.sizes[-1]).astype(np.float64)
    size = held.sum(axis=1)
    cell = np.flatnonzero(size)
    if not len(cell):
        raise Infeasible(
            f"rr: {problem.table.rows} rows are too few to fit matrices to noisy counts; {_remedy(epsilon)}"
        )
    here = held[cell]
    size, whole = size[cell], max(size.sum(), problem.table.rows)
    people = JointShares(problem.people.sizes, size / whole, cell, here / size[:, None])
    cautious = np.where((here > 0) & (problem.public_limits < 1), here / (here + doubt), 1.0)  # none exceeds 1 anyway
    limits = problem.public_limits * cautious
    return replace(problem, people=people, bounds=limits)
