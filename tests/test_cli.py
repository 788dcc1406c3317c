"""The command as a person runs it, in a folder of its own."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.cli import options
from recombine.output.pages import draw
from tests.commands import run_command

TEN_LINES = """material,garment,label
wool,coat,warm
wool,hat,warm
silk,hat,light
silk,scarf,light
denim,coat,warm
denim,scarf,light
linen,scarf,light
linen,hat,light
wool,scarf,warm
"""


def run(folder, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, *words, COLUMNS="100")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "products.csv").write_text(TEN_LINES)
    return tmp_path


ASK = ("audit", "products.csv", "--factors", "material,garment")


def test_the_first_minute(tmp_path) -> None:
    made = run(tmp_path, "demo")
    assert made.returncode == 0
    first, second = (line.split("recombine ")[1].split() for line in made.stdout.splitlines() if "recombine " in line)
    assert run(tmp_path, *second).returncode == 0
    done = run(tmp_path, *first)
    assert done.returncode == 0, done.stderr
    assert "combinations were seen" in done.stdout
    assert (tmp_path / "audit.html").read_text().startswith("<!doctype html>")


def test_the_answer_comes_first_and_fits_a_screen(folder) -> None:
    done = run(folder, *ASK, "--target", "label")
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("Not enough evidence: what was held out fits any score from 0 % to 100 %.")
    assert len(lines) <= 30
    assert (
        "       recombine audit products.csv --factors material,garment --target label --report audit.html"
        in done.stdout
    )


def next_lines(folder, *words: str) -> list[str]:
    """The commands that are offered."""
    lines = run(folder, *words).stdout.splitlines()
    return [line.removeprefix("  next").strip() for line in lines if "   recombine " in line]


def test_what_to_do_next_can_be_pasted_and_runs(tmp_path) -> None:
    assert run(tmp_path, "demo").returncode == 0
    offered = next_lines(tmp_path, *ASK, "--target", "label")
    assert [line.split()[1] for line in offered] == ["predict", "plan", "audit", "split", "audit"]
    assert offered[0] == "recombine predict products.csv --factors material,garment --target label"
    assert offered[1] == "recombine plan products.csv --factors material,garment"
    codes = [run(tmp_path, *shlex.split(line)[1:]).returncode for line in offered]
    assert codes == [0, 0, 0, 0, 3]  # 20 % of the demo's combinations are not determined, and the gate says so


def test_what_is_weak_is_to_be_made_firmer(folder) -> None:
    offered = next_lines(folder, *ASK)
    assert offered[0] == "recombine plan products.csv --factors material,garment --goal leverage --budget 10"
    assert run(folder, *shlex.split(offered[0])[1:]).returncode == 0


def test_what_cannot_be_held_out_is_not_offered(tmp_path) -> None:
    (tmp_path / "products.csv").write_text("material,garment\nwool,coat\nsilk,hat\n")
    offered = next_lines(tmp_path, *ASK)
    assert [line.split()[1] for line in offered] == ["plan", "audit", "audit"]
    assert run(tmp_path, "split", *ASK[1:], "--out", "held.parquet").returncode == 2


def test_nothing_is_to_be_collected_where_all_was_seen(tmp_path) -> None:
    (tmp_path / "products.csv").write_text("material,garment\nwool,coat\nsilk,hat\nwool,hat\nsilk,coat\n")
    assert [line.split()[1] for line in next_lines(tmp_path, *ASK)] == ["audit", "split", "audit"]


def test_the_next_verb_is_asked_about_the_same_rows(folder) -> None:
    words = ["--where=garment <> 'hat'", "-fmaterial,garment", "--weight", "n", "--seed", "3", "--out", "saved"]
    words += ["--domain", "material=wool,silk,denim,felt,tweed", "--missing", "value", "products.csv"]
    (folder / "products.csv").write_text(
        "material,garment,n\nwool,coat,1\nwool,hat,1\nsilk,coat,2\nsilk,cap,1\nwool,cap,1\n"
    )
    plan, _, split, _ = next_lines(folder, "audit", *words)
    told = ["--where=garment <> 'hat'", "-fmaterial,garment"]
    held = ["--column", "held_out", "--out", "held_out.parquet"]
    domain = ["--domain", "material=wool,silk,denim,felt,tweed"]
    assert shlex.split(plan)[1:] == ["plan", *told, "--weight", "n", *domain, "--missing", "value", "products.csv"]
    assert shlex.split(split)[1:] == ["split", *told, "--missing", "value", "products.csv", *held]
    assert [run(folder, *shlex.split(line)[1:]).returncode for line in (plan, split)] == [0, 0]


def test_what_is_piped_has_no_escape_codes(folder) -> None:
    done = run(folder, *ASK)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.process
def test_a_terminal_gets_colour(folder) -> None:
    assert "\x1b[" in on_a_terminal(folder, *ASK)


def on_a_terminal(folder, *words: str) -> str:
    leader, follower = pytest.importorskip("pty").openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from recombine.cli import main; main()", *words],
        cwd=folder,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.wait(timeout=60)
    return seen.decode()


def test_json_has_the_names_of_the_python_verbs(folder) -> None:
    found = json.loads(run(folder, *ASK, "--json").stdout)
    support = recombine.read(folder / "products.csv", factors=["material", "garment"])
    audit = recombine.audit(support)
    assert found["counts"] == vars(audit.counts)
    assert found["verdict"] == audit.verdict
    assert found["provenance"]["command"] == "recombine audit products.csv --factors material,garment --json"


def test_out_loads_back_into_the_same_audit(folder) -> None:
    assert run(folder, *ASK, "--target", "label", "--out", "saved").returncode == 0
    loaded = recombine.Audit.load(folder / "saved")
    again = recombine.audit(recombine.read(folder / "products.csv", factors=["material", "garment"], target="label"))
    assert loaded.counts == again.counts
    assert loaded.support == again.support
    assert "</html>" in draw(loaded.record())


@pytest.mark.parametrize(
    ("lines", "gate", "code"),
    [
        (TEN_LINES, "determined=0.95", 0),
        (TEN_LINES, "seen=0.9", 3),
        ("material,garment\nwool,coat\nsilk,hat\n", "determined=0.95", 3),
        ("material,garment\nwool,coat\nwool,hat\nsilk,hat\n", "determined=0.95", 4),
    ],
    ids=["pass", "fail", "islands", "not enough evidence"],
)
def test_the_gate(tmp_path, lines: str, gate: str, code: int) -> None:
    (tmp_path / "products.csv").write_text(lines)
    done = run(tmp_path, *ASK, "--fail-under", gate)
    assert done.returncode == code
    assert {0: "pass", 3: "fail", 4: "not enough evidence"}[code] in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "product.csv", "-f", "material,garment"), ["no file 'product.csv'", "did you mean 'products.csv'?"]),
        (("audit", "products.csv", "-f", "materail,garment"), ["no column 'materail'", "did you mean 'material'?"]),
        (("audit", "products.csv", "-f", "material"), ["at least two factors"]),
        ((*ASK, "--fail-under", "determined"), ["NAME=SOMETHING"]),
        ((*ASK, "--fail-under", "determined=95"), ["a share lies between 0 and 1"]),
        ((*ASK, "--fail-under", "leverage=0.5"), ["write one of determined, seen, values, pairs"]),
        ((*ASK, "--bins", "material=3"), ["only numbers and dates can be binned"]),
        ((*ASK, "--domain", "material=wool,silk"), ["domain", "denim"]),
        ((*ASK, "--domain", "nowhere.json"), ["cannot read 'nowhere.json'"]),
        ((*ASK, "--impossible", "nowhere.csv"), ["cannot read 'nowhere.csv'"]),
        ((*ASK, "--report", "products.csv/page.html"), ["cannot write"]),
        ((*ASK, "--out", "."), ["already exists and is not a saved result"]),
        ((*ASK, "--out", ".", "--force"), ["already exists and is not a saved result"]),
        ((*ASK, "--where", "colour = 3"), ["where="]),
        ((*ASK, "--missing", "perhaps"), ["write 'leave out' or 'value'"]),
        ((*ASK, "--target-kind", "maybe", "--target", "label"), ["write 'label' or 'number'"]),
        (("audit", "postgresql://nobody:secret@127.0.0.1:1/shop", "--table", "t", "-f", "a,b"), ["cannot open", "…@"]),
        (("demo",), ["already exists", "--force"]),
        (("demo", "extra"), ["known by its name", "extra.csv"]),
    ],
)
def test_a_mistake_is_explained_without_a_traceback(folder, words, said) -> None:
    done = run(folder, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    told = re.sub(r"\s+", " ", done.stderr)
    for part in said:
        assert part in told
    assert "secret" not in done.stdout + done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["products.csv"]


def test_impossible_and_domain_from_the_command_line(folder) -> None:
    (folder / "never.csv").write_text("material,garment\ndenim,hat\n")
    done = run(folder, *ASK, "--impossible", "never.csv", "--domain", "garment=coat,hat,scarf,glove", "--json")
    counts = json.loads(done.stdout)["counts"]
    assert (counts["space"], counts["impossible"], counts["novel"]) == (15, 1, 4)


def test_how_known_answers_compare_is_on_the_screen(folder) -> None:
    every = [
        f"{a},{b},{'warm' if a == 'wool' else 'light'}" for a in ("wool", "silk") for b in ("coat", "hat", "scarf")
    ]
    (folder / "truth.csv").write_text("\n".join(["material,garment,label", *every, ""]))
    done = run(folder, "predict", *ASK[1:], "--target", "label", "--truth", "truth.csv")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  accuracy +\d\S* +on 1 known", done.stdout, re.MULTILINE)


def test_a_value_with_markup_is_shown_as_it_is(tmp_path) -> None:
    (tmp_path / "products.csv").write_text(TEN_LINES.replace("linen", "[red]<b>linen</b>"))
    done = run(tmp_path, *ASK, "--report", "page.html")
    assert "[red]<b>linen</b>" in done.stdout
    assert "<b>linen</b>" not in (tmp_path / "page.html").read_text()


def test_version_and_completion() -> None:
    assert run(".", "--version").stdout.strip() == f"recombine {recombine.__version__}"
    assert "--install-completion" in run(".", "--help").stdout


@pytest.mark.process
def test_ctrl_c_leaves_nothing_half_written(tmp_path) -> None:
    (tmp_path / "long.csv").write_text("a,b,c\n" + "".join(f"{i % 3},{i % 5},{i}\n" for i in range(1000)))
    hours = "(SELECT count(*) FROM range(100000000000)) > c"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from recombine.cli import main; print('up', flush=True); main()",
            "audit",
            "long.csv",
            "-f",
            "a,b",
            "--where",
            hours,
            "-r",
            "page.html",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. Nothing was left half-written." in told
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


_INTERRUPTED_WHILE_AN_OBJECT_GOES = """
import signal, time
import recombine.cli.app as app
from recombine.cli import main

