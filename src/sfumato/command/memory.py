"""How the memory of a command is managed: what arrays free is used again, instead of given back and asked for anew."""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
"""The parameters of glibc's mallopt (malloc.h)."""
_MEBIBYTE = 1 << 20


def reuse_freed_memory() -> None:
    """Let glibc keep freed memory, of all threads in one place, for the rest of this process.

    A job makes and drops many arrays as long as the table. By default glibc returns each of them to the system, and the
    next one starts with fresh pages, which cost a page fault each: a fifth of all faults of a job with a million rows.
    Arrays of more than 64 MiB are still returned, so that large jobs do not need more memory. Only for commands, which
    own their process; does nothing where the C library has no mallopt.
    """
    with suppress(OSError, AttributeError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(_MMAP_THRESHOLD, 64 * _MEBIBYTE)
        set_option(_TRIM_THRESHOLD, 2047 * _MEBIBYTE)
        set_option(_TOP_PAD, 16 * _MEBIBYTE)
        set_option(_ARENA_MAX, 1)
