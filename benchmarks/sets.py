"""Factors whose value is a set: how much more follows than from columns, and what an audit of many sets takes.

    python benchmarks/sets.py            the table: 60 genes, 90 doubles of which 18 are held out, ten seeds
    python benchmarks/sets.py large      10^6 sets of up to three of 10^5 elements, beside the bare GROUP BY

Three readings of the same wells. *Set*: the value is the set of genes. *Columns*: p1 and p2 are two ordinary factors,
and a single is a gene beside `ctrl`. *Textbook*: A + B - control, which needs both singles.
"""

import sys
import time

import duckdb
import numpy as np
import pyarrow as pa

import recombine
from recombine.verbs.audit.determinacy import determinacy

GENES, DOUBLES, HELD_OUT, SEEDS = 60, 90, 18, 10


def screen(seed: int, share: float) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The wells that were measured, and the doubles that were held out."""
    rng = np.random.default_rng(seed)
    genes = [f"G{place:02d}" for place in range(GENES)]
    pairs = np.array([(a, b) for a in range(GENES) for b in range(a)])
    chosen = pairs[rng.choice(len(pairs), DOUBLES, replace=False)]
    doubles = [tuple(genes[place] for place in rng.permutation(pair)) for pair in chosen]
    singles = [(genes[place],) for place in rng.choice(GENES, round(share * GENES), replace=False)]
    return [(), *singles, *doubles[HELD_OUT:]], doubles[:HELD_OUT]


def shares(seed: int, share: float) -> dict[str, float]:
    """The share of held-out doubles that each reading determines."""
    seen, held_out = screen(seed, share)
    support = recombine.read({"genes": [list(one) for one in seen]}, sets={"genes": "genes"})
    by_set = determinacy(support).determined(support.space.encode([(one,) for one in held_out]))
    padded = [(*one, "ctrl", "ctrl")[:2] for one in seen]
    columns = recombine.read(pa.table(list(map(list, zip(*padded, strict=True))), ["p1", "p2"]), factors=["p1", "p2"])
    by_columns = determinacy(columns).determined(columns.space.encode(held_out))
    singles = {one[0] for one in seen if len(one) == 1}
    textbook = [set(one) <= singles for one in held_out]
    found = {"set": by_set, "columns": by_columns, "textbook": textbook}
    return {name: float(np.mean(values)) for name, values in found.items()}


def table() -> None:
    """The issue's table."""
    print(f"{'singles measured':18} {'set':>6} {'columns':>8} {'textbook':>9}")
    for name, share in (("all", 1.0), ("half", 0.5), ("a fifth", 0.2)):
        found = [shares(seed, share) for seed in range(SEEDS)]
        means = [float(np.mean([one[rule] for one in found])) for rule in ("set", "columns", "textbook")]
        print(f"{name:18} {means[0]:6.2f} {means[1]:8.2f} {means[2]:9.2f}")


def many_sets(sets: int, elements: int, *, seed: int = 0) -> pa.Table:
    """A table of sets of none to three elements as text, each in a random order, with what they add up to."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3], size=sets, p=[0.1, 0.45, 0.45])
    drawn = rng.integers(0, elements, size=(sets, 3))
    effect = rng.normal(size=elements)
    inside = np.arange(3)[None] < sizes[:, None]
    answers = np.where(inside, effect[drawn], 0).sum(axis=1)
    words = np.char.add("e", np.arange(elements).astype(str))
    text = ["+".join(words[row[:size]]) for row, size in zip(drawn, sizes.tolist(), strict=True)]
    return pa.table({"given": ["ctrl", *text], "y": np.concatenate([[0.0], answers])})


def large(sets: int = 10**6, elements: int = 10**5) -> None:
    """Times of an audit, beside the bare GROUP BY."""
    rows = many_sets(sets, elements)
    start = time.process_time()
    duckdb.sql("SET threads = 1")
    duckdb.sql("SELECT given, count(*), sum(y), sum(y * y) FROM rows GROUP BY given").arrow()
    print(f"bare GROUP BY                {time.process_time() - start:6.1f} s")
    start = time.process_time()
    support = recombine.read(rows, sets={"sets": "given:+"}, target="y")
    print(f"read: {len(support):,} distinct sets {time.process_time() - start:6.1f} s")
    start = time.process_time()
    solved = determinacy(support)
    print(f"determinacy (rank {solved.rank:,})  {time.process_time() - start:6.1f} s")
    start = time.process_time()
    found = recombine.audit(support)
    print(f"audit, with leverages, test, determinacy {time.process_time() - start:6.1f} s")
    print(f"space {found.counts.space:,}, determined {found.counts.determined:,}")
    print(found.verdict)


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        large()
    else:
        table()
