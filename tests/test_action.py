"""The GitHub Action: its own script, run as GitHub runs it in a repository; and `action.yml`, read closely."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "action.yml").is_file() or shutil.which("bash") is None, reason="the repository is not here, or no bash"
)
MATERIALS, GARMENTS = ("wool", "silk", "denim", "linen"), ("coat", "hat", "scarf", "boot")
HELD_OUT = {("wool", "hat"), ("silk", "boot"), ("denim", "coat"), ("linen", "scarf"), ("wool", "scarf")}


def held_out() -> list[str]:
    """A clean split, as lines of a CSV."""
    lines = ["material,garment,image,split"]
    for number, (material, garment) in enumerate((m, g) for m in MATERIALS for g in GARMENTS):
        side = "test" if (material, garment) in HELD_OUT else "train"
        lines += [f"{material},{garment},{number}-{copy}.jpg,{side}" for copy in range(3)]
    return lines


@pytest.fixture
def repository(tmp_path):
    """A git repository with a table, as a job finds it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    write(folder, "held.csv", held_out())
    return folder


def write(folder: Path, name: str, lines: list[str]) -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def action():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


class Job:
    """What a job of GitHub would know after the step."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder, runner = folder, folder.parent / "runner"
        runner.mkdir(exist_ok=True)
        self._summary, self._output = runner / "summary", runner / "output"
        for file in (self._summary, self._output):
            file.write_text("")
        step = next(one for one in action()["runs"]["steps"] if one.get("id") == "run")
        given = {name: one.get("default", "") for name, one in action()["inputs"].items()} | inputs
        named = {
            variable: re.fullmatch(r"\${{ inputs\.([a-z-]+) }}", value)[1] for variable, value in step["env"].items()
        }
        environment = os.environ | {variable: given[name] for variable, name in named.items()}
        environment |= {
            "PATH": f"{commands(folder.parent)}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self._summary),
            "GITHUB_OUTPUT": str(self._output),
            "RUNNER_TEMP": str(runner),
            "COLUMNS": "100",
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        self.code, self.log, self.errors = done.returncode, done.stdout, done.stderr
        self.left = sorted(path.name for path in runner.iterdir())

    @property
    def summary(self) -> str:
        return self._summary.read_text(encoding="utf-8")

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._output.read_text(encoding="utf-8").splitlines())

    @property
    def commands(self) -> list[str]:
        """What GitHub would take for a command: lines with two colons, but for those while commands are stopped."""
        taken, token = [], None
        for line in self.log.splitlines():
            if token is not None:
                token = None if line == f"::{token}::" else token
            elif line.startswith("::stop-commands::"):
                token = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                taken.append(line)
        assert token is None
        return taken


def commands(folder: Path) -> Path:
    """A folder with `recombine` and `python` of the environment that the tests run in."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name, words in (("recombine", "-m recombine"), ("python", "")):
        script = place / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return place


@pytest.mark.process
def test_a_clean_split_passes(repository) -> None:
    job = Job(repository, source="held.csv", factors="material,garment", args="--id image")
    assert job.code == 0, job.log + job.errors
    assert job.outputs["grade"] == "sound"
    assert job.outputs["exit-code"] == "0"
    assert job.outputs["verdict"].startswith("This split keeps its word")
    assert job.outputs["report"] == "recombine.html"
    assert (repository / "recombine.html").read_text().startswith("<!doctype html>")
    assert job.commands == []
    assert "| combinations | pass |" in job.summary
    assert job.left == ["output", "summary"]


@pytest.mark.process
def test_a_planted_leak_fails_with_3_and_is_told_everywhere(repository) -> None:
    write(repository, "held.csv", [*held_out(), "wool,hat,again.jpg,train"])
    job = Job(repository, source="held.csv", factors="material,garment", args="--id image", sarif="found.sarif")
    assert job.code == 3, job.log + job.errors
    assert (job.outputs["grade"], job.outputs["exit-code"]) == ("failing", "3")
    assert job.summary.startswith(
        "### recombine lint: held.csv\n\n**failing.** This split does not hold out combinations."
    )
    assert "| wool | hat | 1 | 3 |" in job.summary
    assert [line.split("::")[1] for line in job.commands] == [
        "error file=held.csv,title=recombine lint%3A combinations"
    ]
    assert '"ruleId": "lint/combinations"' in (repository / "found.sarif").read_text()
    assert (repository / "recombine.html").is_file()


