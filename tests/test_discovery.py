"""Somebody who does not know the options yet: no factors named, no command named, Tab pressed, help asked for."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recombine.base import plugins
from recombine.cli import completion, options, suggest_commands
from recombine.cli.app import app
from recombine.cli.help import EXAMPLES
from tests.commands import run_command, subcommands

VERBS = ("audit", "plan", "predict", "rehearse", "split", "lint", "evaluate")


def run(*words: str, **more) -> subprocess.CompletedProcess[str]:
    return run_command(Path(), *words, **{"COLUMNS": "80"} | more)


def asked(monkeypatch: pytest.MonkeyPatch, *words: str):
    """The command in this process."""
    monkeypatch.setattr("sys.argv", ["recombine", *words])
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, words)


def offered(printed: str) -> list[str]:
    return re.findall(r"^ +(?:next +)?((?:recombine|python) .*)$", printed, re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["demo"]).exit_code == 0
    return tmp_path


# -- no factors named


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_without_factors_proposes_and_what_it_prints_runs(verb, folder, monkeypatch) -> None:
    told = asked(monkeypatch, verb, "products.csv")
    assert told.exit_code == 2, told.output
    assert "no factors were named. material and garment look like" in told.stdout
    command = shlex.split(offered(told.stdout)[0])
    assert command[command.index("--factors") + 1] == "material,garment"
    if verb != "rehearse":  # which trains
        done = asked(monkeypatch, *command[1:])
        assert done.exit_code in (0, 3, 4), done.output


def test_a_gate_without_factors_does_not_pass(folder) -> None:
    done = run("audit", "products.csv", "--fail-under", "determined=0.1")
    assert done.returncode == 2
    assert "Nothing was audited" in done.stdout
    assert "--fail-under determined=0.1 --factors material,garment --target label" in done.stdout


def test_for_machines(folder, monkeypatch) -> None:
    told = asked(monkeypatch, "audit", "products.csv", "--json")
    found = json.loads(told.stdout)
    assert told.exit_code == 2
    assert (found["factors"], found["target"]) == (["material", "garment"], "label")
    assert found["columns"][0]["reason"] == "every row has its own"
    assert found["command"] == "recombine audit products.csv --json --factors material,garment --target label"


def test_a_target_that_was_named_is_no_factor(folder, monkeypatch) -> None:
    told = asked(monkeypatch, "audit", "products.csv", "--target", "garment")
    assert offered(told.stdout) == []  # material alone is left
    told = asked(monkeypatch, "predict", "products.csv", "--factors", "material,garment")
    assert told.exit_code != 0
    assert "--target is missing" in str(told.exception)


@pytest.mark.parametrize("names", [("a,b", 'c"d'), ("my colour", "it's"), ("-x", "$HOME"), ("a`b", "c;d"), ("é", "#1")])
def test_odd_names_are_pasted_right(names, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{names[0]: "pq"[k % 2], names[1]: "uvw"[k % 3], "y": k % 2 + (k % 3 == 0)} for k in range(30)]
    Path("odd.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = asked(monkeypatch, "audit", "odd.jsonl")
    line = offered(told.stdout)[0]
    printing = line.replace("recombine", r"printf '%s\0'", 1)
    shown = subprocess.run(["bash", "-c", printing], capture_output=True, text=True, check=True)
    words = shown.stdout.split("\0")[:-1]  # as a shell reads what was pasted
    done = asked(monkeypatch, *words)
    assert done.exit_code == 0, done.output
    tied = [word.removeprefix("--factors=") for word in words if word.startswith("--factors=")]
    factors = tied[0] if tied else words[words.index("--factors") + 1]
    assert options.names([factors]) == list(names)


def test_a_split_that_is_there_is_used(folder, monkeypatch) -> None:
    lines = Path("products.csv").read_text().splitlines()
    sides = ["part", *("train" if k % 3 else "test" for k in range(len(lines) - 1))]
    Path("sides.csv").write_text("\n".join(f"{line},{side}" for line, side in zip(lines, sides, strict=True)))
    assert "--split part" in offered(asked(monkeypatch, "lint", "sides.csv").stdout)[0]
    audits = offered(asked(monkeypatch, "audit", "sides.csv").stdout)
    assert shlex.split(audits[1])[-2:] == ["--where", "\"part\" = 'train'"]
    assert asked(monkeypatch, *shlex.split(audits[1])[1:]).exit_code == 0


@pytest.mark.parametrize(("name", "text"), [("empty.csv", ""), ("heading.csv", "a,b\n")])
def test_nothing_to_look_at(name, text, tmp_path) -> None:
    (tmp_path / name).write_text(text)
    done = run("audit", str(tmp_path / name))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "instead" in done.stderr


def test_the_page_shows_what_is_printed(folder, monkeypatch) -> None:
    page = (Path(__file__).parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    shown = page.split("## Where to begin")[1].split("```text\n")[1].split("```")[0]
    assert asked(monkeypatch, "audit", "products.csv").stdout.split() == shown.split()


# -- no command named


def test_an_empty_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = asked(monkeypatch)
    assert told.exit_code == 0
    assert offered(told.stdout) == [line for line, _ in suggest_commands.START]
    for line in offered(told.stdout):  # the four lines run, one after the other
        assert asked(monkeypatch, *shlex.split(line)[1:]).exit_code in (0, 2), line
    assert Path("audit.html").exists()


@pytest.mark.process
def test_what_lies_at_hand(folder, monkeypatch) -> None:
    ask = ("audit", "products.csv", "--factors", "material,garment", "--target", "label", "--out", "saved")
    assert asked(monkeypatch, *ask).exit_code == 0
    Path("runs").mkdir()
    Path("runs/store.json").write_text("{}")
    Path("grid.yaml").write_text("tasks: sprites\nmodels: cnn\n")
    Path("compose.yaml").write_text("services: []\n")
    Path("my_probe.py").write_text("")
    Path("requirements.txt").write_text("recombine\n")
    (Path("broken") / "record.json").mkdir(parents=True)
    Path("nowhere.csv").symlink_to("gone.csv")
    told = asked(monkeypatch)
    lines = offered(told.stdout)
    assert lines == [
        "recombine audit products.csv",
        "python -c \"import recombine; recombine.load('saved').page('saved.html')\"",
        "recombine runs list runs",
        "recombine sweep grid.yaml --dry-run",
        "recombine probe geometry my_probe.py",
        "recombine --help",
    ]
    assert "an audit, graded weak" in told.stdout
    python = [sys.executable, *shlex.split(lines[1])[1:]]
    subprocess.run(python, check=True, timeout=240)
    assert Path("saved.html").exists()


def test_a_split_is_linted_and_two_results_are_compared(folder, monkeypatch) -> None:
    ask = ("products.csv", "--factors", "material,garment")
    for name in ("old", "new"):
        assert asked(monkeypatch, "audit", *ask, "--out", name).exit_code == 0
    os.utime("old", (1, 1))
    assert asked(monkeypatch, "split", *ask, "--column", "side", "--out", "held.csv").exit_code == 0
    Path("empty.csv").write_text("")
    Path("other.split.json").write_text('  "factors": [],\n  "column": "a" "b",\n  "file": "held.csv",\n')
    lines = offered(asked(monkeypatch).stdout)
    assert not any("empty.csv" in line for line in lines)
    lint, diff = "recombine lint held.csv --factors material,garment --split side", "recombine diff old new"
    assert {lint, diff} <= set(lines)
    assert not any("other" in line for line in lines)
    for line in (lint, diff):
        assert asked(monkeypatch, *line.split()[1:]).exit_code == 0


def test_many_tables_are_few_lines(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in range(20):
        Path(f"part {place}.csv").write_text("a,b\n")
        Path(f"part{place}.yaml").write_text("tasks:\nmodels:\n")
    found = suggest_commands.lines(Path())
    assert len(found) == 6
    assert "17 others of the kind here" in found[2][1]
    assert shlex.split(found[0][0])[:2] == ["recombine", "audit"]


def test_no_table_is_opened(tmp_path, monkeypatch) -> None:
    """A pipe in its place would make whoever opens it wait for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe.yaml")
    assert suggest_commands.lines(Path()) == []


