"""What every verb says of the seven real tables, as numbers: written down once, compared ever after.

    python -m tests.golden_verbs              rewrite golden_verbs.json, after a change of numbers that was meant
    python -m tests.golden_verbs audit plan   only what these verbs say; SCAN's predictions take minutes

A number is kept to nine digits: solvers and engines may differ in the last ones.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import recombine

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from tables import TABLES, Table, data_folder

FILE = Path(__file__).with_suffix(".json")
_WORDS = ("verdict", "grade", "reasons", "provenance", "settings", "sentence", "kind", "format")
_MOST = 40  # numbers of one list: the rest is in its length and its sum


def rows_of(table: Table, folder: Path) -> pa.Table:
    """The combinations of a table, a row each, with a number, a made-up side and made-up answers."""
    support = recombine.read(folder / table.file, **table.question)
    columns = {
        factor.name: pa.array([str(factor.values[code]) for code in support.codes[:, k]])
        for k, factor in enumerate(support.space.factors)
    }
    rng = np.random.default_rng(0)
    truth = np.log10(support.counts + support.codes.sum(axis=1))
    effects = truth.mean() + 0.5 * (truth - truth.mean())
    columns["number"] = pa.array(truth)
    columns["label"] = pc.if_else(pc.greater(columns["number"], float(np.median(truth))), "high", "low")
    columns["side"] = pa.array(np.where(rng.random(len(truth)) < 0.7, "train", "test"))
    columns["guess"] = pa.array(effects + 0.1 * rng.standard_normal(len(truth)))
    return pa.table(columns)


def audited(table: Table, folder: Path, _: Path) -> Any:
    return recombine.audit(recombine.read(folder / table.file, **table.question))


def planned(table: Table, folder: Path, _: Path) -> Any:
    return recombine.plan(recombine.read(folder / table.file, **table.question), goal="leverage", budget=5)


def predicted(table: Table, folder: Path, _: Path) -> Any:
    rows = rows_of(table, folder)
    return recombine.predict(recombine.read(rows, factors=_factors(table), target="number"))


def labelled(table: Table, folder: Path, _: Path) -> Any:
    rows = rows_of(table, folder)
    return recombine.predict(
        recombine.read(rows, factors=_factors(table), target="label"), fit=recombine.FitSettings(loss="squared")
    )


def linted(table: Table, folder: Path, _: Path) -> Any:
    rows = rows_of(table, folder)
    return recombine.lint(rows, factors=_factors(table), split="side", target="label")


def evaluated(table: Table, folder: Path, _: Path) -> Any:
    rows = rows_of(table, folder)
    return recombine.evaluate(rows, factors=_factors(table), target="number", prediction="guess", split="side")


def split(table: Table, folder: Path, scratch: Path) -> Any:
    splitter = recombine.HoldOutCombinations(factors=_factors(table), random_state=0)
    return recombine.split(rows_of(table, folder), by=splitter, out=scratch / f"{table.name}.parquet")


VERBS: Mapping[str, Callable[[Table, Path, Path], Any]] = {
    "audit": audited,
    "plan": planned,
    "predict": predicted,
    "predict_labels": labelled,
    "lint": linted,
    "evaluate": evaluated,
    "split": split,
}


def _factors(table: Table) -> list[str]:
    return list(table.question["factors"])


def numbers(found: Any) -> dict[str, Any]:
    """Every number of a result, under the path that leads to it."""
    record = found.record()
    told = dict(_flat("", {name: value for name, value in record.data.items() if name not in _WORDS}))
    for name, table in record.tables.items():
        for column in table.schema:
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                told[f"{name}.{column.name}"] = _summary(table[column.name].to_numpy().astype(float))
    return told


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name not in _WORDS:
                yield from _flat(f"{path}.{name}".lstrip("."), item)
    elif isinstance(value, list | tuple) and len(value) <= _MOST:
        for k, item in enumerate(value):
            yield from _flat(f"{path}.{k}", item)
    elif isinstance(value, list | tuple):
        yield f"{path}.length", len(value)
    elif isinstance(value, bool | int | float) and not isinstance(value, bool):
        yield path, _rounded(float(value))


def _summary(column: np.ndarray) -> list[float]:
    known = column[np.isfinite(column)]
    return [len(column), len(known), _rounded(known.sum()), _rounded((known**2).sum())]


def _rounded(number: float) -> float | str:
    return float(f"{number:.9g}") if np.isfinite(number) else str(number)


def asked(table: Table, verb: str, folder: Path) -> recombine.Result | recombine.RecombineError:
    """What one verb answers of one table, or its refusal."""
    with TemporaryDirectory() as scratch:
        try:
            return VERBS[verb](table, folder, Path(scratch))
        except recombine.RecombineError as error:
            return error


def measured(table: Table, verb: str, folder: Path) -> dict[str, Any]:
    """The numbers of one verb on one table, or the name of its refusal."""
    found = asked(table, verb, folder)
    return {"refused": type(found).__name__} if isinstance(found, recombine.RecombineError) else numbers(found)


def main() -> None:
    folder = data_folder()
    if folder is None:
        sys.exit("the data sets are not here; set RECOMBINE_DATA to their folder")
    told = json.loads(FILE.read_text(encoding="utf-8"))
    for verb in sys.argv[1:] or VERBS:
        told |= {f"{table.name} {verb}": measured(table, verb, folder) for table in TABLES}
    FILE.write_text(json.dumps(told, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
