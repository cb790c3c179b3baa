"""The process of a run: publishes by a policy that it gets on its standard input, and reports what happens.

Lines of JSON both ways. In: one line with the order. Out: ``stage`` with ``done``, ``compiling``, and at the end
``published`` and then ``utility``, or ``error``. Nothing private is in the command line, and nothing else is printed.
If the studio ends, even by a kill, this process notices that its input ends and stops as by SIGTERM: no draft is left.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from sfumato.publisher.policy import Policy
    from sfumato.publisher.publish import Published

Tell = Callable[[dict[str, Any]], None]

MOST_MEASURED = 300_000
"""The most rows for which utility is measured here."""


@dataclass(frozen=True)
class Order:
    """What is to be published: the text of a policy, and how its source is read and called here."""

    policy: str
    folder: str
    source: str
    called: str | None
    out: str
    ledger: bool

    def job(self) -> "Policy":
        """The policy, checked."""
        from sfumato.publisher.policy import parse_policy

        job = parse_policy(self.policy, folder=Path(self.folder), name="the policy")
        return replace(job, source=self.source, called=self.called)


def main() -> None:
    """Do what one line of standard input orders."""
    from sfumato.publisher.termination import exit_on_termination

    exit_on_termination()
    tell = _teller(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_studio, daemon=True).start()
    try:
        _run(order, tell)
    except Exception as error:
        tell({"error": _told(error, order)})


def _teller(stream: TextIO) -> Tell:
    def tell(message: dict[str, Any]) -> None:
        stream.write(json.dumps(message, ensure_ascii=True) + "\n")
        stream.flush()

    return tell


def _end_with_the_studio() -> None:
    """Wait until standard input ends, which it does when the studio does."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run(order: Order, tell: Tell) -> None:
    from sfumato.engine.progress import Share
    from sfumato.kernel.jit import hearing_compilation
    from sfumato.publisher.publish import publish_policy

    def heard(stage: str, done: float) -> None:
        rows, rows_done = (done.rows, done.done) if isinstance(done, Share) else (None, None)
        tell({"stage": stage, "done": done, "rows": rows, "rows_done": rows_done})

    with hearing_compilation(lambda begun: tell({"compiling": begun})):
        job = order.job()
        made = publish_policy(job, order.out, ledger=order.ledger, progress=heard)
        tell({"published": _as_told(made)})
        heard("measure", 0.0)
        tell({"utility": _utility(job, made)})


def _as_told(made: "Published") -> dict[str, Any]:
    return {
        "folder": str(made.folder),
        "rows": made.release.description.rows,
        "method": made.release.description.method.name,
        "warnings": list(made.warnings),
        "notes": list(made.notes),
        "facts": dict(made.facts),
    }


def _utility(job: "Policy", made: "Published") -> dict[str, Any]:
    """What the release is good for, by the measures of `sfumato compare`; or why they were not taken."""
    from sfumato.errors import SfumatoError

    try:
        return _measured(job, made)
    except SfumatoError as error:
        return {"figures": None, "notes": [str(error)]}


def _measured(job: "Policy", made: "Published") -> dict[str, Any]:
    from sfumato.errors import PolicyError
    from sfumato.method.base import silent
    from sfumato.publisher.compare.figures import measured
    from sfumato.publisher.read_job import coded_and_known

    rows = made.release.description.rows
    if rows > MOST_MEASURED:
        raise PolicyError(f"the release has {rows:,} rows; at most {MOST_MEASURED:,} are measured here")
    found = measured(made.release, coded_and_known(job, silent)[0].table, 0.0)
    return {"figures": asdict(found.figures) if found.figures else None, "notes": list(found.notes)}


def _told(error: Exception, order: Order) -> dict[str, Any]:
    """An error for people; its own words if it is ours, with the source by the name that the steward knows."""
    from sfumato.errors import SfumatoError

    if not isinstance(error, SfumatoError):
        return {"kind": type(error).__name__, "words": None}
    words = str(error)
    if order.called is not None:
        words = words.replace(order.source, order.called).replace(Path(order.source).name, order.called)
    return {"kind": type(error).__name__, "words": words}


if __name__ == "__main__":
    main()
