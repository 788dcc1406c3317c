"""`recombine doctor` and `recombine --version --verbose`: true, whole, and without secrets."""

import getpass
import json
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.cli import doctor
from recombine.cli.app import app


def said(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("distribution", sorted(doctor._ADDS))
def test_every_extra_is_told_in_words(distribution) -> None:
    assert sorted(doctor._ADDS[distribution]) == doctor.extras(distribution)


def test_what_is_needed_is_what_the_metadata_says() -> None:
    needed = {one.name for one in doctor.wanted("recombine")}
    assert {"numpy", "duckdb", "scipy"} <= needed
    assert not needed & {one.name for extra in doctor.extras("recombine") for one in doctor.wanted("recombine", extra)}
    told = said("doctor").splitlines()
    for one in doctor.wanted("recombine"):
        assert one.version == metadata.version(one.name)
        assert f"  {one}" in told


def test_a_missing_package_is_named_with_what_brings_it(monkeypatch) -> None:
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "h5py" else installed(name))
    (line,) = [line for line in said("doctor").splitlines() if line.startswith("  anndata")]
    assert "missing" in line
    assert "pip install 'recombine[anndata]' (h5py is not installed)" in line


def test_a_package_that_is_too_old_is_a_mistake(monkeypatch) -> None:
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: "1.4" if name == "scipy" else installed(name))
    done = CliRunner().invoke(app, ["doctor"])
    assert "  scipy 1.4 (>=1.13 is wanted)" in done.output
    assert "scipy 1.4 (>=1.13 is wanted)" in str(done.exception)


def test_json_holds_the_same() -> None:
    told = json.loads(said("doctor", "--json"))
    assert told["versions"] == said("--version", "--verbose").splitlines()
    assert told["extras"]["recombine"]["anndata"][0]["name"] == "h5py"
    assert told["engines"]["DuckDB"].startswith("answers in ")


def test_no_secret_no_folder_and_no_user_is_told(monkeypatch) -> None:
    for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "open-sesame")
    both = said("doctor", "--json") + said("doctor") + said("--version", "--verbose")
    assert "open-sesame" not in both
    assert str(Path.home()) + "/" not in both
    assert str(Path.cwd()) not in both
    assert getpass.getuser() + "@" not in both


def test_an_engine_that_answers_and_one_that_does_not(tmp_path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert "table.csv, 2 columns" in said("doctor", str(tmp_path / "table.csv"))
    done = CliRunner().invoke(app, ["doctor", "postgresql://me:sesame@localhost:1/shop", "--table", "products"])
    assert done.exit_code != 0
    assert "DuckDB        answers" in done.output
    assert "sesame" not in done.output + str(done.exception)


def test_verbose_alone_is_refused_in_words() -> None:
    assert "recombine --version --verbose" in str(CliRunner().invoke(app, ["--verbose"]).exception)
