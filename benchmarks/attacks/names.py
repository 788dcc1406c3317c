"""Hostile names, values, paths, conditions and options; and passwords, which nobody may see again."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import csv
import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from attacks.case import Case, answers_or_words
from attacks.command import Ended, command, strict_json, well_ended
from attacks.hostile import BINS, DOMAINS, LISTED, NAMES, OTHERS, PATHS, SECRET, SECRETS, VALUES, VERBS, WHERE, WIDENS


def attack(case: Case) -> None:
    """One hostile question."""
    case.folder = case.folder / "place"  # so that '..' is a place of its own, too
    case.folder.mkdir()
    _KINDS[case.number % len(_KINDS)](case)


def _next(case: Case, listed: tuple[str, ...]) -> str:
    """One after another, so that each is tried in any long run."""
    return listed[case.number // len(_KINDS) % len(listed)]


# tables ---------------------------------------------------------------------------------------------------------------


def _write(case: Case, columns: dict[str, list[Any]], kind: str = "csv") -> str:
    path = case.folder / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path.name


def _plain(case: Case) -> str:
    """A table with a column of every type, in Parquet, and files of every kind of disorder beside it."""
    days = [datetime.date(2026, 1, 1 + k) for k in range(12)]
    columns: dict[str, Any] = {
        "a": ["v", "w", "x"] * 4,
        "b": ["v", "v", "w", "w"] * 3,
        "y": ["no", "yes", "yes", "no"] * 3,
        "p": ["no", "yes", "no", "no"] * 3,
        "n": [float(k) for k in range(12)],
        "d": days,
        "c": [datetime.time(k, 30) for k in range(12)],
        "s": [datetime.datetime(2026, 1, 1, k, tzinfo=datetime.UTC) for k in range(12)],
        "u": pa.array([2**63 + k % 3 for k in range(12)], type=pa.uint64()),
        "l": [[k] for k in range(12)],
        "split": ["train"] * 8 + ["test"] * 4,
    }
    pq.write_table(pa.table(columns), case.folder / "t.parquet")
    pq.write_table(pa.table({".x": columns["a"], "b": columns["b"]}), case.folder / "dot.parquet")
    _disorder(case.folder)
    return "t.parquet"


def _disorder(folder: Path) -> None:
    texts = {
        "t.csv": "a,b,y\nv,v,1\nw,v,2\nv,w,3\n",
        "empty.csv": "",
        "head.csv": "a,b\n",
        "null.csv": "a,b\n,\n,\n",
        "twice.csv": "a,b,a\nv,v,w\nw,v,v\nv,w,w\n",
        "ragged.csv": "a,b\n1\n1,2,3\n",
        "impossible.csv": "a,b\nx,\n",
        "bom.csv": "\ufeffa,b\nx,v\n",
        "wide.csv": "a,zz\nx,1\n",
        "cost.csv": "a,b,cost\nv,,2\n,w,3\n",
        "huge.csv": "a,b,cost\nv,,1e308\n,w,1e308\n,,1e308\n",
        "negative.csv": "a,b,cost\nv,,-1\n",
        "d.json": '{"a": ["v", "w", "x", "z"]}',
        "null.json": '{"a": [null, "v", "w", "x"]}',
        "list.json": "[1, 2]",
        "number.json": '{"a": [1, 2, 3]}',
        "mixed.json": '{"a": ["v", 1, true, 2.5, "w", "x"], "b": ["v", "w", [1]]}',
        "nested.json": '{"a": [{"x": 1}, "v", "w", "x"]}',
        "deep.json": "[" * 100_000,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "utf16.csv").write_text("a,b\nv,w\nw,v\n", encoding="utf-16")
    (folder / "binary.parquet").write_bytes(b"PAR1" + bytes(range(256)))
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to(folder / "loop")


def _ask(case: Case, words: list[str]) -> Ended:
    """A command, held to its words; its JSON parsed where it gave any."""
    ended = command(words, folder=case.folder)
    if well_ended(case, ended, words) and "--json" in words and ended.code != 2:
        strict_json(case, ended.out, " ".join(words)[:100])
    case.expect(SECRET not in ended.words, f"{' '.join(words)[:120]}: the password is shown")
    return ended


def _verb(case: Case, source: str, factors: str, *more: str) -> list[str]:
    """Any verb, with what it needs at least."""
    verb = case.rng.choice(("audit", "audit", "plan", "split", "predict", "evaluate", "lint"))
    needs = {
        "split": ["--out", case.rng.choice(("o.csv", "o.parquet", "o", "o.tsv.gz"))],
        "predict": ["-t", "y"],
        "evaluate": ["-t", "y", "-p", "p", "--no-causes", "--draws", "200"],
    }.get(verb, [])
    if verb not in ("split", "lint") and case.chance(0.4):
        needs += ["--report", "page.html"]
    if verb != "split" and case.chance(0.4):
        needs += ["--out", "saved"]
    return [verb, source, "-f", factors, *needs, *more, *(["--json"] if case.chance(0.3) else [])]


def _columns(case: Case) -> None:
    """Names of columns."""
    one, other = case.rng.sample(NAMES, 2)
    spare = iter(name for name in ("y", "p", "split") if name not in (one, other))
    columns = {one: ["v", "w", "x"] * 4, other: ["v", "v", "w", "w"] * 3}
    columns |= {name: ["no", "yes", "yes", "no"] * 3 for name in spare}
    columns |= {"split": ["train"] * 8 + ["test"] * 4} if "split" not in (one, other) else {}
    quoted = ",".join('"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in (one, other))
    _ask(case, _verb(case, _write(case, columns, case.rng.choice(("csv", "parquet"))), quoted))


def _values(case: Case) -> None:
    """Values of factors and targets."""
    drawn = case.rng.sample(VALUES, 5)
    columns = {
        "a": [drawn[k % 3] for k in range(12)],
        "b": [drawn[3 + k // 2 % 2] for k in range(12)],
        "y": [drawn[k % 2] for k in range(12)],
        "p": [drawn[(k + 1) % 2] for k in range(12)],
        "split": ["train"] * 8 + ["test"] * 4,
    }
    more = ["--missing", "value"] if case.chance(0.2) else []
    _ask(case, _verb(case, _write(case, columns, case.rng.choice(("csv", "parquet"))), "a,b", *more))


def _paths(case: Case) -> None:
    """Sources that are not there, or are not tables."""
    _plain(case)
    path = _next(case, PATHS)
    ended = _ask(case, _verb(case, path, "a,b"))
    if path == "twice.csv":
        case.expect(ended.code == 2, "a CSV with the column 'a' twice: the first is taken silently")
    if path == "/dev/stdin":
        case.expect("did you mean" not in ended.words, f"/dev/stdin is answered with {ended.err[-80:]!r}")


def _conditions(case: Case) -> None:
    """Conditions: what is one, works; what is more than one is refused."""
    source = _plain(case)
    where = _next(case, WHERE)
    words = _verb(case, source, "a,b", "--where", where)
    ended = _ask(case, words)
    if where in WIDENS:
        case.expect(ended.code == 2, f"--where {where!r} is more than a condition, and passes ({words[0]})")
    if "random" in where and words[0] == "split":
        case.expect(ended.code == 2, f"--where {where!r} draws other rows each time, and a split passes")


def _options(case: Case) -> None:
    """Options of every kind, several at once."""
    source = _plain(case)
    verb = case.rng.choice(list(VERBS))
    words = [
        verb,
        source,
        "-f",
        case.rng.choice(("a,b", "a,b", "a,b", "a,n", "a,d", "a,u", "a,c", "a,s", "a", "a,a", "a,zz", "n,u", "l,a")),
    ]
    words += {"split": ["--out", "o.csv"], "predict": ["-t", "y"], "evaluate": ["-t", "y", "--no-causes"]}.get(verb, [])
    own = VERBS[verb]
    for name in case.rng.sample(list(own), k=min(len(own), case.rng.choice((0, 1, 1, 2)))):
        words += [name] if name == "--backtest" else [name, case.rng.choice(own[name])]
    if case.chance(0.5):
        words += ["--bins", case.rng.choice(BINS)]
    if verb not in ("split", "lint"):
        if case.chance(0.3):
            words += ["--domain", case.rng.choice(DOMAINS)]
        for name in case.rng.sample(list(OTHERS), k=case.rng.choice((0, 1, 1))):
            words += [name, case.rng.choice(OTHERS[name])]
        if verb == "evaluate" and "--draws" not in words:
            words += ["--draws", "200"]
    _ask(case, words + (["--json"] if case.chance(0.3) else []))


def _listed(case: Case) -> None:
    """What went wrong once, each by itself: a random question holds too much else that is refused first."""
    _plain(case)
    line, refused = LISTED[case.number // len(_KINDS) % len(LISTED)]
    ended = _ask(case, [word.replace("LONG", "x" * 5_000) for word in line.split("|")])
    if refused is not None:
        case.expect(
            (ended.code == 2) == refused, f"{line.replace('|', ' ')}: exit code {ended.code}, {ended.err[:160]}"
        )


def _python(case: Case) -> None:
    """Odd numbers as targets, and a margin that a linear program finds, asked in Python."""
    import recombine

    scale = case.rng.choice((1e-200, 1e-320, 1e308, 1e154, 0.0, 5e-324))
    table = {
        "a": ["v", "v", "w", "w", "x", "x"],
        "b": ["p", "q", "p", "q", "p", "q"],
        "y": [scale * case.rng.choice((1, 2, 3, -1)) for _ in range(6)],
    }
    if case.chance(0.3):
        return _margin(case)
    try:
        support = recombine.read(table, factors=["a", "b"], target="y", target_kind="number")
        json.dumps(recombine.audit(support).record().to_json(), allow_nan=False)
        salience = case.rng.choice(("relu:2", "fit", "order:0,1,1"))
        json.dumps(recombine.predict(support, salience=salience).record().to_json(), allow_nan=False)
    except recombine.RecombineError:
        pass
    return None


def _margin(case: Case) -> None:
    """Answers that a sum of single values separates, and a learner that has nothing else: it must find that sum."""
    import recombine

    sizes = case.rng.randint(2, 5), case.rng.randint(2, 5)
    one, other = ([case.rng.uniform(-1, 1) for _ in range(size)] for size in sizes)
    cells = [(k, m) for k in range(sizes[0]) for m in range(sizes[1]) if abs(one[k] + other[m]) > 0.1]
    sure = {f"a{k}-b{m}": one[k] + other[m] > 0 for k, m in cells}
    if len(set(sure.values())) < 2 or len({k for k, _ in cells}) < 2 or len({m for _, m in cells}) < 2:
        return
    table = {
        "a": [f"a{k}" for k, _ in cells],
        "b": [f"b{m}" for _, m in cells],
        "y": ["yes" if value else "no" for value in sure.values()],
    }
    support = recombine.read(table, factors=["a", "b"], target="y")
    try:
        found = recombine.predict(
            support, salience="order:1,1,0", fit=recombine.FitSettings(loss="margin")
        ).table.to_pydict()
    except recombine.RecombineError as error:
        case.expect(False, f"a margin that exists is refused: {error.what}; {error.why}")
        return
    said = dict(zip(zip(found["a"], found["b"], strict=True), found["prediction"], strict=True))
    wrong = [
        key for key, true in zip(zip(table["a"], table["b"], strict=True), table["y"], strict=True) if said[key] != true
    ]
    case.expect(not wrong, f"a margin that exists is missed on {wrong[:3]}")


def _served(case: Case) -> None:
    """A tool of `recombine mcp`, asked with hostile words: an answer or words, and nothing from outside its folder."""
    from recombine.cli.mcp import Tools, Workplace

    _plain(case)
    outside = case.folder.parent / "t.csv"
    outside.write_text(f"a,b\n{SECRET},v\nw,{SECRET}\n", encoding="utf-8")
    (case.folder / "link.csv").symlink_to(outside)
    tools = Tools(Workplace(roots=[case.folder], out=case.folder / "folder"))
    table = case.rng.choice(("t.parquet", "t.parquet", "t.csv", "link.csv", "../t.csv", str(outside), *PATHS))
    factors = case.rng.choice((["a", "b"], ["a", "b"], case.rng.sample(NAMES, 2), []))
    word = case.rng.choice((*NAMES, *PATHS))
    asked = {
        "columns": lambda: tools.columns(table),
        "audit": lambda: tools.audit(table, factors, case.rng.choice((None, "y", word)), page=f"{word}.html"),
        "audit a set": lambda: tools.audit(table, factors, sets=[word]),
        "plan": lambda: tools.plan(table, factors, budget=case.rng.choice((None, -1, 1e308, float("nan")))),
        "lint": lambda: tools.lint(table, factors, split=word),
        "evaluate": lambda: tools.evaluate(table, factors, "y", word, train=case.rng.choice((None, "../t.csv"))),
        "split": lambda: tools.split(table, factors, case.rng.choice((word, f"{word}.parquet", "o.parquet"))),
        "diff": lambda: tools.diff(table, word),
    }
    name = case.rng.choice(list(asked))
    told: list[Any] = []
    answers_or_words(case, f"mcp {name} of {table!r:.60}, {word!r:.60}", lambda: told.append(asked[name]()))
    case.expect(SECRET not in repr(told), f"mcp {name} of {table!r:.60}, {word!r:.60} reads what lies outside")
    case.expect(set(case.folder.parent.iterdir()) == {case.folder, outside}, f"mcp {name}: {word!r:.60} lies outside")


# secrets --------------------------------------------------------------------------------------------------------------


def _failing_secrets(case: Case) -> None:
    """Addresses that cannot be opened: the error tells of the address, not of the password."""
    _plain(case)
    address = _next(case, SECRETS).format(SECRET)
    place = case.rng.choice(("source", "source", "truth", "train", "against", "store", "table"))
    words = {
        "source": _verb(case, address, "a,b", "--table", "t"),
        "truth": ["predict", "t.parquet", "-f", "a,b", "-t", "y", "--truth", address],
        "train": ["evaluate", "t.parquet", "-f", "a,b", "-t", "y", "-p", "p", "--train", address],
        "against": ["lint", "t.parquet", "-f", "a,b", "--against", address],
        "store": ["runs", "list", address],
        "table": _verb(case, address, "a,b"),
    }[place]
    _ask(case, words)
    _unwritten(case, words)


def _kept_secrets(case: Case) -> None:
    """A database that answers: nothing that is written or printed afterwards holds the password.

    The server is not there: its address opens an engine in memory, and everything from there on is the library's.
    """
    _plain(case)
    address = case.rng.choice(SECRETS[:4] + SECRETS[9:12] + SECRETS[13:14]).format(SECRET)
    verb = case.rng.choice(("audit", "plan", "predict", "split", "lint", "evaluate"))
    words = [verb, address, "-f", "a,b", "--table", "t"]
    words += {"predict": ["-t", "y"], "evaluate": ["-t", "y", "-p", "p", "--no-causes"]}.get(verb, [])
    words += ["--out", case.rng.choice(("o.csv", "o")) if verb == "split" else "saved"]
    words += ["--report", "page.html"] if verb in ("audit", "plan", "predict", "evaluate") else []
    words += ["--json"] if case.chance(0.4) else []
    with _pretended(case.folder / "t.parquet"):
        _ask(case, words)
    _unwritten(case, words)


@contextmanager
def _pretended(table: Path) -> Iterator[None]:
    import ibis

    def connect(*_: Any, **__: Any) -> Any:
        backend = ibis.duckdb.connect()
        backend.con.execute(f"CREATE TABLE t AS SELECT a, b, y, p, split FROM '{table}'")
        return backend

    with mock.patch.object(ibis, "connect", connect):
        yield


def _unwritten(case: Case, words: list[str]) -> None:
    for path in case.folder.rglob("*"):
        if path.is_file() and SECRET.encode() in path.read_bytes():
            case.expect(
                False, f"{words[0]} {words[1][:60]}: the password is written to {path.relative_to(case.folder)}"
            )


_KINDS = (
    _columns, _values, _paths, _conditions, _options, _options, _listed, _failing_secrets, _kept_secrets, _python,
    _served,
)  # fmt: skip
