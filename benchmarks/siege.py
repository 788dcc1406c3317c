"""The attack: thousands of random cases against everything that has landed, each of which can be repeated by itself.

- tables: random small tables (weights of 0, missing and declared values, impossible lines, targets of any scale) and
  long chains. Counts, coverage, ranks, leverage, dependence, means and noise, predictions, scores and splits equal
  those of a twin in plain arithmetic; sentences agree with the counts.
- records: saved results and manifests, edited, cut off, renamed, linked elsewhere. They load as they were, or are
  refused in words; nothing outside the folder is read or written.
- stores: the same for run stores, through `recombine runs`; a sweep resumed over damaged runs.
- names: hostile names, values, paths, conditions and options, to commands and to tools of `recombine mcp`; passwords in
  addresses. Every command ends in words and a documented exit code; no password is shown or written.
- outputs: any verb with `--out`, `--report` and `--force` in a folder full of other people's files. No bystander and no
  source ever changes; nothing is replaced without `--force`, but for a page that recombine drew.
- kills: SIGKILL or Ctrl-C at any moment of a write over an older result, page or study, four writers at once. The old
  or the new is there, whole, or comes back with the next command; what was left behind goes with the next write.
- strangers: pictures, arrays, tar shards and logs of evaluations that somebody sent. They are read or refused in words;
  nothing beside them is opened and no program started.
- places: run stores whose records name code, under any key. None of it is imported or called.
- disk: a disk that is full, files that may not grow. Words, and the old is intact.
- environments: warnings as errors, ASCII and Latin-1 output, a full or closed output. No traceback.
- limits: inputs that would take all memory or time. Words within seconds.

`--only FAMILY --case K --seed S` repeats one case exactly (kills at a moment of the clock, rather than before a change,
are drawn again but depend on the machine). The exit code is 1 if anything failed.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import measure
import recombine

sys.path.insert(0, str(Path(__file__).parent))  # workers are told of it too
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))

from attacks.case import Outcome, run_case
from attacks.crew import Asked, Crew, planted
from attacks.families import FAMILIES, shared

PAGE = Path(__file__).parents[1] / "SECURITY.md"
_BEGIN, _END = "<!-- siege -->", "<!-- end of siege -->"
Line = tuple[str, int, int, int, float]
"""Of a family: cases, failures, cases that could not be tried, seconds."""
CASES = 6_000
SMOKE = 200
INTERRUPTED = 130


def options() -> argparse.Namespace:
    """What was asked."""
    parser = measure.options(__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help=f"how many cases in all (default {CASES:,})")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--only", choices=list(FAMILIES), help="one family alone")
    parser.add_argument("--case", type=int, help="one case of that family, in this process")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--write", action="store_true", help="put the table of cases into SECURITY.md")
    parser.add_argument("--plant", metavar="MODULE:FUNCTION", help="break the library first, to see that it is found")
    given = parser.parse_args()
    if given.case is not None and given.only is None:
        parser.error("--case needs --only FAMILY")
    return given


def chosen(given: argparse.Namespace) -> list[Asked]:
    """The cases to run, families mixed so that an estimate holds."""
    counts = shared(SMOKE if given.smoke else given.cases)
    if given.only:
        counts = {given.only: counts[given.only] if given.smoke else given.cases}
    spread = [((place + 0.5) / count, name, place) for name, count in counts.items() for place in range(count)]
    return [(name, place) for _, name, place in sorted(spread)]


def watched(crew: Crew, cases: list[Asked]) -> Iterator[Outcome]:
    """Outcomes as they come, with a bar and an estimate on a terminal, and a line for each tenth in a log."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("attacking", total=len(cases))
        failed = 0
        for number, outcome in enumerate(crew.run(cases), start=1):
            failed += bool(outcome.faults)
            bar.update(task, advance=1, description=f"attacking, {failed:,} failed")
            if bar.disable and number % max(len(cases) // 10, 1) == 0:
                print(f"{number:,} of {len(cases):,} cases, {failed:,} failed", file=sys.stderr)
            yield outcome


def main() -> int:
    """Run it, in a scratch folder that goes away whatever becomes of the workers."""
    given = options()
    os.environ["SIEGE_PLANT"] = given.plant or ""
    with tempfile.TemporaryDirectory(prefix="siege-", ignore_cleanup_errors=True) as scratch:
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        return attacked(given) if given.case is None else alone(given)


def attacked(given: argparse.Namespace) -> int:
    """All cases, by all workers."""
    cases, done = chosen(given), list[Outcome]()
    started = time.perf_counter()
    crew = Crew(workers=given.workers, seed=given.seed, plant=given.plant)
    stopped = False
    try:
        for outcome in watched(crew, cases):
            done.append(outcome)
    except KeyboardInterrupt:
        stopped = True
    finally:
        crew.dismiss()
    lines = told(done, given, time.perf_counter() - started)
    if stopped:
        print(f"Stopped after {len(done):,} of {len(cases):,} cases.")
        return INTERRUPTED
    if given.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), lines, seed=given.seed), encoding="utf-8")
    measure.write("siege", given, [asdict(outcome) for outcome in done if outcome.faults or outcome.skipped])
    return int(any(outcome.faults for outcome in done))


