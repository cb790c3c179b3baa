"""The protocols against those of others: TNO's secure comparison and OpenMined's private set intersection.

`make cross-check` installs them; without them these tests are skipped. Their keys are short here, since only what
they compute is of interest.
"""

import random
from typing import Any

import pytest

from integration.parties import converse
from integration.test_secure_comparison import BITS, compare, drawn, extremes
from sfumato.integration.alignment import by_intersection


class TNO:
    """The protocol of tno.mpc.protocols.secure_comparison, step by step, both parties in this process."""

    def __init__(self) -> None:
        self.steps = pytest.importorskip("tno.mpc.protocols.secure_comparison")
        dgk = pytest.importorskip("tno.mpc.encryption_schemes.dgk")
        paillier = pytest.importorskip("tno.mpc.encryption_schemes.paillier")
        utils = pytest.importorskip("tno.mpc.encryption_schemes.utils")
        self.paillier = paillier.Paillier.from_security_parameter(key_length=512)
        self.dgk = dgk.DGK.from_security_parameter(
            v_bits=40, n_bits=512, u=utils.next_prime(1 << (BITS + 2)), full_decryption=False
        )

    def at_most(self, x: int, y: int) -> bool:
        """Whether x <= y."""
        a, b, p, d = self.steps.Initiator, self.steps.KeyHolder, self.paillier, self.dgk
        masked, r = a.step_1(p.unsafe_encrypt(x), p.unsafe_encrypt(y), BITS, p)
        z, beta = b.step_2(masked, BITS, p)
        alpha, betas = a.step_3(r, BITS), b.step_4b(beta, BITS, d)
        carry = a.step_4c(b.step_4a(z, d, p, BITS), r, d, p)
        w, alpha_tilde = a.step_4e(r, alpha, a.step_4d(alpha, betas), carry, p)
        s, delta = a.step_4g()
        terms = a.step_4h(s, alpha, alpha_tilde, carry, betas, a.step_4f(w), delta, d)
        found = b.step_5(z, BITS, b.step_4j(a.step_4i(terms, d), d), p)
        return bool(p.decrypt(a.step_7(found[0], found[1], r, BITS, a.step_6(delta, found[2]), p)))


@pytest.mark.filterwarnings("ignore")
def test_the_secure_maximum_agrees_with_tno() -> None:
    theirs: Any = TNO()
    pairs = extremes(BITS)[::2] + drawn(60, BITS, 9)
    found = compare(pairs, BITS)
    for (x, y), winner in zip(pairs, found, strict=True):
        assert winner == (1 if theirs.at_most(y or 0, x or 0) else 2), (x, y)


@pytest.mark.filterwarnings("ignore")
def test_the_intersection_agrees_with_openmined() -> None:
    psi = pytest.importorskip("private_set_intersection.python")
    rng = random.Random(4)
    for left_size, right_size in ((1, 1), (40, 70), (200, 30)):
        left, right = (rng.sample([f"{i:09}" for i in range(300)], size) for size in (left_size, right_size))
        client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
        setup = server.CreateSetupMessage(1e-12, len(left), right, psi.DataStructure.RAW)
        common = client.GetIntersection(setup, server.ProcessRequest(client.CreateRequest(left)))
        mine, _, _, _ = converse(
            lambda c, left=left: by_intersection(c, left), lambda c, right=right: by_intersection(c, right)
        )
        assert sorted(mine) == sorted(common)
