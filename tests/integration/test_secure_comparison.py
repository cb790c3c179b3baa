"""The secure maximum says who has more, and neither side's view tells anything else."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from integration.model_group import decode, encode, model
from integration.parties import converse, together
from integration.tls import QUICK
from sfumato.errors import PeerError, PolicyError
from sfumato.integration import curve
from sfumato.integration.channel import Channel
from sfumato.integration.curve import POINT, Ciphertext, Decryption, blinded
from sfumato.integration.memory import in_memory_pair
from sfumato.integration.secure_comparison import _terms, greater
from sfumato.integration.wire import Message

BITS = 63
TOP = 2**BITS - 1
Pair = tuple[int | None, int | None]


def plainly(x: int | None, y: int | None) -> int:
    """The winner by definition."""
    return 2 if (y or 0) > (x or 0) else 1


def compare(pairs: list[Pair], bits: int) -> list[int]:
    """The winners, one conversation for all pairs; both sides must agree."""
    left, right, _, _ = converse(
        lambda c: [greater(c, x, bits=bits) for x, _ in pairs], lambda c: [greater(c, y, bits=bits) for _, y in pairs]
    )
    assert left == right
    return left


def every(bits: int) -> list[Pair]:
    """All pairs of a width, with "exhausted" on either side."""
    values = [None, *range(1, 2**bits)]
    return list(itertools.product(values, values))


def extremes(bits: int) -> list[Pair]:
    """Ties, neighbours, ends of the range, one bit apart."""
    top = 2**bits - 1
    marks = [None, 1, 2, top, top - 1, top >> 1, (top >> 1) + 1]
    pairs: list[Pair] = list(itertools.product(marks, marks))
    for place in range(0, bits, 7):
        pairs += [(1 << place | 1, 1), (1, 1 << place | 1), (top ^ 1 << place, top), (top, top ^ 1 << place)]
    return [(x or None, y or None) for x, y in pairs]


def drawn(number: int, bits: int, seed: int) -> list[Pair]:
    """Random pairs: independent, equal, or a little apart."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    for _ in range(number):
        x = rng.randrange(1, 2**bits)
        y = rng.choice([rng.randrange(1, 2**bits), x, x + 1, x - 1, x ^ 1 << rng.randrange(bits)])
        pairs.append((x, min(max(y, 1), 2**bits - 1)))
    return pairs


