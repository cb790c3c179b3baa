"""Odd earlier releases and rules in a policy of tdssa; in the long run only, since it compiles kernels of its own."""

from collections.abc import Iterator

from fuzz.harness import GOOD, Case, case
from fuzz.policies import VALUES

OLD = "sex,zip\nM,02138\nF,10001\n*,94105\nM,*\n"
AFTER = """
[[after]]
data = "old.csv"
name = "T2"
title = "Old"
[after.attributes]
sex = { role = "quasi", taxonomy = { Any = ["M", "F"] } }
zip = { role = "quasi" }
[[inconsistent]]
t1 = { sex = "M" }
t2 = { zip = "94105" }
"""
TEMPLATE = 'model = "anonymity"\nx = ["age", "T2.zip"]\ny = "T1"\nk = 2\nover = ["T1", "T2"]'
SETTINGS = "join_in_x = true"
JOB = GOOD.replace('model = "k-anonymity"\nk = 2', TEMPLATE).replace(
    '"mondrian"\n', f'"tdssa"\nscore = "distortion"\n{SETTINGS}\n{AFTER}'
)
PLACES = (
    'data = "old.csv"',
    'name = "T2"',
    'title = "Old"',
    'sex = { role = "quasi", taxonomy = { Any = ["M", "F"] } }\nzip',
    'zip = { role = "quasi" }\n[[inconsistent]]',
    't1 = { sex = "M" }',
    't2 = { zip = "94105" }',
    'x = ["age", "T2.zip"]',
    'y = "T1"',
    'over = ["T1", "T2"]',
    SETTINGS,
)
FILES = {
    "empty": "",
    "no rows": "sex,zip\n",
    "another column": "sex,zip,town\nM,1,2\n",
    "one column": "sex\nM\n",
    "unknown label": "sex,zip\nX,1\n",
    "all hidden": "sex,zip\n*,*\n*,*\n",
    "all missing": "sex,zip\n,\n,\n",
    "binary": "\0\1\2",
    "a header twice": "sex,sex\nM,F\n",
    "nobody in common": "sex,zip\nM,11111\nF,22222\n",
}


def cases() -> Iterator[Case]:
    """The good job; each setting with each odd value; odd files."""
    files = {"old.csv": OLD.encode()}
    yield case("earlier: good", policy=JOB, files=files, expect="accepted")
    for place in PLACES:
        word, _, rest = place.partition(" = ")
        after = "\n" + rest.partition("\n")[2] if "\n" in rest else ""
        for name, value in VALUES.items():
            text = JOB.replace(place, f"{word} = {value}{after}", 1)
            yield case(f"earlier: {word} for {place[-9:]!r} is {name}", policy=text, files=files)
    for name, content in FILES.items():
        yield case(f"earlier: file with {name}", policy=JOB, files={"old.csv": content.encode()})
    folder = JOB.replace('data = "old.csv"', 'release = "%s"').replace(AFTER.partition("[after.attributes]")[2], "")
    for place in (".", "old.csv", "nowhere", "/", "/dev/null", "../.."):
        text = folder.replace("[after.attributes]", "").replace('title = "Old"', "") % place
        yield case(f"earlier: release {place}", policy=text, files=files, expect="refused")