def alone(given: argparse.Namespace) -> int:
    """One case, here."""
    from attacks.children import dismiss  # noqa: PLC0415 - only workers and this need it

    if given.plant:
        planted(given.plant)
    outcome = run_case(FAMILIES[given.only].attack, family=given.only, seed=given.seed, number=given.case)
    dismiss()
    for fault in outcome.faults:
        print(fault)
    print(f"{given.only} {given.case}: {outcome.skipped or 'failed' if outcome.faults or outcome.skipped else 'held'}")
    return int(bool(outcome.faults))


def told(done: list[Outcome], given: argparse.Namespace, seconds: float) -> list[Line]:
    """A line for each family, then each failure with the words that repeat it."""
    by_family: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in done:
        by_family[outcome.family].append(outcome)
    families = [(name, by_family[name]) for name in FAMILIES if name in by_family]
    lines = [_line(name, found) for name, found in [*families, ("all", done)]]
    failed = [outcome for outcome in done if outcome.faults]
    measure.table(["family", "cases", "failures", "not tried", "seconds"], lines)
    for why, count in Counter(one.skipped for one in done if one.skipped).items():
        print(f"{count:,} cases could not be tried here: {why}")
    for outcome in sorted(failed, key=lambda one: (list(FAMILIES).index(one.family), one.number)):
        print(f"\n{outcome.family} {outcome.number}: {outcome.faults[0]}")
        for more in outcome.faults[1:4]:
            print(f"  {more}")
        plant = f" --plant {given.plant}" if given.plant else ""
        print(
            f"  python benchmarks/siege.py --only {outcome.family} --case {outcome.number} --seed {given.seed}{plant}"
        )
    print(f"\n{len(done):,} cases, {len(failed):,} failures, {seconds:.0f} s")
    return lines


def _line(name: str, done: list[Outcome]) -> Line:
    failures, skipped = sum(bool(one.faults) for one in done), sum(bool(one.skipped) for one in done)
    return name, len(done), failures, skipped, sum(one.seconds for one in done)


def with_table(page: str, lines: list[Line], *, seed: int) -> str:
    """A page with the table of a run between its two marks."""
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    rows = [f"| {name} | {cases:,} | {failures:,} | {skipped:,} |" for name, cases, failures, skipped, _ in lines]
    heading = ["| family | cases | failures | could not be tried here |", "|---|---|---|---|"]
    told_of = f"`python benchmarks/siege.py --write`, recombine {recombine.__version__}, seed {seed}:"
    return before + "\n".join([_BEGIN, told_of, "", *heading, *rows, ""]) + _END + after


if __name__ == "__main__":
    sys.exit(main())