@pytest.fixture
def in_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on the stand-in of the curve."""
    stand_in = model()
    monkeypatch.setattr(curve, "bindings", lambda: stand_in)


def test_all_pairs_of_three_bits_and_the_extremes_of_63_on_the_curve() -> None:
    for bits, pairs in ((3, every(3)), (BITS, extremes(BITS)[::3] + drawn(20, BITS, 5))):
        assert compare(pairs, bits) == [plainly(*pair) for pair in pairs]


@pytest.mark.usefixtures("in_model")
def test_ten_thousand_pairs_in_the_model() -> None:
    """The same code on the stand-in; `python -m benchmarks secure_maximum` compares 10,000 pairs on the curve."""
    work = [(1, every(1)), (6, every(6)), (16, drawn(5000, 16, 1)), (BITS, drawn(900, BITS, 2) + extremes(BITS))]
    assert sum(len(pairs) for _, pairs in work) > 10_000
    for bits, pairs in work:
        found = compare(pairs, bits)
        wrong = [pair for pair, winner in zip(pairs, found, strict=True) if winner != plainly(*pair)]
        assert not wrong


@pytest.mark.parametrize("value", [0, -1, 2**BITS, 2**200])
def test_values_that_do_not_fit_are_refused_before_anything_is_sent(value: int) -> None:
    a, b = in_memory_pair()
    with pytest.raises(PolicyError, match=r"at least 1 and less than 2\^63") as caught:
        greater(a, value, bits=BITS)
    assert str(value) not in str(caught.value).replace("at least 1", "").replace("2^63", "")
    assert a.sent == b.sent == 0


@pytest.mark.parametrize("bits", [0, -1, 257])
def test_widths_have_limits(bits: int) -> None:
    with pytest.raises(PolicyError, match=r"must be in 1\.\.256"):
        greater(in_memory_pair()[0], 1, bits=bits)


class TestViews:
    """What each side sees is the same for all values with the same winner."""

    def test_messages_have_the_same_size_for_all_values(self) -> None:
        sizes = set()
        for x, y in ((None, None), (1, 7), (7, 1), (7, 7), (None, 7), (7, None)):
            _, _, a, b = converse(lambda c, x=x: greater(c, x, bits=3), lambda c, y=y: greater(c, y, bits=3))
            sizes.add((a.sent, b.sent))
        assert len(sizes) == 1

    @pytest.mark.usefixtures("in_model")
    def test_both_sides_do_the_same_work_for_all_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = set()
        for x, y in ((None, None), (1, 31), (31, 1), (21, 10), (None, 31), (31, None)):
            counted, calls = _counting(model())
            monkeypatch.setattr(curve, "bindings", lambda counted=counted: counted)
            compare([(x, y)], 5)
            seen.add(tuple(sorted(calls.items())))
        assert len(seen) == 1

    def test_the_terms_have_at_most_one_zero_and_it_says_who_won(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All pairs of three digits, in the model: c_i as in the docstring, computed under encryption."""
        stand_in = model()
        monkeypatch.setattr(curve, "bindings", lambda: stand_in)
        key = Decryption()
        for x, y in itertools.product(range(64), repeat=2):
            left, right = ([n >> place & 3 for place in (4, 2, 0)] for n in (x, y))
            terms = _terms([key.encrypt(int(digit >= mark)) for digit in left for mark in (1, 2, 3)], right)
            plain = [_plaintext(term, key) for term in terms]
            before = [sum(a != b for a, b in zip(left[:i], right[:i], strict=True)) for i in range(3)]
            assert plain == [int(a >= b) + n for a, b, n in zip(left, right, before, strict=True)]
            assert plain.count(0) == int(y > x)

    def test_a_blinded_term_tells_only_whether_it_was_zero(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All draws in a group of order 7: the answer is distributed in the same way for all terms that are not 0,
        whatever their number and whatever the randomness of the encryption, which the holder of the key knows."""
        order, secret = 7, 3
        stand_in = model(order)
        monkeypatch.setattr(curve, "bindings", lambda: stand_in)
        found: dict[bool, set[frozenset[tuple[tuple[int, int], int]]]] = {True: set(), False: set()}
        for number, randomness in itertools.product(range(order), repeat=2):
            term = Ciphertext(encode(randomness), encode((number + randomness * secret) % order))
            views: Counter[tuple[int, int]] = Counter()
            for fresh, factor in itertools.product(range(order), range(1, order)):
                draws = _scalars(fresh, factor)
                monkeypatch.setattr(curve, "random_scalar", lambda draws=draws: next(draws))
                views[_decoded(blinded(term, encode(secret)))] += 1
            found[number == 0].add(frozenset(views.items()))
        assert {zero: len(views) for zero, views in found.items()} == {True: 1, False: 1}
        assert found[True] != found[False]

    def test_without_the_fresh_encryption_the_key_holder_would_see_more(self) -> None:
        """Why ``blinded`` adds one: the ratio of hint and plaintext would survive the factor."""
        order = 7
        views = {
            (number, randomness): frozenset((f * randomness % order, f * number % order) for f in range(1, order))
            for number, randomness in itertools.product(range(1, order), repeat=2)
        }
        assert len(set(views.values())) > 1

    @pytest.mark.usefixtures("in_model")
    def test_the_place_of_the_zero_is_uniform(self) -> None:
        """Chi-square over the places at 7 degrees of freedom; it exceeds 42 with a probability below 1e-6."""
        rounds, bits, terms = 800, 16, 8
        keys: list[Decryption] = []
        a, b = in_memory_pair(record=True)
        remember = _remembering(keys)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sfumato.integration.secure_comparison.Decryption", remember)
            together(
                lambda: [greater(a, 5, bits=bits) for _ in range(rounds)],
                lambda: [greater(b, 900, bits=bits) for _ in range(rounds)],
            )
        assert a.transcript is not None
        answers = [entry.payload for entry in a.transcript if entry.kind == Message.COMPARE_BLINDED]
        places: Counter[int] = Counter()
        others: list[int] = []
        for key, answer in zip(keys, answers, strict=True):
            plain = [_plaintext(pair, key) for pair in _split(answer)]
            assert plain.count(0) == 1
            places[plain.index(0)] += 1
            others += [number for number in plain if number]
        due = rounds / terms
        assert sum((places[i] - due) ** 2 / due for i in range(terms)) < 42
        assert len(set(others)) == rounds * (terms - 1)  # no small numbers, no repetitions: the terms are blinded


TORSION = [
    "0100000000000000000000000000000000000000000000000000000000000000",  # the neutral element
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  # order 2
    "0000000000000000000000000000000000000000000000000000000000000000",  # order 4
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",  # order 8
]
OTHERS = [
    "0200000000000000000000000000000000000000000000000000000000000000",  # not on the curve
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  # y = p + 1, not in canonical form
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]


def bad_points() -> Iterator[bytes]:
    """All that is not in the group of prime order, or is its neutral element."""
    yield from (bytes.fromhex(text) for text in TORSION + OTHERS)
    for text in TORSION[1:]:  # of the right order but for a part of order 2, 4 or 8
        yield curve.plus(curve.times_generator(curve.random_scalar()), bytes.fromhex(text))


class TestLyingPeers:
    """Every point that is received is checked, and so is every answer."""

    @pytest.mark.parametrize("at", [0, 1, 2, 5, 6, 11, 12])
    def test_bad_points_among_the_digits(self, at: int) -> None:
        key = Decryption()
        good = [key.public, *(part for bit in (1, 0, 0, 1, 1, 1) for part in key.encrypt(bit))]
        for point in bad_points():
            message = b"".join([*good[:at], point, *good[at + 1 :]])
            a, b = in_memory_pair(limits=QUICK)
            a.send(Message.COMPARE_DIGITS, message)
            end, said = together(lambda b=b: greater(b, 3, bits=3), lambda a=a: a.receive(Message.COIN, at_most=1))
            assert "a point that is not in the group" in str(end)
            assert "does not accept" in str(said)
            assert isinstance(end, PeerError)

    @pytest.mark.parametrize("at", [0, 1, 2, 3])
    def test_bad_points_in_the_answer(self, at: int) -> None:
        for point in bad_points():
            good = [curve.times_generator(curve.random_scalar()) for _ in range(4)]
            end = self._answered(b"".join([*good[:at], point, *good[at + 1 :]]))
            assert "a point that is not in the group" in str(end)

    def _answered(self, answer: bytes) -> object:
        a, b = in_memory_pair(limits=QUICK)

        def lie(b: Channel = b) -> None:
            b.receive(Message.COMPARE_DIGITS, at_most=1000)
            b.send(Message.COMPARE_BLINDED, answer)
            b.receive(Message.COIN, at_most=1)

        end, _ = together(lambda: greater(a, 3, bits=3), lie)
        assert isinstance(end, PeerError)
        return end

    def test_an_answer_of_the_wrong_size(self) -> None:
        assert "has 64 bytes; it must have 128" in str(self._answered(bytes(64)))
        assert "has 192 bytes; at most 128 are allowed" in str(self._answered(bytes(192)))

    def test_two_zeros_contradict_themselves(self) -> None:
        a, b = in_memory_pair(limits=QUICK)

        def lie() -> None:
            public = b.receive(Message.COMPARE_DIGITS, at_most=1000)[:POINT]
            b.send(Message.COMPARE_BLINDED, b"".join(p for _ in range(2) for p in _fresh_zero(public)))
            b.receive(Message.COIN, at_most=1)

        end, _ = together(lambda: greater(a, 3, bits=3), lie)
        assert "contradicts itself" in str(end)

    def test_a_winner_that_does_not_take_part(self) -> None:
        a, b = in_memory_pair(limits=QUICK)

        def lie() -> None:
            key = Decryption()
            a.send(Message.COMPARE_DIGITS, key.public + b"".join(part for _ in range(3) for part in key.encrypt(0)))
            a.receive(Message.COMPARE_BLINDED, at_most=1000)
            a.send(Message.COMPARE_WINNER, b"\x00\x03")
            a.receive(Message.COIN, at_most=1)

        _, end = together(lie, lambda: greater(b, 1, bits=1))
        assert "says that party 3 won" in str(end)


def _plaintext(term: Ciphertext, key: Decryption) -> int:
    return (decode(term.masked) - int.from_bytes(key._secret, "little") * decode(term.hint)) % curve.ORDER


def _decoded(term: Ciphertext) -> tuple[int, int]:
    return decode(term.hint), decode(term.masked)


def _split(answer: bytes) -> list[Ciphertext]:
    points = curve.split_points(answer)
    return [Ciphertext(*pair) for pair in zip(points[::2], points[1::2], strict=True)]


def _scalars(*numbers: int) -> Iterator[bytes]:
    return (number.to_bytes(POINT, "little") for number in numbers)


def _fresh_zero(public: bytes) -> Ciphertext:
    r = curve.random_scalar()
    return Ciphertext(curve.times_generator(r), curve.times(r, public))


def _remembering(keys: list[Decryption]):  # type: ignore[no-untyped-def]
    def new() -> Decryption:
        keys.append(Decryption())
        return keys[-1]

    return new


def _counting(functions):  # type: ignore[no-untyped-def]
    calls: Counter[str] = Counter()

    def counted(name, function):  # type: ignore[no-untyped-def]
        def call(*arguments):  # type: ignore[no-untyped-def]
            calls[name] += 1
            return function(*arguments)

        return call

    return type(functions)(**{name: counted(name, f) for name, f in vars(functions).items()}), calls