@pytest.mark.process
def test_it_starts_light(tmp_path) -> None:
    code = (
        "import sys; sys.argv = ['recombine']\nfrom recombine.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded', *[n for n in ('ibis', 'duckdb', 'pyarrow', 'numpy', 'pandas', 'torch') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "loaded"


# -- Tab pressed


def completed(line: str, **more: str) -> list[str]:
    words = line.split(" ")
    done = run(_RECOMBINE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1), **more)
    return done.stdout.split()


def test_commands_and_columns_are_completed(folder) -> None:
    assert completed("recombine au") == ["audit"]
    assert completed("recombine audit products.csv --factors m") == ["material"]
    assert completed("recombine audit products.csv --factors material,") == [
        f"material,{n}" for n in ("id", "garment", "label")
    ]
    assert completed("recombine predict products.csv --factors material,garment -t l") == ["label"]
    assert completed("recombine audit pro") == ["products.csv"]


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_every_shell_has_its_script(shell, said) -> None:
    done = run("--show-completion", shell)
    assert done.returncode == 0
    assert said in done.stdout
    assert "_RECOMBINE_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("t.csv", b"a,b c,d\n1,2,3\n", ["a", "b c", "d"]),
        ("t.csv", "\ufeffa;é\n".encode(), ["a", "é"]),
        ("t.tsv", b'a\t"b,c"\n', ["a", "b,c"]),
        ("t.jsonl", b'{"a": 1, "b": [2]}\n', ["a", "b"]),
        ("t.jsonl", b"not json\n", []),
        ("t.parquet", b"not parquet", []),
        ("t.csv.gz", b"not gzip", []),
        ("t.csv", b"\xff\xfe\x00", []),
        ("t.csv", b"", []),
    ],
)
def test_a_heading_at_a_glance(name, content, found, tmp_path) -> None:
    (tmp_path / name).write_bytes(content)
    assert completion.heading(str(tmp_path / name)) == found


