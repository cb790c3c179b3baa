"""Odd policy files."""

import os
from collections.abc import Iterator
from pathlib import Path

from fuzz.harness import GOOD, Case, case, to_csv, ward

VALUES = {
    "empty text": '""',
    "text": '"x"',
    "zero": "0",
    "negative": "-1",
    "fraction": "1.5",
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "1e308": "1e308",
    "1e-300": "1e-300",
    "1e400": "1e400",
    "2^63-1": "9223372036854775807",
    "2^63": "9223372036854775808",
    "10^400": "1" + "0" * 400,
    "-10^400": "-1" + "0" * 400,
    "10^5000": "1" + "0" * 5000,
    "hexadecimal of 5,000 digits": "0x" + "F" * 5000,
    "true": "true",
    "empty list": "[]",
    "empty table": "{}",
    "list of lists": "[[]]",
    "list of several types": '[1, "a", 2.5, true]',
    "table": "{ a = 1 }",
    "date": "1979-05-27",
    "time": "07:32:00",
    "instant": "1979-05-27T07:32:00Z",
    "NUL": '"\\u0000"',
    "line end": '"a\\nb"',
    "parent folders": '"../../../etc/passwd"',
    "device": '"/dev/zero"',
    "unknown user": '"~nosuchuser/x"',
    "100,000 letters": '"' + "x" * 100_000 + '"',
    "star": '"*"',
    "pattern": '"^a.*$"',
    "right to left": '"\\u202egnp"',
    "missing": '"(missing)"',
    "variable": '"${HOME}"',
    "markup": '"<script>alert(1)</script>"',
    "template": '"{{ 7 * 7 }}"',
    "format": '"%s{0}{x}"',
    "list nested 150 deep": "[" * 150 + "]" * 150,
    "list nested 5,000 deep": "[" * 5000 + "]" * 5000,
}

PLACES = {
    "title": 'title = "Ward"',
    "source": 'source = "ward.csv"',
    "role": 'role = "identifier"',
    "kind": 'kind = "continuous"',
    "taxonomy": 'taxonomy = { Any = ["M", "F"] }',
    "leaves": '["M", "F"]',
    "model": 'model = "k-anonymity"',
    "k": "k = 2",
    "method": 'name = "mondrian"',
    "data": '[data]\nsource = "ward.csv"',
    "attribute": 'ill = { role = "sensitive" }',
}
EXTRA = {
    "query": 'source = "ward.csv"\nquery = %s',
    "missing": 'source = "ward.csv"\nmissing = %s',
    "others": 'source = "ward.csv"\nothers = %s',
    "nulls": 'source = "ward.csv"\nnulls = %s',
}
_REPLACED = {"leaves": "%s", "data": "data = %s", "attribute": "ill = %s"}


def replaced_values() -> Iterator[Case]:
    """Each setting with each odd value."""
    for place, old in PLACES.items():
        for name, value in VALUES.items():
            new = _REPLACED.get(place, old.partition(" = ")[0] + " = %s") % value
            yield case(f"policy: {place} is {name}", policy=GOOD.replace(old, new, 1))
    for place, line in EXTRA.items():
        for name, value in VALUES.items():
            yield case(f"policy: {place} is {name}", policy=GOOD.replace(PLACES["source"], line % value))
    for setting in ("domain", "kind", "taxonomy", "nonsense"):
        for name, value in VALUES.items():
            entry = f'ill = {{ role = "sensitive", {setting} = {value} }}'
            yield case(f"policy: {setting} of ill is {name}", policy=GOOD.replace(PLACES["attribute"], entry))


MODELS = {
    "k-map": {"k": "2", "population": None},
    "l-diversity": {"variant": '"frequency"', "l": "2", "c": None, "sensitive": None},
    "l-diversity recursive": {"variant": '"recursive"', "l": "2", "c": "3"},
    "t-closeness": {"t": "0.5", "distance": '"equal"', "sensitive": None},
    "beta-likeness": {"beta": "2", "variant": '"basic"', "enhanced": None, "sensitive": None},
    "delta-disclosure": {"delta": "2", "sensitive": None},
    "alpha-k": {"alpha": "0.9", "k": "2", "sensitive": None},
    "k-anonymity": {"k": "2", "entity": None},
    "anonymity": {"x": '["sex"]', "y": '"name"', "k": "2"},
    "confidentiality": {"x": '["sex"]', "y": '"ill"', "k": "0.9"},
    "m-confidentiality": {"m": "2", "values": None},
    "rho-breach": {"rho1": "0.2", "rho2": "0.9", "lambda": "0.5"},
    "growth": {"delta": "0.5", "lambda": "0.5"},
    "disclosure": {"tau": "0.5"},
    "r-robustness": {"r": "3", "distributions": None},
}


