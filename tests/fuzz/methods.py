"""Every method on a small table whose columns have odd names; in the long run only, since each compiles its kernels."""

from collections.abc import Iterator

from fuzz.harness import GOOD, Case, case, to_csv, ward

NAMES = ("*", "count", "group", "G", 'a"b', "rows", "value", "label", "é", "x" * 300)
_DIVERSITY = 'model = "l-diversity"\nvariant = "frequency"\nl = 1.5'
REQUIRED = {
    "mondrian+": _DIVERSITY.replace("1.5", "2"),
    "mondrian++": _DIVERSITY.replace("1.5", "2"),
    "mondrian-blur": _DIVERSITY.replace("1.5", "2"),
    "hilb": _DIVERSITY.replace("1.5", "2"),
    "hilb-safe": _DIVERSITY.replace("1.5", "2"),
    "mask": _DIVERSITY.replace("1.5", "2"),
    "anatomy": _DIVERSITY.replace("1.5", "2"),
    "incognito": 'model = "k-anonymity"\nk = 2',
    "tdr": 'model = "k-anonymity"\nk = 2',
    "tdd": 'model = "confidentiality"\nx = ["sex"]\ny = "ill"\nk = 0.9',
    "pg": 'model = "growth"\ndelta = 0.9\nlambda = 0.9',
    "rr": 'model = "disclosure"\ntau = 0.9',
    "art": 'model = "r-robustness"\nr = 100',
    "injector": _DIVERSITY.replace("1.5", "2"),
}


def cases() -> Iterator[Case]:
    """Each method with each name in each of four places."""
    for method, needed in REQUIRED.items():
        policy = GOOD.replace('"mondrian"', f'"{method}"').replace('model = "k-anonymity"\nk = 2', needed)
        for name in NAMES:
            quoted = '"' + name.replace('"', '""') + '"'
            key = '"' + name.replace('"', '\\"') + '"'
            for column in ("age", "zip", "ill"):
                table = to_csv(ward()).replace(column, quoted, 1)
                text = policy.replace(f"{column} =", f"{key} =", 1).replace(f'y = "{column}"', f"y = {key}")
                yield case(f"method {method}: {column} is called {name[:9]!r}", policy=text, data=table)
            plain = to_csv(ward() | {quoted: ["1", "2"] * 8})
            text = policy.replace("[[require]]", f'{key} = "insensitive"\n[[require]]')
            yield case(f"method {method}: insensitive {name[:9]!r}", policy=text, data=plain)
