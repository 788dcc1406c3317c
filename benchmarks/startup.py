"""How long one waits before anything happens: `recombine --help` against an interpreter that does nothing.

Also, for orientation, an audit of a table of four rows: what a first answer costs, whatever the table.
Goal: `--help` adds less than 0.5 seconds to `python -c pass`.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

GOAL_SECONDS = 0.5
COMMAND = "from recombine.cli import main; main()"  # what the installed `recombine` script does


def run(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds from start to end of one process, and its processor time."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    ended, after = time.perf_counter(), os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return ended - started, cpu


def with_byte_code(folder: Path) -> dict[str, str]:
    """An environment in which every module is compiled once, as an installed one is."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    rounds = 3 if given.smoke else 21
    with tempfile.TemporaryDirectory(prefix="recombine-startup-") as folder:
        tiny = Path(folder) / "tiny.csv"
        tiny.write_text("colour,shape\nred,circle\nred,square\nblue,circle\nblue,square\n")
        subjects = {
            "python -c pass": ["-c", "pass"],
            "recombine --help": ["-c", COMMAND, "--help"],
            "recombine audit, four rows": ["-c", COMMAND, "audit", str(tiny), "--factors", "colour,shape"],
        }
        environment = with_byte_code(Path(folder) / "bytes")
        # the first round is not counted: it writes the byte code and warms the file cache
        runs = [{name: run(asked, environment) for name, asked in subjects.items()} for _ in range(rounds + 1)][1:]
    lines = []
    for name in subjects:
        wall, cpu = (statistics.median(one[name][k] for one in runs) for k in (0, 1))
        # the difference is taken within a round, where both met the same load
        beyond = [[a - b for a, b in zip(one[name], one["python -c pass"], strict=True)] for one in runs]
        more, more_cpu = map(statistics.median, zip(*beyond, strict=True))
        lines.append([name, wall, more, cpu, more_cpu])
    header = ["", "seconds", "beyond python", "CPU seconds", "beyond python"]
    measure.table(header, lines)
    _, _, added, _, added_cpu = lines[1]
    goal = f"goal: below {GOAL_SECONDS}; median of {rounds}"
    print(f"--help adds {added:.2f} s, {added_cpu:.2f} s of CPU ({goal})")
    names = ("name", "seconds", "added", "cpu", "added_cpu")
    measure.write("startup", given, [dict(zip(names, line, strict=True)) for line in lines])


if __name__ == "__main__":
    main()