def test_what_is_not_a_local_file_is_not_asked(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for source in ("s3://bucket/t.parquet", "postgresql://u@h/d", "*.csv", "gone.csv", str(tmp_path / "pipe.csv")):
        assert completion.heading(source) == []


# -- help asked for


def commands() -> dict[str, object]:
    """Every command and group, by its words."""
    found = {}

    def visit(command, words: tuple[str, ...]) -> None:
        found[" ".join(words)] = command
        for name, one in subcommands(command).items():
            visit(one, (*words, name))

    visit(typer.main.get_command(app), ())
    return found


@pytest.mark.parametrize("words", commands())
def test_a_page_of_help(words) -> None:
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words.split(), "--help"])
    page = done.stdout
    assert done.exit_code == 0
    assert not re.search(r"<\w+|\[\]|\bVALUE\b|\[default: \]|None", page)
    assert page.split("Examples\n")[1].count("recombine ") >= 2
    prose = page.split("Examples\n")[0]
    assert all(len(line) <= 80 for line in prose.splitlines())
    assert prose.startswith(f"\nUsage: recombine {words}".rstrip() + " [OPTIONS]")


@pytest.mark.parametrize("verb", [*VERBS, "diff", "probe geometry"])
def test_what_people_use_first_stands_in_front(verb) -> None:
    page = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*verb.split(), "--help"]).stdout
    headings = re.findall(r"^([A-Z][\w -]+)$", page, re.MULTILINE)
    assert headings[:2] == ["Arguments", "Most used"]
    assert "Writing the result" in headings
    assert page.count("\n  -h, --help ") == 1
    first = page.split("\nMost used\n")[1].split("\n\n")[0]
    assert 3 <= len(re.findall(r"^  (?:-\w, |    )--\w", first, re.MULTILINE)) <= 5


def test_a_package_that_cannot_be_imported_takes_no_other_command_with_it(monkeypatch) -> None:
    broken = EntryPoint("broken", "no_such_package:command", "recombine.commands")
    known = plugins._entries("recombine.commands")
    monkeypatch.setattr(plugins, "_entries", lambda group: known | {"broken": broken})
    page = run("--help")
    assert page.returncode == 0, page.stderr
    assert "the package that adds this command cannot be imported" in " ".join(page.stdout.split())
    assert "No module named 'no_such_package'" in " ".join(page.stdout.split())
    assert "  audit " in page.stdout
    assert "  sweep " in page.stdout
    asked_for = run("broken")
    assert asked_for.returncode == 2
    assert "uninstall that package" in asked_for.stderr
    assert "Traceback" not in asked_for.stderr
    misspelt = run("audti")
    assert "Did you mean 'audit'" in misspelt.stderr


def test_examples_are_of_commands_that_are_there() -> None:
    assert set(EXAMPLES) == set(commands())


commands()  # those of other packages bring their examples with them


@pytest.mark.parametrize("line", sorted({line for lines in EXAMPLES.values() for line, _ in lines}))
def test_an_example_can_be_parsed(line) -> None:
    words = shlex.split(line)
    assert words[0] == "recombine"
    command, context = commands()[""], None
    while hasattr(command, "list_commands") and len(words) > 1 and not words[1].startswith("-"):
        name = words.pop(1)
        command = subcommands(command)[name]
        context = (
            command.make_context(name, words[1:], resilient_parsing=False) if not hasattr(command, "commands") else None
        )
    if context is not None:
        assert not context.args


@pytest.mark.parametrize("verb", ["audit", "predict", "plan", "split", "lint", "evaluate", "demo"])
def test_the_examples_of_a_verb_run(verb, folder, monkeypatch) -> None:
    assert asked(monkeypatch, "split", "products.csv", "-f", "material,garment", "--out", "there.csv").exit_code == 0
    lines = Path("there.csv").read_text().splitlines()
    heading, rows = lines[0], lines[1:]
    Path("answers.csv").write_text("\n".join([f"{heading},guess", *(f"{row},warm" for row in rows)]) + "\n")
    for side in ("train", "test"):
        kept = [row for row in rows if row.endswith((side, "seen") if side == "train" else side)]
        Path(f"{side}.csv").write_text("\n".join([heading, *kept]) + "\n")
    if verb == "lint":
        assert asked(monkeypatch, *shlex.split(EXAMPLES["split"][0][0])[1:]).exit_code == 0
    if verb == "demo":
        Path("products.csv").unlink()
    for line, _ in EXAMPLES[verb]:
        done = asked(monkeypatch, *shlex.split(line)[1:])
        assert done.exit_code in ((2,) if line == "recombine audit products.csv" else (0, 3, 4)), (
            f"{line}\n{done.output}"
        )
