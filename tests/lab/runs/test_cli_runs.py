"""`recombine runs` as a person runs it."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recombine.base.errors import RecombineError
from recombine.cli.app import app
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.store import Store
from tests.commands import subcommands
from tests.lab.runs.samples import configuration, run

DOCS = Path(__file__).parents[3] / "docs" / "runs.md"


@pytest.fixture
def place(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    store = Store.open("runs")
    for seed, unseen in enumerate((0.8, 0.1, 0.9)):
        store.put(run(seed, unseen=unseen), files={"model.safetensors": b"weights"})
        store.put(run(seed, unseen=unseen / 20, model={"name": "cnn"}))
    return "runs"


def ran(*words: str, **env: str) -> str:
    done = CliRunner().invoke(app, ["runs", *words], env={"COLUMNS": "120"} | env)
    if isinstance(done.exception, RecombineError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_list(place):
    said = ran("list", place)
    assert "6 runs: 6 finished." in said
    assert said.count("addition") == 1
    assert re.search(r"task +addition +values=5", said)
    assert "\x1b" not in said
    for made in (run(1), run(1, model={"name": "cnn"})):
        (line,) = [line for line in said.splitlines() if line.strip().startswith(made.key[:8])]
        assert line.split()[1:4] == [made.configuration.model["name"], "1", "finished"]


def test_a_list_for_machines(place):
    found = json.loads(ran("list", place, "--where", "model=cnn", "--json"))
    assert [one["seed"] for one in found["runs"]] == [0, 1, 2]
    assert found["runs"][1]["metrics"]["unseen.score"] == pytest.approx(0.005)


def test_a_list_goes_on_after_a_damaged_run(place):
    (Path(place) / folder_of(run(1).key) / "curve.parquet").write_bytes(b"")
    said = ran("list", place)
    assert "5 finished and 1 damaged" in said
    assert "curve.parquet has 0 bytes instead of" in said
    assert "recombine runs prune runs --status damaged" in said


def test_long_lists_say_what_they_leave_out(tmp_path, monkeypatch):
    monkeypatch.setattr("recombine_lab.commands.run_tables._MOST", 2)
    store = Store.open(tmp_path)
    for seed in range(5):
        store.put(run(seed))
    assert "… 3 more: --all" in ran("list", str(tmp_path))
    assert ran("list", str(tmp_path), "--all").count("finished") == 6


def test_an_empty_list(tmp_path, place):
    Store.open(tmp_path / "empty")
    assert "holds no runs yet" in ran("list", str(tmp_path / "empty"))
    assert "No run fulfils" in ran("list", place, "--where", "model=rnn")


def test_a_run_is_shown_and_its_next_commands_work(place):
    said = ran("show", place, run(2).key[:12])
    assert f"Run {run(2).key} finished after 100 steps" in said
    assert re.search(r"unseen\.score +0\.9", said)
    commands = [shlex.split(line.split("recombine ")[1]) for line in said.splitlines() if "recombine " in line]
    assert [words[0] for words in commands] == ["evaluate", "audit", "predict"]
    assert commands[2][-2:] == ["--where", "part = 'seen'"]
    for words in commands:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output


def test_a_run_is_copied(place, tmp_path):
    said = ran("show", place, run(2).key, "--out", "copy")
    assert "wrote  copy" in said
    assert "copy/predictions.parquet" in said
    names = {path.name for path in Path("copy").iterdir()}
    assert names >= {"record.json", "curve.parquet", "support.parquet", "model.safetensors"}


def test_answers_that_are_not_single_values_are_scored_by_their_error(place):
    made = run(8)
    tables = {**made.tables, "predictions": made.tables["predictions"].drop_columns(["target", "prediction"])}
    Store.open(place).put(type(made)(**(vars(made) | {"tables": tables})))
    said = ran("show", place, made.key)
    words = shlex.split(next(line for line in said.splitlines() if "evaluate" in line).split("recombine ")[1])
    assert words[-6:-2] == ["--score", "error", "--better", "lower"]
    assert "recombine predict" not in said
    assert CliRunner().invoke(app, words).exit_code == 0


def test_a_run_that_failed_is_shown_with_its_reasons(place):
    Store.open(place).put_failure(configuration(9), "ValueError: no luck", attempt=1)
    said = ran("show", place, configuration(9).key)
    assert "failed in 1 attempt." in said
    assert "ValueError: no luck" in said
    assert json.loads(ran("show", place, configuration(9).key, "--json"))[0]["attempt"] == 1


def test_a_comparison_shows_every_seed(place):
    said = ran("compare", place, "--by", "model")
    assert "0: 0.8  1: 0.1  2: 0.9" in said
    assert "The best median of unseen.score has model=mlp: 0.8, every seed of it above every seed of model=cnn" in (
        " ".join(said.split())
    )
    assert "mean" not in said.lower()
    group = json.loads(ran("compare", place, "--by", "model", "--json"))["groups"][1]
    assert group["metrics"]["unseen.score"] == {
        "values": [0.8, 0.1, 0.9],
        "median": 0.8,
        "least": 0.1,
        "most": 0.9,
        "missing": 0,
    }


def test_one_run_of_each_is_no_order(tmp_path):
    """A single seed is above another by chance alone half of the time."""
    store = Store.open(tmp_path / "single")
    store.put(run(0, unseen=0.8))
    store.put(run(0, unseen=0.3, model={"name": "cnn"}))
    said = " ".join(ran("compare", str(tmp_path / "single"), "--by", "model").split())
    assert "every seed" not in said.split("The same for all")[0]
    assert "The best unseen.score has model=mlp: 0.8, before model=cnn (0.3)." in said
    assert "One run of a group is too few to tell a difference from chance." in said
    store.put(run(1, unseen=0.9))
    said = " ".join(ran("compare", str(tmp_path / "single"), "--by", "model").split())
    assert "One run of a group is too few" in said
    store.put(run(1, unseen=0.2, model={"name": "cnn"}))
    said = " ".join(ran("compare", str(tmp_path / "single"), "--by", "model").split())
    assert "every seed of it above every seed of" in said


@pytest.fixture
def mixed(tmp_path) -> str:
    """Runs of several tasks, splits and models, whose settings have little in common."""
    store = Store.open(tmp_path / "mixed")
    for seed in range(8):
        for width in (8, 16):
            store.put(run(seed, unseen=-0.000123 * (seed + 1), model={"width": width}))
        own = {"task": {"name": "digit_pairs", "images": "synthetic"}, "split": {"name": "hold_out_combinations"}}
        store.put(run(seed, model={"name": "compositional", "decoder": "slot"}, **own))
    return str(tmp_path / "mixed")


@pytest.mark.parametrize("columns", ["80", "110", "250"])
@pytest.mark.parametrize("command", ["list", "compare"])
def test_nothing_is_cut_and_nothing_is_null_that_is_not_there(mixed, command, columns):
    said = ran(command, mixed, COLUMNS=columns)
    table = said.split("key  " if command == "list" else "measured")[1].split("next")[0]
    assert "null" not in table
    assert "…" not in said
    assert max(map(len, said.split("next")[0].splitlines())) <= int(columns)
    for word in ("digit_pairs", "hold_out_combinations", "compositional", "model.width=16"):
        assert word in said
    assert "decoder" not in table


@pytest.mark.parametrize("columns", ["80", "250"])
def test_every_seed_is_whole_at_any_width(mixed, columns):
    said = ran("compare", mixed, COLUMNS=columns)
    assert "every seed" in said
    for seed in range(8):
        assert f"{seed}: {-0.000123 * (seed + 1):.3g}" in said


def test_groups_without_a_setting_are_named_so(mixed):
    found = json.loads(ran("compare", mixed, "--by", "model.decoder", "--json"))
    assert sorted(map(len, (group["settings"] for group in found["groups"]))) == [0, 1]
    assert "those without such a setting" in ran("compare", mixed, "--by", "model.decoder", COLUMNS="80")


def test_overlapping_seeds_and_diverged_ones_are_told(place):
    store = Store.open(place)
    store.put(run(0, unseen=0.95, model={"name": "rnn"}))
    store.put(run(1, unseen=0.7, model={"name": "rnn"}))
    store.put(run(2, unseen=None, status="diverged", model={"name": "rnn"}))
    said = " ".join(ran("compare", place, "--by", "model").split())
    assert "has model=rnn: 0.825, but their seeds overlap with model=mlp (0.8)." in said
    assert "Of the best 1 of 3 runs have no score." in said
    assert "2: diverged" in said


def test_runs_are_compared_by_their_keys(place):
    keys = (run(0).key[:10], run(0, model={"name": "cnn"}).key[:10])
    found = json.loads(ran("compare", place, *keys, "--json"))
    assert [group["settings"] for group in found["groups"]] == [{"model": "cnn"}, {"model": "mlp"}]


def test_prune_tells_before_it_does(place):
    store = Store.open(place)
    store.put(run(5, unseen=None, status="diverged"))
    words = ("prune", place, "--status", "diverged")
    assert "1 thing could be removed" in ran(*words)
    assert store.has(run(5).key)
    assert "Removed 1 thing" in ran(*words, "--yes")
    assert not store.has(run(5).key)
    assert "nothing to remove" in ran(*words)
    assert json.loads(ran(*words, "--json"))["found"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "nowhere"), "no run store in 'nowhere'"),
        (("list", "runs", "--where", "modle=mlp"), "did you mean 'model'"),
        (("list", "runs", "--where", "model"), "NAME=SOMETHING"),
        (("list", "runs", "--metric", "unseen.scor"), "did you mean 'unseen.score'"),
        (("show", "runs", "zz"), "no key of this store begins so"),
        (("compare", "runs", "--by", "widht"), "no setting 'widht'"),
        (("compare", "runs", "--where", "model=rnn"), "no run fulfils"),
        (("prune", "runs", "--older", "soon"), "--older 12h"),
        (("prune", "runs", "--status", "finished"), "failed, diverged, damaged"),
        (("prune", "runs", "--keep-code", "0.1"), "--keep-code latest"),
    ],
)
def test_mistakes_end_in_words(place, words, said):
    with pytest.raises(RecombineError) as error:
        ran(*words)
    assert said in str(error.value)
    assert not Path("nowhere").exists()


def test_a_store_of_objects_is_shown_with_the_command_that_copies(s3, tmp_path, monkeypatch):
    place = f"s3://{s3.bucket}/{tmp_path.name}"
    monkeypatch.chdir(tmp_path)
    Store.open(place, **s3.options).put(run(0))
    assert "1 run: 1 finished." in ran("list", place, **s3.environment)
    said = ran("show", place, run(0).key, **s3.environment)
    words = next(line for line in said.splitlines() if "--out" in line).split("recombine runs ")[1].split()
    assert "copy" not in words
    assert "evaluate" in ran(*words, **s3.environment)
    assert (tmp_path / run(0).key[:8] / "predictions.parquet").is_file()


@pytest.mark.parametrize("name", ["list", "show", "compare", "prune"])
def test_every_option_is_described(name):
    section = DOCS.read_text(encoding="utf-8").split(f"## `recombine runs {name}`")[1].split("\n## ")[0]
    described = set(re.findall(r"`(--?[a-z-]+)`", section))
    command = subcommands(subcommands(typer.main.get_command(app))["runs"])[name]
    words = {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
    assert described == {word for word in words if word.startswith("-")}
