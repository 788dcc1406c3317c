"""All families, or some, through their verbs; the tables that the benchmark prints, and its file."""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

from evidence.coverage_summary import (
    GRADE_HEADER,
    HELD_HEADER,
    STATEMENT_HEADER,
    grade_lines,
    held_lines,
    plain,
    statement_lines,
    width_ratios,
)
from evidence.trials import Record, Trial, chosen_by_answer, trials
from measure import table

_SMOKE_TABLES, _SMOKE_STEP = 1, 3


def asked_for(given: argparse.Namespace) -> list[Trial]:
    """The families that were named, by verb, by name or both; "sealed" stands for the sealed ones."""
    every = trials()
    if not given.families:
        return every[::_SMOKE_STEP] if given.smoke else every
    names = {name.strip() for name in given.families.split(",")}
    return [one for one in every if names & {one.verb, one.family, one.name, "sealed" if one.sealed else ""}]


def collect(chosen: list[Trial], given: argparse.Namespace) -> list[Record]:
    """Records of every family, which say on the way how long they take; with `--out` also line by line beside it, so
    that a run that is ended before its end is not lost.
    """
    warnings.filterwarnings("ignore")
    found: list[Record] = []
    started = time.perf_counter()
    for one in chosen:
        mine = list(one.records(_SMOKE_TABLES if given.smoke else given.tables or one.tables))
        found += mine
        if given.out:
            with Path(given.out).with_suffix(".jsonl").open("a", encoding="utf-8") as lines:
                lines.writelines(f"{json.dumps(record, default=str)}\n" for record in mine)
        if not given.smoke:
            print(f"{one.name}: {time.perf_counter() - started:.0f} s", flush=True)
    return found


def report(records: list[Record], chosen: list[Trial], given: argparse.Namespace) -> dict[str, Any]:
    """What was found, beside an earlier run if there is one."""
    before: list[Record] = json.loads(Path(given.against).read_text())["figures"]["records"] if given.against else []
    sealed = frozenset(one.name for one in chosen if one.sealed)
    lines = held_lines(records, sealed)
    then = {one.name: one for one in held_lines(before, sealed)}
    ratios = width_ratios(records, before)
    chosen_names = chosen_by_answer()
    print(
        "\nIntervals of 95 %: in brackets what luck in the number of tables leaves open; 'too high' counts tables whose"
    )
    print("truth is below the interval. Means are of values from -1 up. * the seen ones were chosen by their answer.")
    table(HELD_HEADER, [_marked(one.line(then.get(one.name), ratios.get(one.name)), chosen_names) for one in lines])
    print(
        "\nGrades. 'sound' is held to the combinations that it speaks of; 'true ≥ .8' are tables in which the rule gets"
    )
    print("that on at least half of the unseen ones, and no less than one answer for all: 'failing' is false there.")
    table(GRADE_HEADER, grade_lines(records))
    print("\nStatements: false ones, and how often what was planted is found")
    table(STATEMENT_HEADER, statement_lines(records))
    failed = [
        f"{one['verb']}: {one['family']}, table {one['number']}: {one['error']}" for one in records if "error" in one
    ]
    print("\n".join([f"\n{len(failed)} of {len(records)} tables ended in an error", *failed[:5]]))
    if failed and given.smoke:
        raise SystemExit(1)
    return {"lines": plain(lines), "records": records}


def _marked(line: list[str | int | float], chosen: frozenset[str]) -> list[str | int | float]:
    family = str(line[0]).split(": ")[1].split(",")[0]
    return [f"{line[0]} *" if family in chosen else line[0], *line[1:]]
