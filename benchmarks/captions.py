"""Concepts in captions: reading their combinations, beside the bare engine's own tokenising of the same file.

    python benchmarks/captions.py                     10^7 captions, 200 attributes, 300 objects
    python benchmarks/captions.py --captions 1000000  fewer
    python benchmarks/captions.py --smoke             small, for the tests

Bare DuckDB splits every caption into words and counts them (`words`), or counts which word follows which (`bigrams`):
what a script would begin with, before anything is known of attributes and objects. Ours is all of `recombine.read` with
a vocabulary: phrases found, distinct ones taken apart, joined back, counted. Every count is held against what was
planted. Subjects take turns; ratios are of processor time, which others on the machine hardly move.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import recombine
from measure import options, table, take_turns, write
from recombine.data.text_sources import TextSource

ATTRIBUTES, OBJECTS = 200, 300
LARGE = 2 * 10**9
"""Captions of the largest public sets of images and texts."""
_SPLIT = r"string_split_regex(lower(text), '[^\pL\pM\pN_]+')"
_PLANTED = """
COPY (
    SELECT a, o,
        format((['A photo of a {} {} standing on the table, in the sun.', 'two {} {}s and somebody in front of a wall',
                 'There is a {} {}; nothing else to be seen here, I think!'])[1 + i % 3], a, o) AS text
    FROM (
        SELECT i, 'a' || chr(97 + (x % 26)::INT) || x AS a, 'o' || chr(97 + (y % 26)::INT) || y AS o
        FROM (
            SELECT i, hash(i) % $attributes AS x, (hash(i + 7) % $objects) * (hash(i + 3) % $objects) // $objects AS y
            FROM range($captions) t(i)
        )
    )
) TO '$path' (FORMAT parquet)
"""


def make(path: Path, captions: int) -> str:
    """Write captions, the pair of each beside it; answers with the vocabulary."""
    sizes = {"attributes": ATTRIBUTES, "objects": OBJECTS, "captions": captions, "path": path}
    asked = _PLANTED
    for name, value in sizes.items():
        asked = asked.replace(f"${name}", str(value))
    duckdb.connect().execute(asked)
    words = ((first, count) for first, count in (("a", ATTRIBUTES), ("o", OBJECTS)))
    listed = (", ".join(f"{first}{chr(97 + k % 26)}{k}" for k in range(count)) for first, count in words)
    return "attribute: {}; object: {}".format(*listed)


def prepare_bare(path: Path, said: str) -> Callable[[], Any]:
    """A bare question to DuckDB."""
    connection = duckdb.connect()

    def work() -> Any:
        asked = f"SELECT w, count(*) FROM (SELECT unnest({said}) AS w FROM '{path}') GROUP BY w"
        return len(connection.execute(asked).fetchall())

    return work


def prepare_ours(path: Path, words: str) -> Callable[[], Any]:
    """Combinations of attributes and objects; what has to be imported is."""
    recombine.read({"a": ["x", "y"], "b": ["p", "q"]}, factors=["a", "b"])

    def work() -> Any:
        found = recombine.read(TextSource(str(path), concepts=f"text={words}"), factors=["attribute", "object"])
        rows = zip(map(found.combination, range(len(found))), found.counts.tolist(), strict=True)
        return {"\t".join(one.values()): often for one, often in rows}

    return work


def main(given: argparse.Namespace) -> None:
    """Make the captions, measure, print."""
    captions = 20_000 if given.smoke else given.captions
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "captions.parquet"
        words = make(path, captions)
        follow = f"(SELECT list_zip(l[:-2], l[2:]) FROM (SELECT {_SPLIT} AS l))"
        subjects: dict[str, tuple[Any, ...]] = {
            "words": (prepare_bare, path, _SPLIT),
            "bigrams": (prepare_bare, path, follow),
            "ours": (prepare_ours, path, words),
        }
        found = take_turns(subjects, rounds=1 if given.smoke else given.rounds)
        planted = duckdb.execute(f"SELECT a || '\t' || o, count(*) FROM '{path}' GROUP BY 1").fetchall()
        size = path.stat().st_size / 2**30
    right = found["ours"].answer == dict(planted)
    ours = found["ours"].cpu
    rows = [
        (name, one.median, one.cpu, captions / one.cpu, ours / one.cpu, one.peak_gib) for name, one in found.items()
    ]
    table(["", "seconds", "processor s", "captions per processor s", "ours / it", "peak GiB"], rows)
    hours = ours / captions * LARGE / 3600
    print(f"{captions:,} captions, {size:.2f} GiB; {len(planted):,} pairs, every count as planted: {right}")
    print(f"{LARGE:,} captions at that rate: {hours:.1f} hours of one core (on paper)")
    figures = {name: {k: v for k, v in one.plain().items() if k != "answer"} for name, one in found.items()}
    write("captions", given, figures | {"captions": captions, "right": right, "hours on paper": hours})


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--captions", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the file is made")
    main(parser.parse_args())
