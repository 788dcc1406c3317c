"""The hook for pre-commit, run by the real pre-commit in a repository of somebody else's."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_action import held_out, write

ROOT = Path(__file__).parents[1]
pytest.importorskip("pre_commit")
yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(not (ROOT / ".pre-commit-hooks.yaml").is_file(), reason="the repository is not here")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository with two splits, one of which leaks, and a table that is none."""
    folder = tmp_path / "theirs"
    (folder / "data").mkdir(parents=True)
    git(folder, "init", "-q")
    write(folder, "data/clean split.csv", held_out())
    write(folder, "data/leaking.csv", [*held_out(), "wool,hat,again.jpg,train"])
    write(folder, "prices.csv", ["item,price", "coat,1"])
    return folder


def run(folder: Path, hooks: dict, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hooks]}))
    git(folder, "add", "-A")
    place = folder.parent / "bin"
    place.mkdir(exist_ok=True)
    (place / "recombine").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recombine "$@"\n')
    (place / "recombine").chmod(stat.S_IRWXU)
    environment = os.environ | {
        "PRE_COMMIT_HOME": str(folder.parent / "cache"),
        "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--verbose", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def theirs(**more: object) -> dict[str, object]:
    return {"args": ["--factors", "material,garment", "--id", "image"], "files": "^data/"} | more


@pytest.mark.process
def test_the_hook_with_the_environment_at_hand(repository) -> None:
    """The hook as it is published, but for its environment: nothing is built."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    found = run(repository, {"repo": "local", "hooks": [hook | theirs(language="system")]}, "--all-files")
    assert found.returncode == 1
    assert "exit code: 3" in found.stdout
    assert "data/clean split.csv" in found.stdout
    assert "Split check passed" in found.stdout
    assert "1 of 5 test combinations is in training too" in found.stdout
    assert "prices.csv" not in found.stdout


def test_nothing_is_looked_at_where_no_split_changed(repository) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    hooks = {"repo": "local", "hooks": [hook | theirs(language="system")]}
    found = run(repository, hooks, "--files", "prices.csv")
    assert found.returncode == 0
    assert "no files to check" in found.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_hook_as_it_is_published(repository) -> None:
    """pre-commit clones the repository and builds an environment for it, which takes the network, and minutes."""
    if not (ROOT / ".git").exists():
        pytest.skip("there is no repository to clone")
    hooks = {"repo": str(ROOT), "rev": git(ROOT, "rev-parse", "HEAD"), "hooks": [theirs(id="recombine-lint")]}
    (repository / "data" / "leaking.csv").unlink()
    found = run(repository, hooks, "--all-files")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "Split check passed" in found.stdout
