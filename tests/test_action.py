"""The GitHub Action: its own script, run as GitHub runs it in a repository; and `action.yml`, read closely."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import recombine

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "action.yml").is_file() or shutil.which("bash") is None, reason="the repository is not here, or no bash"
)
MATERIALS, GARMENTS = ("wool", "silk", "denim", "linen"), ("coat", "hat", "scarf", "boot")
HELD_OUT = {("wool", "hat"), ("silk", "boot"), ("denim", "coat"), ("linen", "scarf"), ("wool", "scarf")}
PLANTED = (
    "shlex.py",
    "json.py",
    "secrets.py",
    "pip/__init__.py",
    "venv/__init__.py",
    "sitecustomize.py",
    "recombine.py",
)


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
    return checkout(tmp_path / "repository")


def checkout(folder: Path) -> Path:
    """A git repository with a table, and with modules that leave a mark if they are imported."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    write(folder, "held.csv", held_out())
    for name in PLANTED:
        module = folder / name
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"open({str(folder / 'planted')!r}, 'a').write({name!r})\n", encoding="utf-8")
    return folder


def write(folder: Path, name: str, lines: list[str]) -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def action():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def step(name: str) -> dict:
    return next(one for one in action()["runs"]["steps"] if one.get("id") == name)


def run_step(name: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    """A step's script in the folder that was checked out, in a job that looks for modules there too."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]],
        cwd=folder,
        env=os.environ | {"GITHUB_ACTION_PATH": str(ROOT), "PYTHONPATH": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What the action installs: of a package "recombine" that leads to the modules which the tests run with."""
    place = tmp_path_factory.mktemp("action")
    with zipfile.ZipFile(place / "recombine-9.9-py3-none-any.whl", "w") as wheel:
        paths = (Path(recombine.__file__).parents[1], sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
        wheel.writestr("tested.pth", "".join(f"{path}\n" for path in paths))
        wheel.writestr("recombine-9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: recombine\nVersion: 9.9\n")
        wheel.writestr(
            "recombine-9.9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("recombine-9.9.dist-info/RECORD", "")
    (place / "python").symlink_to(sys.executable)
    folder, output = checkout(place / "repository"), place / "output"
    done = run_step(
        "environment",
        folder,
        {
            "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(place),
            "RECOMBINE_VERSION": "9.9",
            "RECOMBINE_PACKAGES": "",
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(place),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "planted").exists(), (folder / "planted").read_text()
    python = output.read_text(encoding="utf-8").strip().removeprefix("python=")
    assert Path(python).is_relative_to(place)
    assert not Path(python).is_relative_to(folder)
    return python


class Job:
    """What a job of GitHub would know after the step."""

    def __init__(self, folder: Path, python: str, **inputs: str) -> None:
        self.folder, runner = folder, folder.parent / "runner"
        runner.mkdir(exist_ok=True)
        self._summary, self._output = runner / "summary", runner / "output"
        for file in (self._summary, self._output):
            file.write_text("")
        given = {f"inputs.{name}": one.get("default", "") for name, one in action()["inputs"].items()}
        given |= {f"inputs.{name}": value for name, value in inputs.items()}
        given["steps.environment.outputs.python"] = python
        done = run_step(
            "run",
            folder,
            {
                **{name: given[re.fullmatch(r"\${{ (\S+) }}", value)[1]] for name, value in step("run")["env"].items()},
                "GITHUB_STEP_SUMMARY": str(self._summary),
                "GITHUB_OUTPUT": str(self._output),
                "RUNNER_TEMP": str(runner),
                "COLUMNS": "100",
            },
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


@pytest.mark.process
def test_a_clean_split_passes(repository, environment) -> None:
    job = Job(repository, environment, source="held.csv", factors="material,garment", args="--id image")
    assert job.code == 0, job.log + job.errors
    assert job.outputs["grade"] == "sound"
    assert job.outputs["exit-code"] == "0"
    assert job.outputs["verdict"].startswith("Split check passed")
    assert job.outputs["report"] == "recombine.html"
    assert (repository / "recombine.html").read_text().startswith("<!doctype html>")
    assert job.commands == []
    assert "| combinations | pass |" in job.summary
    assert job.left == ["output", "summary"]


@pytest.mark.process
def test_no_module_of_the_checked_out_repository_is_imported(repository, environment) -> None:
    job = Job(repository, environment, source="held.csv", factors="material,garment", args="--id 'image'", report="")
    assert not (repository / "planted").exists(), (repository / "planted").read_text()
    assert (job.code, job.outputs["grade"]) == (0, "sound"), job.log + job.errors


@pytest.mark.process
def test_a_planted_leak_fails_with_3_and_is_told_everywhere(repository, environment) -> None:
    write(repository, "held.csv", [*held_out(), "wool,hat,again.jpg,train"])
    job = Job(
        repository, environment, source="held.csv", factors="material,garment", args="--id image", sarif="found.sarif"
    )
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
def test_too_little_evidence_is_4_unless_it_is_allowed(repository, environment, allowed) -> None:
    write(repository, "held.csv", [line for line in held_out() if not line.endswith("test")])
    job = Job(repository, environment, source="held.csv", factors="material,garment", **{"allow-untested": allowed})
    assert job.code == (0 if allowed == "true" else 4), job.log + job.errors
    assert (job.outputs["grade"], job.outputs["exit-code"]) == ("untested", "4")
    assert job.commands[-1].startswith("::warning" if allowed == "true" else "::error")
    assert "**untested.**" in job.summary


@pytest.mark.process
def test_names_with_spaces_quotes_and_commands_in_them_are_names(repository, environment) -> None:
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
        environment,
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
def test_a_mistake_is_told_in_words(repository, environment) -> None:
    job = Job(repository, environment, source="hold.csv", factors="material,garment")
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
        ({"verb": "audit", "factors": ""}, "name the factors"),
    ],
)
def test_what_is_no_verb_no_words_or_no_table_is_refused(repository, environment, inputs, said) -> None:
    job = Job(repository, environment, **{"source": "held.csv", "factors": "material,garment"} | inputs)
    assert job.code == 2
    assert said in job.commands[-1]


@pytest.mark.process
def test_gates_of_an_audit_one_a_line(repository, environment) -> None:
    job = Job(
        repository,
        environment,
        verb="audit",
        source="held.csv",
        factors="material,garment",
        **{"fail-under": "seen=0.9\npairs=1\n"},
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
    assert not any("${{" in one.get("run", "") for one in read["runs"]["steps"])
    script = (ROOT / ".github" / "action" / "run.sh").read_text(encoding="utf-8")
    assert "${{" not in script
    assert set(step("run")["env"]) == {f"RECOMBINE_{name}" for name in re.findall(r"\{?RECOMBINE_([A-Z_]+)\b", script)}
    written = set(re.findall(r"^\s*(?:echo|printf|print\(f?)\W*([a-z-]+)=", script, re.MULTILINE))
    assert written == set(read["outputs"])


@pytest.mark.parametrize(
    ("version", "packages", "asked"),
    [
        ("", "", [str(ROOT)]),
        ("0.1.0", "ibis-framework[postgres]\n  s3fs\n", ["recombine==0.1.0", "ibis-framework[postgres]", "s3fs"]),
        ("1; ls", "$(ls) *", ["recombine==1; ls", "$(ls)", "*"]),
    ],
)
def test_what_is_installed(version, packages, asked, tmp_path) -> None:
    place = tmp_path / "python"
    place.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nmkdir -p "$4/bin" && cp "$0" "$4/bin/python"\n')
    place.chmod(0o755)
    done = run_step(
        "environment",
        tmp_path,
        {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "RECOMBINE_VERSION": version,
            "RECOMBINE_PACKAGES": packages,
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "RUNNER_TEMP": str(tmp_path),
        },
    )
    made, installed = done.stdout.split("-I\n-m\n")[1:]
    assert made.startswith(f"venv\n{tmp_path}/recombine-environment.")
    assert installed.splitlines() == ["pip", "install", "--quiet", *asked]