class Goes:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        "here the interrupt is raised, and dropped"

def run():
    Goes()
    time.sleep(30)

app.run = run
main()
"""
_TIDIED_UP = """
import atexit
import recombine.cli.app as app
from recombine.cli import main

class Last:
    def __del__(self):
        print("the interpreter took itself apart", flush=True)

last = Last()

def run():
    atexit.register(print, "tidied up")
    raise KeyboardInterrupt

app.run = run
main()
"""


def _end_of(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=25, check=False)


@pytest.mark.process
def test_an_interrupt_that_python_drops_comes_again() -> None:
    done = _end_of(_INTERRUPTED_WHILE_AN_OBJECT_GOES)
    assert (done.returncode, done.stderr) == (130, "Stopped. Nothing was left half-written.\n")


@pytest.mark.process
def test_an_interrupted_command_tidies_up_and_does_not_take_the_interpreter_apart() -> None:
    """A thread of an engine may abort the process there."""
    done = _end_of(_TIDIED_UP)
    assert (done.returncode, done.stdout) == (130, "tidied up\n")


def test_a_slip_does_not_replace_the_table_by_its_page(folder) -> None:
    done = run(folder, *ASK, "--report", "products.csv")
    assert done.returncode == 2
    assert "--report products.html" in done.stderr
    assert (folder / "products.csv").read_text() == TEN_LINES


@pytest.mark.process
def test_the_exit_code_stays_when_nobody_reads_on(folder) -> None:
    command = f"{sys.executable} -c 'from recombine.cli import main; main()' {' '.join(ASK)} --fail-under seen=0.9"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


_TELLS_WHEN_IT_LOADS = """
import sys
from recombine.cli import main

