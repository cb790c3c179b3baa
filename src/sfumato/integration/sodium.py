"""libsodium, through PyNaCl: an extra that only the integration of two publishers needs."""

import functools
import types

from sfumato.errors import PolicyError


@functools.cache
def bindings() -> types.ModuleType:
    """The functions of libsodium."""
    try:
        import nacl.bindings
    except ImportError:
        raise PolicyError(
            'two publishers need the package pynacl; install it with `pip install "sfumato[two-party]"`'
        ) from None
    if not hasattr(nacl.bindings, "crypto_core_ed25519_from_uniform"):
        raise PolicyError(
            f"pynacl {nacl.__version__} is too old for two publishers; "
            'update it with `pip install --upgrade "sfumato[two-party]"`'
        )
    if not (nacl.bindings.has_crypto_core_ed25519 and nacl.bindings.has_crypto_scalarmult_ed25519):
        raise PolicyError(
            "this pynacl was built with a minimal libsodium that lacks the arithmetic of ed25519; install pynacl from "
            "its own wheel, or build it with a full libsodium"
        )
    return nacl.bindings
