"""Is each canary still alive? Break what it guards in a copy of the sources, and see that it fails.

    python .ci/breakings.py [CANARY ...]

A canary that passes over its broken piece, or a piece that is no longer there to be broken, ends this with 1.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "lab/src", "studies/src")
FAILED = 1
"""How pytest, the siege and a traceback end. A canary that is not there any more ends in another code: 4, 5 or 2."""


def _test(name: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-p", "no:cacheprovider", "--tb=line", f"tests/{name}")


@dataclass(frozen=True)
class Breaking:
    """A piece of the sources, what it is replaced by, and what must fail then."""

    file: str
    piece: str
    broken: str
    canary: tuple[str, ...]


BREAKINGS = {
    "PostgreSQL": Breaking(
        "src/recombine/data/sources.py", ' | {"postgresql"}', "", _test("data/test_engines.py::test_postgres")
    ),
    "Spark": Breaking(  # asked in words that DuckDB alone knows
        "src/recombine/data/engine.py",
        "return backend.to_pyarrow(expression)",
        "return backend.con.sql(backend.compile(expression)).to_arrow_table()",
        _test("data/test_engines.py::test_spark"),
    ),
    "Ray": Breaking(
        "lab/src/recombine_lab/sweeps/ray_pool.py",
        " ray.shutdown()",
        " pass",
        _test("lab/training/test_rehearsed.py::test_rounds_over_ray_come_to_the_same_answers"),
    ),
    "Chromium": Breaking(
        "src/recombine/output/assets/page.js",
        "function csvCell(text)",
        "function csvCellOf(text)",
        _test("output/test_audit_page.py::test_searching_pinning_sorting_and_downloading_work"),
    ),
    "S3": Breaking(
        "lab/src/recombine_lab/runs/storage.py",
        "self._translated(lambda: self.files.pipe(others))",
        "pass",
        _test("lab/runs/test_writers.py::test_a_store_of_objects_can_be_copied_to_a_folder"),
    ),
    "MLflow": Breaking(
        "lab/src/recombine_lab/runs/tracking.py",
        "client.log_artifacts(",
        "len(",
        _test("lab/runs/test_tracking.py::test_a_run_that_is_put_is_told"),
    ),
    "processes": Breaking(
        "src/recombine/cli/__init__.py",
        "put_off_what_is_not_used(sys.argv[1:])",
        "put_off_what_is_not_used()",
        _test("test_commands.py::test_a_command_in_a_process_of_its_own[demo]"),
    ),
    "study": Breaking(
        "studies/src/recombine_studies/study_run.py",
        "def _runs(plans: Mapping[str, SweepPlan], place: str) -> Rows:",
        "def _runs(plans: Mapping[str, SweepPlan]) -> Rows:",
        ("-m", "recombine", "study", "run", "redundancy", "--preset", "smoke", "--store", "{scratch}/store"),
    ),
    "siege": Breaking(
        "src/recombine/verbs/audit/dependence.py",
        "return min(sqrt(excess / width), 1.0)",
        "return min(sqrt(excess / width) + 0.01, 1.0)",
        ("benchmarks/siege.py", "--smoke", "--only", "tables", "--workers", "1"),
    ),
}


def notices(name: str, scratch: Path) -> bool:
    """Whether a canary fails over its broken piece; what it says is printed."""
    breaking = BREAKINGS[name]
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, scratch / folder)
    file = scratch / breaking.file
    text = file.read_text(encoding="utf-8")
    if breaking.piece not in text:
        print(f"{name}: there is no '{breaking.piece}' in {breaking.file} to break")
        return False
    file.write_text(text.replace(breaking.piece, breaking.broken, 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *(word.format(scratch=scratch) for word in breaking.canary)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(str(scratch / folder) for folder in SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    noticed = done.returncode == FAILED
    print(f"{name}: {'fails' if noticed else f'exit code {done.returncode}'} with {breaking.file} broken")
    print("".join(f"    {line[:150]}\n" for line in said[-3:]), flush=True)
    return noticed


def main() -> int:
    """Break one piece after the other."""
    asleep = []
    for name in sys.argv[1:] or BREAKINGS:
        with tempfile.TemporaryDirectory() as scratch:
            if not notices(name, Path(scratch)):
                asleep.append(name)
    print(f"canaries that notice nothing: {', '.join(asleep)}" if asleep else "every canary noticed")
    return int(bool(asleep))


if __name__ == "__main__":
    sys.exit(main())
