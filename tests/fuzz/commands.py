"""Odd command lines."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from fuzz.harness import GOOD, Case, to_csv, ward

_FILES = {"policy.toml": GOOD.encode(), "ward.csv": to_csv(ward()).encode()}
_NOT_UTF8 = os.fsdecode(b"caf\xe9")

WORDS = {
    "nothing": "",
    "blank": " ",
    "dash": "-",
    "two dashes": "--",
    "unknown option": "--frobnicate",
    "line end": "a\nb",
    "300 letters": "x" * 300,
    "5,000 letters": "x" * 5000,
    "not UTF-8": _NOT_UTF8,
    "unknown user": "~nosuchuser",
    "root": "/",
    "here": ".",
    "device": "/dev/zero",
    "full device": "/dev/full",
    "process": "/proc/self/mem",
    "below a file": "ward.csv/x",
    "pattern": "*",
    "URL": "https://example.org/x.csv",
    "file URL": "file:///etc/passwd",
    "s3": "s3://bucket/x.parquet",
    "odd database": "mysql://root:secret@localhost/x",
    "sqlite nowhere": "sqlite:///nowhere.db",
    "sqlite in memory": "sqlite:///:memory:",
    "postgresql without host": "postgresql://",
    "quotes": "'\"`$(id)",
    "template": "{{ 7 }}%s",
}
_AFTER = {"init": (), "publish": ("-o", "out"), "check": (), "query": ("SELECT COUNT(*)",), "plan": ()}

QUESTIONS = [
    "", " ", ";", "SELECT", "SELECT *", "SELECT COUNT(*)", "SELECT COUNT(*) WHERE", "SELECT COUNT(*) WHERE age",
    "SELECT COUNT(*) WHERE age >", "SELECT COUNT(*) WHERE age > 'x'", "SELECT COUNT(*) WHERE nosuch = 1",
    "SELECT COUNT(*) WHERE age > 1e400", "SELECT COUNT(*) WHERE age > " + "9" * 400,
    "SELECT COUNT(*) WHERE age > nan",
    "SELECT COUNT(*) WHERE " + "(" * 5000 + "age > 1" + ")" * 5000,
    "SELECT COUNT(*) WHERE " + "NOT " * 5000 + "age > 1",
    "SELECT COUNT(*) WHERE " + " AND ".join(["age > 1"] * 2000), "SELECT COUNT(*) GROUP BY", "SELECT COUNT(*) CUBE",
    "SELECT COUNT(*), sex GROUP BY sex", "SELECT COUNT(*), sex, zip CUBE sex, zip", "SELECT COUNT(*) GROUP BY nosuch",
    "SELECT COUNT(*), sex GROUP BY " + ", ".join(["sex"] * 50), "DROP TABLE x", "SELECT COUNT(*) WHERE sex = 'M",
    "SELECT COUNT(*) WHERE sex = 'M' OR 1 = 1", "SELECT COUNT(*) WHERE \"\" = 1", "SELECT\0COUNT(*)", _NOT_UTF8,
    "SELECT COUNT(*) WHERE sex = '" + _NOT_UTF8 + "'", "SELECT COUNT(*) WHERE ill LIKE '%'", "x" * 100_000,
]  # fmt: skip

PLAN = {
    "--domain": ["0", "1", "-1", "2", "10" * 200, "x", "nan"],
    "--lambda": ["0", "1", "-1", "nan", "inf", "1e-300", "1e400", "x", "0.5"],
    "--rho1": ["0", "1", "nan", "inf", "1e-300", "0.2"],
    "--rho2": ["0", "1", "nan", "-inf", "0.1", "0.9"],
    "--delta": ["0", "1", "nan", "2", "1e-300", "0.5"],
    "-k": ["0", "1", "-5", "10" * 200, "1000000", "x"],
    "-p": ["0", "1", "nan", "inf", "2", "1e-300", "-0.5", "0.3"],
}


def cases() -> Iterator[Case]:
    """All odd command lines."""
    for command, rest in _AFTER.items():
        for name, word in WORDS.items():
            yield Case(f"{command} of {name}", dict(_FILES), (command, word, *rest))
    for name, word in WORDS.items():
        yield Case(f"publish to {name}", dict(_FILES), ("publish", "policy.toml", "-o", _safe(word)))
        yield Case(f"init to {name}", dict(_FILES), ("init", "ward.csv", "-o", _safe(word)))
        yield Case(f"command {name}", dict(_FILES), (word,))
        yield Case(f"seed {name}", dict(_FILES), ("publish", "policy.toml", "-o", "out", "--seed", word))
        yield Case(f"query of init {name}", dict(_FILES), ("init", "ward.csv", "--query", word), "refused")
    yield from _seeds()
    yield from _names()
    yield from _questions()
    for option, values in PLAN.items():
        for value in values:
            given = {"--domain": "50", "--lambda": "0.1", "--rho1": "0.2", "-k": "6"} | {option: value}
            words = [w for pair in given.items() for w in pair]
            yield Case(f"plan {option} {value[:20]}", {}, ("plan", *words))


def _safe(word: str) -> str:
    """Never a folder of the machine that runs the tests."""
    return word if not word.startswith("/") or word.startswith(("/dev/", "/proc/")) else "nowhere/" * 3


def _seeds() -> Iterator[Case]:
    for seed in ("-1", "0", "1.5", "nan", "1" + "0" * 400, "0x10", "1_000", "１２", "18446744073709551616"):
        yield Case(f"seed {seed[:20]}", dict(_FILES), ("publish", "policy.toml", "-o", "out", "--seed", seed))


def _names() -> Iterator[Case]:
    """Files and folders whose names are odd."""
    for name, word in {
        "not UTF-8": _NOT_UTF8,
        "line end": "a\nb",
        "markup": "<b>",
        "quote": "a'b\"c",
        "é": "é",
    }.items():
        folder = {"policy.toml": GOOD.encode(), "ward.csv": to_csv(ward()).encode()}
        yield Case(
            f"policy file named {name}",
            folder | {f"{word}.toml": GOOD.encode()},
            ("publish", f"{word}.toml", "-o", "out"),
        )
        yield Case(f"out named {name}", folder, ("publish", "policy.toml", "-o", word))
        yield Case(f"out named {name} as JSON", folder, ("publish", "policy.toml", "-o", word, "--json"))
        yield Case(f"init of a file named {name}", {f"{word}.csv": folder["ward.csv"]}, ("init", f"{word}.csv"))
        yield Case(f"init to a file named {name}", folder, ("init", "ward.csv", "-o", f"{word}.toml"))

        def deep(path: Path, word: str = word) -> None:
            path.mkdir()
            for file, content in _FILES.items():
                (path / file).write_bytes(content)

        yield Case(f"folder named {name}", {word: deep}, ("publish", f"{word}/policy.toml", "-o", "out"))


def _questions() -> Iterator[Case]:
    def release(path: Path) -> None:
        from fuzz.harness import run_command

        for file, content in _FILES.items():
            (path.parent / file).write_bytes(content)
        run_command(("publish", "policy.toml", "-o", "ward"), path.parent)

    for question in QUESTIONS:
        yield Case(f"query {question[:40]!r} ({len(question)})", {"ward": release}, ("query", "ward/release", question))


def manifests() -> Iterator[Case]:
    """Folders that are no release."""
    contents = {"empty": b"", "list": b"[]", "number": b"1", "nested": b"[" * 100_000, "binary": bytes(range(256))}
    contents |= {"object": json.dumps({"sfumato": 1}).encode(), "10^5000": b"1" + b"0" * 5000}
    for name, content in contents.items():
        yield Case(f"manifest: {name}", {"manifest.json": content}, ("check", "."), "refused")