@pytest.mark.process
@pytest.mark.parametrize("allowed", ["false", "true"])
def test_too_little_evidence_is_4_unless_it_is_allowed(repository, allowed) -> None:
    write(repository, "held.csv", [line for line in held_out() if not line.endswith("test")])
    job = Job(repository, source="held.csv", factors="material,garment", **{"allow-untested": allowed})
    assert job.code == (0 if allowed == "true" else 4), job.log + job.errors
    assert (job.outputs["grade"], job.outputs["exit-code"]) == ("untested", "4")
    assert job.commands[-1].startswith("::warning" if allowed == "true" else "::error")
    assert "**untested.**" in job.summary


@pytest.mark.process
def test_names_with_spaces_quotes_and_commands_in_them_are_names(repository) -> None:
    column = "mat $(touch hacked) `touch hacked`; touch hacked"
    value = '::error::wool | <b> "it\'s"'
    lines = [line.replace("wool", '"' + value.replace('"', '""') + '"') for line in held_out()]
    write(
        repository,
        "my 'held' \"out\".csv",
        [line.replace("material", column) for line in lines] + [lines[4].replace("test", "train")],
    )
    source = "my 'held' \"out\".csv"
    job = Job(
        repository,
        source=source,
        factors=f"{column},garment",
        args="--id 'image' --where \"image <> '$(touch hacked)'\"",
    )
    assert job.code == 3, job.log + job.errors
    assert not (repository / "hacked").exists()
    assert len(job.commands) == 2  # the combination, and the row itself
    assert all(line.startswith("::error file=my 'held' \"out\".csv,title=recombine lint%3A ") for line in job.commands)
    assert source in job.summary.splitlines()[0]
    assert "<b>" not in re.sub(r"\\<b\\>", "", job.summary.partition("\nNext:")[0])


@pytest.mark.process
def test_a_mistake_is_told_in_words(repository) -> None:
    job = Job(repository, source="hold.csv", factors="material,garment")
    assert job.code == 2
    assert job.outputs == {"exit-code": "2"}
    assert "did you mean 'held.csv'?" in job.summary
    assert len(job.commands) == 1
    assert "no file 'hold.csv'" in job.commands[0]


@pytest.mark.process
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"verb": "lint; ls"}, "none of lint"),
        ({"args": "--where 'a"}, "quotation mark"),
        ({"source": "--version"}, "--version"),
    ],
)
def test_what_is_no_verb_no_words_or_no_table_is_refused(repository, inputs, said) -> None:
    job = Job(repository, **{"source": "held.csv", "factors": "material,garment"} | inputs)
    assert job.code == 2
    assert said in job.commands[-1]


@pytest.mark.process
def test_gates_of_an_audit_one_a_line(repository) -> None:
    job = Job(
        repository, verb="audit", source="held.csv", factors="material,garment", **{"fail-under": "seen=0.9\npairs=1\n"}
    )
    assert job.code == 0, job.log + job.errors
    assert "| seen | pass | seen is 1.000; asked for is 0.9. |" in job.summary
    assert "| pairs | pass |" in job.summary


def test_every_input_is_used_and_every_action_has_a_pinned_version() -> None:
    text, read = (ROOT / "action.yml").read_text(encoding="utf-8"), action()
    assert set(read["inputs"]) == set(re.findall(r"inputs\.([a-z-]+)", text))
    used = [step["uses"] for step in read["runs"]["steps"] if "uses" in step]
    assert len(used) == 2
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", one) for one in used)
    for step in read["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    script = (ROOT / ".github" / "action" / "run.sh").read_text(encoding="utf-8")
    assert "${{" not in script
    step = next(one for one in read["runs"]["steps"] if one.get("id") == "run")
    assert set(step["env"]) == {f"RECOMBINE_{name}" for name in re.findall(r"\{?RECOMBINE_([A-Z_]+)\b", script)}
    written = set(re.findall(r"^\s*(?:echo|printf|print\(f?)\W*([a-z-]+)=", script, re.MULTILINE))
    assert written == set(read["outputs"])


@pytest.mark.parametrize(
    ("version", "asked"), [("", str(ROOT)), ("0.1.0", "recombine==0.1.0"), ("1; ls", "recombine==1; ls")]
)
def test_what_is_installed(version, asked, tmp_path) -> None:
    place = tmp_path / "python"
    place.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    place.chmod(0o755)
    step = next(one for one in action()["runs"]["steps"] if "pip" in one.get("run", ""))
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RECOMBINE_VERSION": version,
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    done = subprocess.run(["bash", "-ec", step["run"]], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-m", "pip", "install", "--quiet", asked]