class Tells:
    def find_spec(self, name, *_):
        if name == "recombine.cli.interrupts":
            print("up", flush=True)

sys.meta_path.insert(0, Tells())
main()
"""


@pytest.mark.process
@pytest.mark.parametrize("moment", [0.01 * step for step in range(40)] + [0.6, 0.9, 1.2])
def test_an_interrupt_while_starting_ends_in_a_word(folder, moment: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _TELLS_WHEN_IT_LOADS, *ASK],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) in ((0, ""), (130, "Stopped. Nothing was left half-written.\n"))


def test_commands_that_few_ask_for_are_loaded_when_they_are_asked_for() -> None:
    ask = "import sys; import recombine.cli.app; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split())
    assert "recombine.cli.audit" in loaded
    assert not {"recombine.cli.doctor", "recombine.cli.mcp"} & loaded


def test_next_to_nothing_is_loaded_before_an_interrupt_is_heard() -> None:
    """What is loaded before `main` ends in a traceback if it is interrupted."""
    ask = "import importlib, sys; before = set(sys.modules); import recombine.cli; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {
        "gc",  # a part of Python itself: no file is read for it
        "recombine",
        "recombine.base",
        "recombine.base.lazy_names",
        "recombine.base.version",
        "recombine.cli",
    }


def test_a_line_break_in_a_name() -> None:
    assert options.names(['"a\nb",c']) == ["a\nb", "c"]
    with pytest.raises(SettingError, match="put such a name in double quotes"):
        options.names(["a\nb,c"])


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "x" * 5_000),
        ("--report", "x" * 5_000 + ".html"),
        ("--bins", "material=" + "9" * 5_000),
        ("--bins", "material=²"),
        ("--set", "genes"),
        ("--domain", "material"),
    ],
)
def test_options_that_nothing_can_be_made_of(folder, words) -> None:
    done = run(folder, *ASK, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "instead" in done.stderr


def test_a_store_or_a_table_that_no_place_can_have(folder) -> None:
    for words in (("runs", "list", "x" * 5_000), ("audit", "~nobody-at-all/t.csv", "--factors", "a,b")):
        done = run(folder, *words)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("hold", ["9" * 5_000, "²"])
def test_a_number_to_hold_out_that_is_none(folder, hold) -> None:
    done = run(folder, "split", *ASK[1:], "--out", "o.csv", "--hold", hold)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_what_comes_through_a_pipe_is_not_taken_for_a_misspelt_file(folder) -> None:
    command = [sys.executable, "-c", "from recombine.cli import main; main()", "audit", "/dev/stdin", *ASK[2:]]
    done = subprocess.run(command, cwd=folder, input=TEN_LINES, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is a pipe, not a file" in done.stderr
    assert "did you mean" not in done.stderr
