"""A package of somebody else adds a kind of table and a command, by entry points alone."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base import plugins
from recombine.base.errors import RecordError
from recombine.base.records import Provenance, Record
from recombine.cli.app import app

TEMPLATE = Path(__file__).parents[1] / "examples" / "extension"


@pytest.mark.process
def test_the_template_is_installed_and_run(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = ["pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", str(site), str(TEMPLATE)]
    subprocess.run([sys.executable, "-m", *install], check=True)
    np.savez(tmp_path / "shoes.npz", colour=["red", "red", "blue"], shape=["flat", "high", "flat"])

    def ended(*words: str) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"PYTHONPATH": str(site)}
        command = [sys.executable, "-m", "recombine", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    def said(*words: str) -> str:
        done = ended(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "3 of 4" in " ".join(said("audit", "shoes.npz", "--factors", "colour,shape").split())
    assert said("npz-columns", "shoes.npz").split() == ["colour", "shape"]
    assert "npz-columns" in said("--help")
    assert "  recombine.readers: npz  recombine_npz:READER" in said("doctor").splitlines()
    (tmp_path / "junk.npz").write_bytes(b"PK junk")
    for junk in ("junk.npz", "none.npz"):
        for words in (("audit", junk, "--factors", "colour,shape"), ("npz-columns", junk)):
            done = ended(*words)
            assert done.returncode == 2, words
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("misspelt", "meant"), [("prob", "probe"), ("swep", "sweep"), ("adit", "audit")])
def test_a_misspelt_command_is_suggested_whoever_brings_it(misspelt: str, meant: str) -> None:
    assert f"Did you mean '{meant}'?" in " ".join(CliRunner().invoke(app, [misspelt]).output.split())


@pytest.mark.parametrize(("command", "hint"), [("sweep", "recombine[lab]"), ("study", "./studies")])
def test_without_the_package_a_command_says_what_to_install(command: str, hint: str, monkeypatch) -> None:
    monkeypatch.setattr(plugins, "_entries", lambda group: {})
    refused = CliRunner().invoke(app, [command, "anything"])
    assert hint in refused.exception.instead
    assert command not in CliRunner().invoke(app, ["--help"]).stdout.split("Examples")[0].split()


class Recipe(recombine.Result):
    """A kind of result that another package saves."""

    kind = "recipe"
    verdict, grade, table, provenance = "Stir.", "untested", pa.table({}), Provenance(source="a book")

    def record(self) -> Record:
        return Record(self.kind, {"verdict": self.verdict}, {}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Recipe":
        return cls()


def test_a_kind_of_result_that_a_package_adds_is_loaded_and_replaced(tmp_path: Path, monkeypatch) -> None:
    Recipe().save(tmp_path / "recipe")
    with pytest.raises(RecordError, match=r"'recipe', which recombine .* does not know"):
        recombine.load(tmp_path / "recipe")
    monkeypatch.setattr(plugins, "_entries", lambda group: {"recipe": SimpleNamespace(load=lambda: Recipe)})
    assert isinstance(recombine.load(tmp_path / "recipe"), Recipe)
    Recipe().save(tmp_path / "recipe", force=True)
