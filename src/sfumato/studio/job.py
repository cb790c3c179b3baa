"""The job of one window: the table that was opened and the policy that is being made of it.

Plain Python: pages render what it says and call its methods, and nothing here knows about pages. Whatever is decided is
in ``content``, the parsed content of a policy file, so that every page can show the policy (`Job.shown_policy`) and the
command line can run it.
"""

import asyncio
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError, SfumatoError
from sfumato.table.address import expanded, masked

if TYPE_CHECKING:
    import polars as pl

    from sfumato.publisher.column_roles import Profile
    from sfumato.publisher.policy import Policy
    from sfumato.publisher.proposal import Proposal
    from sfumato.studio.run import StudioRun
    from sfumato.table.microdata import Microdata

Content = dict[str, Any]


@dataclass(frozen=True)
class Origin:
    """Where the table of a job comes from."""

    address: str
    """What is read: a path or the URL of a database, with its password."""
    name: str
    """What the steward calls it: the given path or URL, without a password, or the name of the uploaded file."""
    folder: Path
    """Relative names in the policy are relative to this folder."""
    uploaded: bool = False


@dataclass
class Job:
    """One job. ``folder`` is its private folder; ``version`` grows with each change of what would be published."""

    id: str
    folder: Path
    origin: Origin | None = None
    content: Content = field(default_factory=dict)
    frame: "pl.DataFrame | None" = field(default=None, repr=False)
    """The rows as publishing reads them: missing values are null, numbers and dates as the form says."""
    proposal: "Proposal | None" = field(default=None, repr=False)
    """What `sfumato init` proposes, with its reasons; None if a policy was opened."""
    version: int = 0
    extras: dict[str, Any] = field(default_factory=dict, repr=False)
    """What pages keep for this job, each under its own key, such as a running comparison."""
    _kept: dict[str, tuple[int, Any]] = field(default_factory=dict, repr=False)
    run: "StudioRun | None" = field(default=None, repr=False)
    """The run that was started last, finished or not."""
    opening: "asyncio.Task[None] | None" = field(default=None, repr=False)
    """The reading of the table that the command line named."""
    reading: float = 0.0
    """How much of the table that is being opened has been read, as far as that is known."""
    failed: str = ""
    """Why that table could not be opened."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held while the table is read or a run is started."""

    # -- opening -------------------------------------------------------------------------------------------------

    def open(self, given: str, *, query: str | None = None) -> None:
        """Open a table or a policy that the steward named: a path, or the URL of a database."""
        if not given.strip():
            raise PolicyError("the name is empty; name a file, a folder or the URL of a database")
        if given.endswith(".toml"):
            self._open_policy(given)
        else:
            address = given if "://" in given else os.path.abspath(Path(given).expanduser())  # noqa: PTH100 - keeps links
            self._open_table(Origin(address, masked(given), Path.cwd()), query)

    def open_upload(self, path: Path, name: str) -> None:
        """Open a file that was uploaded to ``path``; ``name`` is what the steward calls it."""
        earlier = self.origin
        try:
            self._open_table(Origin(str(path), name, path.parent, uploaded=True), None)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, SfumatoError):  # its words name the file by where it is kept
                raise type(error)(str(error).replace(str(path), name).replace(path.name, name)) from None
            raise
        if earlier is not None and earlier.uploaded and earlier.address != str(path):
            Path(earlier.address).unlink(missing_ok=True)

    def _open_table(self, origin: Origin, query: str | None, form: Mapping[str, Any] | None = None) -> None:
        from sfumato.publisher.inspection import inspect
        from sfumato.publisher.propose import without_markers
        from sfumato.table.form import Form

        self.reading = 0.0
        told = Form.of(form or {})
        found = inspect(origin.address, query=query, seen_from=origin.folder, form=told, progress=self._hear)
        proposal = replace(found.proposal, source=self._source(origin, found.proposal.source))
        content = tomllib.loads(proposal.to_toml())
        frame = without_markers(found.frame, list(proposal.nulls), proposal.form.form)
        self.origin, self.content, self.frame, self.proposal = origin, content, frame, proposal
        self.changed()

    def _hear(self, stage: str, done: float) -> None:
        if stage == "read":
            self.reading = done

    @staticmethod
    def _source(origin: Origin, proposed: str) -> str:
        """How the policy names the table: whole paths, so that it can be saved anywhere."""
        if origin.uploaded:
            return origin.name
        return proposed if "://" in origin.address else origin.address

    def _open_policy(self, given: str) -> None:
        from sfumato.publisher.policy import read_policy
        from sfumato.publisher.read_job import read_again

        path = Path(given).expanduser().absolute()
        policy = read_policy(path)
        self.reading = 0.0
        frame = read_again(policy, lambda share: self._hear("read", share))
        self.origin = Origin(expanded(policy.source), masked(policy.source), path.parent)
        self.content, self.frame, self.proposal = dict(policy.content), frame, None
        self.changed()

    def reread(self, form: Mapping[str, Any]) -> None:
        """Read the table again, written as ``form`` says (the keys of [data]), and propose a policy anew."""
        if self.origin is None:
            raise PolicyError("no table is open; open one first")
        self._open_table(self.origin, self.content.get("data", {}).get("query"), form)

    # -- the policy ----------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Note that what would be published has changed."""
        self.version += 1

    @property
    def is_open(self) -> bool:
        """Whether there is a table."""
        return self.frame is not None

    @property
    def attributes(self) -> dict[str, dict[str, Any]]:
        """[attributes] of the policy: by column its role, kind, taxonomy, domain, pad and reason; to be changed by
        `set_attribute`."""
        return {n: {"role": e} if isinstance(e, str) else e for n, e in self.content.get("attributes", {}).items()}

    def set_attribute(self, name: str, **entry: Any) -> None:
        """Change keys of an attribute: role, kind, taxonomy, domain, pad, reason; None removes a key.

        A column that is left out, published unchanged or an identifier has no kind, taxonomy or domain; what was said
        of them is remembered, and returns with a role that needs it.
        """
        kept: Content = self.extras.setdefault("attributes", {}).setdefault(name, {})
        kept |= self.attributes.get(name, {}) | entry
        bare = kept.get("role") in ("identifier", "insensitive", "drop")
        told = {k: v for k, v in kept.items() if v is not None and (not bare or k in ("role", "reason"))}
        self._take({**self.content, "attributes": {**self.content.get("attributes", {}), name: told}})

    def set_section(self, name: str, section: Any) -> None:
        """Replace a top-level key of the policy, such as ``require``, ``method`` or ``title``; None removes it."""
        others = {k: v for k, v in self.content.items() if k != name}
        self._take(others if section is None else others | {name: section})

    def _take(self, content: Content) -> None:
        """Take the content of a policy; one that says the same changes nothing."""
        if content != self.content:
            self.content = content
            self.changed()

    def shown_policy(self) -> str:
        """The policy as the steward may keep it, without passwords: what `sfumato publish` reads."""
        from sfumato.publisher.toml import document

        if not self.content:
            return ""
        data = self.content["data"]
        text = document({**self.content, "data": {**data, "source": masked(str(data["source"]))}})
        if self.origin is not None and self.origin.uploaded:
            return f"# Put this file next to {self.origin.name!r}, or give its full path as source.\n{text}"
        return text

    def policy(self) -> "Policy":
        """The policy, checked, to be run here: it reads the table from where it is. Raises `PolicyError`."""
        from sfumato.publisher.policy import parse_policy
        from sfumato.publisher.toml import document

        if self.origin is None:
            raise PolicyError("no table is open; open one first")
        job = parse_policy(document(self.content), folder=self.origin.folder, name="the policy")
        return replace(job, source=self.origin.address)

    def start(self, out: str = "") -> "StudioRun":
        """Begin to publish in a process of its own; ``out`` is a folder that the steward names, or the job's own.

        Returns the run, whose `StudioRun.go` has to be awaited; refuses a second one while the first is alive.
        """
        from sfumato.publisher.toml import document
        from sfumato.studio.run import StudioRun
        from sfumato.studio.worker import Order

        policy = self.policy()
        if self.run is not None and self.run.is_alive:
            raise PolicyError("this job is already running; wait for it, or cancel it")
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(mode=0o700)
        order = Order(
            policy=document(self.content),
            folder=str(policy.folder),
            source=policy.source,
            called=masked(str(self.content["data"]["source"])),
            out=str(Path(out).expanduser().absolute()) if out.strip() else str(results / "out"),
            ledger=self.origin is not None and not self.origin.uploaded,
        )
        self.run = StudioRun(order, self.version)
        return self.run

    def end(self) -> None:
        """End what still runs and remove the files of the job."""
        if self.run is not None:
            self.run.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- the table -----------------------------------------------------------------------------------------------

    def kept(self, key: str, make: Any) -> Any:
        """What ``make()`` returns, kept until the job changes."""
        version = self.version
        if self._kept.get(key, (-1, None))[0] != version:
            self._kept[key] = version, make()
        return self._kept[key][1]

    def profiles(self) -> "Sequence[Profile]":
        """What each column looks like, on counts; kept as long as the table is."""
        from sfumato.publisher.column_roles import profile

        frame = self.frame
        if frame is None:
            return ()
        if self.extras.get("profiled") is not frame:
            self.extras["profiles"] = [profile(column) for column in frame.get_columns()]
            self.extras["profiled"] = frame
        found: Sequence[Profile] = self.extras["profiles"]
        return found

    def microdata(self) -> "Microdata":
        """The coded table, as the policy says; kept until the table or what is said of its columns changes.

        Raises what publishing would raise.
        """
        told = [self.content.get(key) for key in ("data", "attributes")]
        known = self.extras.get("coded")
        if known is None or known[0] is not self.frame or known[1] != told:
            known = self.extras["coded"] = self.frame, told, self._coded()
        found: Microdata = known[2]
        return found

    def _coded(self) -> "Microdata":
        from sfumato.engine.local import LocalEngine

        policy = self.policy()
        if self.frame is None:
            raise PolicyError("no table is open; open one first")
        return LocalEngine.read(self.frame, policy.covering, missing=policy.missing, folder=policy.folder).table