def requirements() -> Iterator[Case]:
    """Each parameter of each model with each odd value."""
    for model, parameters in MODELS.items():
        for parameter in parameters:
            for name, value in VALUES.items():
                given = {n: v for n, v in parameters.items() if v is not None} | {parameter: value}
                lines = "\n".join(f"{n} = {v}" for n, v in given.items())
                text = GOOD.replace('model = "k-anonymity"\nk = 2', f'model = "{model.split()[0]}"\n{lines}')
                yield case(f"policy: {parameter} of {model} is {name}", policy=text)


def spoiled_text() -> Iterator[Case]:
    """The text of the policy cut, doubled, shuffled or in another encoding."""
    lines = GOOD.splitlines(keepends=True)
    for i in range(len(lines)):
        yield case(f"policy: without line {i}", policy="".join(lines[:i] + lines[i + 1 :]))
        yield case(f"policy: line {i} twice", policy="".join(lines[: i + 1] + lines[i:]))
    for end in range(0, len(GOOD), 9):
        yield case(f"policy: cut after {end} characters", policy=GOOD[:end])
    contents: dict[str, str | bytes] = {
        "UTF-16": GOOD.encode("utf-16"),
        "Latin-1": GOOD.replace("Ward", "Wärd").encode("latin-1"),
        "NUL bytes": b"\0" * 100,
        "NUL inside": GOOD.replace("Ward", "Wa\0rd"),
        "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        "JSON": '{"title": "Ward"}',
        "YAML": "title: Ward\n",
        "comments only": "# nothing\n" * 1000,
        "17 MiB": "#" * (17 << 20),
        "table header nested 5,000 deep": GOOD + "[" + "a." * 5000 + "a]\n",
        "inline table nested 5,000 deep": "x = " + "{a=" * 5000 + "1" + "}" * 5000,
        "inline table nested 500 deep": GOOD.replace('{ Any = ["M", "F"] }', "{a=" * 500 + "{}" + "}" * 500),
        "10,000 attributes": GOOD.replace("[[req", "".join(f'c{i} = "quasi"\n' for i in range(10_000)) + "[[req"),
        "1,000 requirements": GOOD + '[[require]]\nmodel = "k-anonymity"\nk = 2\n' * 1000,
    }
    yield from (case(f"policy: {name}", policy=content) for name, content in contents.items())
    for name, content in {"BOM": "\ufeff" + GOOD, "CRLF": GOOD.replace("\n", "\r\n")}.items():
        yield case(f"policy: {name}", policy=content, expect="accepted")


def no_files() -> Iterator[Case]:
    """What is not a regular file where a policy, a table or a taxonomy should be."""
    kinds = {
        "a FIFO": os.mkfifo,
        "a folder": Path.mkdir,
        "a dangling link": lambda path: path.symlink_to("nowhere"),
        "a link to itself": lambda path: path.symlink_to(path.name),
        "a link to a device": lambda path: path.symlink_to("/dev/zero"),
        "a link to an endless device": lambda path: path.symlink_to("/dev/urandom"),
        "a link to a terminal": lambda path: path.symlink_to("/dev/tty"),
        "an empty file": lambda path: path.write_bytes(b""),
    }
    table = to_csv(ward()).encode()
    for name, make in kinds.items():
        yield case(f"policy is {name}", files={"policy.toml": make}, expect="refused")
        yield case(f"table is {name}", files={"ward.csv": make}, expect="refused")
        for end in ("parquet", "xlsx", "tsv"):
            text = GOOD.replace("ward.csv", f"ward.{end}")
            yield case(f"{end} table is {name}", policy=text, files={f"ward.{end}": make}, expect="refused")
        for end in ("csv", "json"):
            text = GOOD.replace(PLACES["taxonomy"], f'taxonomy = "sex.{end}"')
            yield case(f"{end} taxonomy is {name}", policy=text, files={f"sex.{end}": make}, expect="refused")
        text = GOOD.replace('source = "ward.csv"', 'source = "sqlite:///ward.db"\nquery = "select 1"')
        yield case(f"SQLite file is {name}", policy=text, files={"ward.db": make}, expect="refused")
        listed = GOOD.replace('model = "k-anonymity"\nk = 2', 'model = "r-robustness"\nr = 3\ndistributions = "d.csv"')
        yield case(f"distributions are {name}", policy=listed, files={"d.csv": make}, expect="refused")
        mapped = GOOD.replace('model = "k-anonymity"', 'model = "k-map"').replace('"mondrian"', '"incognito"')
        mapped += '[population]\nsource = "register.csv"\n'
        yield case(f"population is {name}", policy=mapped, files={"register.csv": make}, expect="refused")
        for command in (("plan", "policy.toml"), ("init", "policy.toml")):
            yield Case(f"{command[0]} of {name}", {"policy.toml": make, "ward.csv": table}, command, "refused")


def cases() -> Iterator[Case]:
    """All odd policies."""
    yield from no_files()
    yield from spoiled_text()
    yield from replaced_values()
    yield from requirements()
