"""What the workflows of the code host would only say once they run there."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
NOT_ON_WINDOWS = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}

pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="the repository is not here")


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))


def refused(caller: Mapping[str, Any], called: Mapping[str, Any]) -> list[str]:
    """What the jobs of a workflow ask for and who calls it may not grant: the call is then refused before it begins."""
    granted = caller.get("permissions", {})
    asked = [called.get("permissions", {}), *(job.get("permissions", {}) for job in called["jobs"].values())]
    wanted = {(what, how) for one in asked for what, how in one.items()}
    return sorted(what for what, how in wanted if granted.get(what) not in (how, "write"))


def test_who_calls_a_workflow_grants_what_its_jobs_ask_for() -> None:
    calls = 0
    for path in WORKFLOWS.glob("*.yml"):
        whole = workflow(path.name)
        for job in whole["jobs"].values():
            if "uses" in job:
                own = {"permissions": job.get("permissions", whole.get("permissions", {}))}
                assert refused(own, workflow(Path(job["uses"]).name)) == [], path.name
                calls += 1
    assert calls


def test_a_call_that_would_be_refused_is_found() -> None:
    called = {"jobs": {"red": {"permissions": {"issues": "write"}}}}
    assert refused({"permissions": {"contents": "read"}}, called) == ["issues"]
    assert refused({"permissions": {"issues": "read"}}, called) == ["issues"]


def imports(path: Path) -> Iterator[str]:
    """What a module imports wherever it is imported; not what its functions do."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_tests_for_windows_import_what_is_there() -> None:
    """One such import, and nothing is tested there: `conftest.py` had one."""
    command = next(line for line in (WORKFLOWS / "platforms.yml").read_text().split("run: ") if "pytest tests/" in line)
    folders = re.findall(r"\btests/[a-z]+(?!/)\b", command.partition("--ignore")[0])
    assert len(folders) > 5
    waiting = [ROOT / "tests" / "conftest.py", *(path for one in folders for path in (ROOT / one).glob("*.py"))]
    found: dict[Path, set[str]] = {}
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found[path] = set(imports(path))
            waiting += [ROOT / f"{one.replace('.', '/')}.py" for one in found[path] if one.startswith("tests.")]
    assert {path.name: names & NOT_ON_WINDOWS for path, names in found.items() if names & NOT_ON_WINDOWS} == {}
