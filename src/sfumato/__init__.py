"""sfumato publishes microdata: a release that researchers can use and adversaries cannot."""

__version__ = "0.1.0"
