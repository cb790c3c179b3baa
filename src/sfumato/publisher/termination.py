"""How SIGTERM and SIGHUP end a process that may be writing a release."""

import signal
import sys
from contextlib import suppress


def exit_on_termination() -> None:
    """Let a signal that ends the process end it as an error does, so that no draft is left; nohup stays nohup."""

    def end(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with suppress(ValueError):  # not the main thread, which alone may set handlers
        for each in signals:
            if signal.getsignal(each) == signal.SIG_DFL:
                signal.signal(each, end)
