"""What TLS failures mean, in words."""

import ssl
from typing import Final

_VERIFY: Final = {
    9: "its certificate is not valid yet; check the clocks of both machines",
    10: "its certificate has expired; make new certificates",
    18: "its certificate is self-signed; it must be signed by the authority",
    19: "its certificate is signed by another authority; both sides must use the same authority file",
    20: "its certificate is signed by another authority; both sides must use the same authority file",
    21: "its certificate is signed by another authority; both sides must use the same authority file",
}
_ALERTS: Final = {
    "CERTIFICATE_REQUIRED": "it received no certificate from this side",
    "UNKNOWN_CA": "this side's certificate is signed by an authority unknown to it; both sides must use the same "
    "authority file",
    "CERTIFICATE_EXPIRED": "this side's certificate has expired, or is not valid yet; make new certificates",
    "CERTIFICATE_UNKNOWN": "it does not accept this side's certificate",
    "BAD_CERTIFICATE": "it does not accept this side's certificate",
    "UNSUPPORTED_CERTIFICATE": "it does not accept the kind of this side's certificate",
    "DECRYPT_ERROR": "a signature is not valid; make new certificates",
}
_OLD_OR_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNSUPPORTED_PROTOCOL",
    "PROTOCOL_VERSION",
    "UNEXPECTED_MESSAGE",
    "RECORD_LAYER_FAILURE",
    "NO_SHARED_CIPHER",
)


def tls_words(error: ssl.SSLError) -> str:
    """Why a connection failed, and what helps."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFY.get(error.verify_code, f"its certificate is not accepted ({error.verify_message})")
    reason = error.reason or ""
    for alert, words in _ALERTS.items():
        if reason.endswith("ALERT_" + alert):
            return words
    if any(word in reason for word in _OLD_OR_NOT_TLS):
        return "the other end does not speak TLS 1.3 as sfumato does; check the address"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "it was closed"
    return f"TLS failed ({reason.lower().replace('_', ' ') or 'no reason given'})"
