"""Small releases of every scheme and a spread of methods, the same each time, for mutation."""

import datetime as dt
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf


def frame(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(41)
    age = rng.integers(18, 90, rows)
    return pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "age": age,
            "sex": rng.choice(["F", "M"], rows),
            "zip": rng.choice(["47110", "47120", "48330", "48911"], rows),
            "rank": rng.choice(["low", "medium", "high"], rows),
            "since": [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 900, rows)],
            "ill": rng.choice(["flu", "HIV", "cancer", "gout"], rows, p=[0.4, 0.2, 0.2, 0.2]),
            "stay": [None if v == 0 else int(v) for v in rng.integers(0, 9, rows)],
            "again": rng.choice(["no", "yes"], rows),
        }
    )


ILLS = {"Any": {"infect": ["flu", "HIV"], "other": ["cancer", "gout"]}}


def table(rows: int, quasi: list[str], *, tree: bool = True, **more: Any) -> sf.Microdata:
    trees = {"sex": {"Any": ["F", "M"]}, "zip": {"mask": "right"}, **more.pop("taxonomies", {})}
    options: dict[str, Any] = {
        "quasi": quasi,
        "sensitive": "ill",
        "taxonomies": {n: t for n, t in trees.items() if n in quasi} | ({"ill": ILLS} if tree else {}),
        "kinds": {n: "ordinal" for n in quasi if n == "rank"},
        "domains": {n: ["low", "medium", "high"] for n in quasi if n == "rank"},
    }
    return sf.read(frame(rows), **(options | more))


EARLIER = sf.earlier(frame(60).select("sex", "zip"), quasi=["sex", "zip"], title="Before")
RULE = sf.Inconsistent(sides={"T1": {"sex": "F"}, "T2": {"zip": "48911"}})


def _releases() -> dict[str, sf.Release]:
    rng = np.random.default_rng(42)

    def publish(t: sf.Microdata, require: Any, method: Any) -> sf.Release:
        return sf.publish(t, require=require, method=method, title="Fuzz", rng=rng)

    plain = table(80, ["age", "sex", "rank", "since"], insensitive=["stay"], class_="again", identifiers=["name"])
    few = table(80, ["age", "sex"])
    ills = {"ill": ["flu", "HIV", "cancer", "gout"]}
    flat = table(600, ["sex", "rank"], tree=False, domains={**ills, "rank": ["low", "medium", "high"]})
    boxes = table(600, ["age", "sex"], tree=False, domains=ills)
    wide = table(80, ["age", "zip"], taxonomies={"age": {"width": 10}})
    noisy = sf.RandomizedResponse(keep={"sex": 0.8, "ill": 0.6})
    return {
        "mondrian": publish(plain, [sf.KAnonymity(k=4), sf.LDiversity(l=1.5)], sf.Mondrian()),
        "entity": publish(plain, [sf.KAnonymity(k=3, entity="name"), sf.Anonymity(x="age", y="stay", k=2)], "mondrian"),
        "closeness": publish(
            few, [sf.TCloseness(t=0.5, distance="hierarchical"), sf.AlphaK(alpha=0.8, k=3)], "mondrian"
        ),
        "likeness": publish(few, [sf.BetaLikeness(beta=2), sf.BetaLikeness(beta=3, variant="enhanced")], "mondrian"),
        "disclosure": publish(few, [sf.DeltaDisclosure(delta=1.5)], "mondrian"),
        "mondrian+": publish(few, [sf.LDiversity(l=2)], "mondrian+"),
        "incognito": publish(wide, [sf.KAnonymity(k=5)], sf.Incognito(suppression=0.1)),
        "population": publish(
            wide, [sf.KMap(k=5, population=frame(300).select("age", "zip"))], sf.Incognito(suppression=0.1)
        ),
        "tdr": publish(plain, [sf.Confidentiality(x=["age", "sex"], y="ill", k=0.8)], "tdr"),
        "tdssa": publish(
            few,
            [sf.Confidentiality(x=["age", "zip"], y="ill", k=0.8), sf.KAnonymity(k=3)],
            sf.TopDownSequential(after=[EARLIER], inconsistent=[RULE], score="distortion"),
        ),
        "anatomy": publish(few, [sf.LDiversity(l=2, variant="frequency")], "anatomy"),
        "buckets": publish(plain, [sf.TCloseness(t=0.6)], sf.Mondrian(scheme="bucketization")),
        "mask+": publish(few, [sf.MConfidentiality(m=2)], "mask+"),
        "pg": publish(boxes, [sf.Growth(delta=0.4, skew=0.5), sf.KAnonymity(k=4)], sf.PG(k=4)),
        "rr": publish(flat, [sf.Disclosure(tau=0.9)], noisy),
        "art": publish(few, [sf.RRobustness(r=2, values=["HIV"])], "art"),
    }


@cache
def releases() -> dict[str, sf.Release]:
    """The releases by name."""
    return _releases()
