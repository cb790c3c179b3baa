"""One tree of errors. Each states a fact, the limit it runs into and the remedy.

The command line turns an error into its ``exit_code``; nothing is printed instead of raised.
"""

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self


class SfumatoError(Exception):
    """Base class of all errors that sfumato raises."""

    exit_code = 1
    field: str | None = None
    """The part of the policy that is wrong, such as ``require.2.k`` or ``attributes.age.kind``; None if not known."""

    def about(self, field: str) -> Self:
        """The same error, located in this part of the policy; the location so far is inside it.

        >>> PolicyError("k is 0").about("k").about("require.1").field
        'require.1.k'
        """
        self.field = field if self.field is None else f"{field}.{self.field}"
        return self


class PolicyError(SfumatoError):
    """The policy, a parameter or a call is wrong: change what was asked for."""

    exit_code = 2


class DataError(SfumatoError):
    """The table or a taxonomy is wrong: change the data."""

    exit_code = 2


class OutputError(SfumatoError):
    """The output cannot be written to the requested place."""

    exit_code = 2


class PeerError(SfumatoError):
    """The other publisher, or the connection to it, failed: start again once the cause is gone."""

    exit_code = 2


class Infeasible(SfumatoError):  # noqa: N818 - the domain's word
    """The requirement cannot be met on this data."""

    exit_code = 3


class ReleaseError(SfumatoError):
    """A release does not meet the claims of its manifest, or cannot be read as a release."""

    exit_code = 4


DAMAGED = "the release is damaged: ask its publisher for an intact copy"
"""How a message about a release that cannot be read ends."""


class RefutedMethodWarning(UserWarning):
    """A release was made by a method with a false published promise; the message gives the counterexample."""


@contextmanager
def about(field: str) -> Iterator[None]:
    """Locate errors raised inside in this part of the policy."""
    try:
        yield
    except SfumatoError as error:
        raise error.about(field) from error.__cause__


def os_words(error: OSError) -> str:
    """What the operating system refused, and what helps."""
    return _OS_WORDS.get(error.errno, "") or error.strerror or str(error)


_OS_WORDS: dict[int | None, str] = {
    errno.ENOSPC: "no space left on the device; free some space, or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some space, or write elsewhere",
    errno.EACCES: "permission denied; ask the owner, or choose another path",
    errno.EROFS: "the file system is read-only; write elsewhere",
    errno.ENAMETOOLONG: "the name is too long; shorten it",
}


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, to end a message with.

    >>> nearest("sorce", ["source", "missing"])
    "; did you mean 'source'?"
    >>> nearest("xyz", ["source", "missing"])
    "; choose from 'missing', 'source'"
    """
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return "; choose from " + ", ".join(repr(w) for w in words)
