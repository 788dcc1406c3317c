"""What every probe hands back: saved, loaded, drawn; and the file that a command is given."""

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.base.records import Provenance
from recombine.cli.app import app
from recombine.output.figures import Curve, Curves, Field, Matrix
from recombine_lab.probes.probe import Measure, Probe, measures_table
from recombine_lab.probes.probe_file import settings_of
from tests.commands import run_command


def a_probe() -> Probe:
    figures = (
        Matrix("Masks", "Rows are masks.", ("a", "b"), ("kept", "ablated"), ((1.0, None), (0.25, 0.5))),
        Curves(
            "Layers",
            "From layer to layer.",
            "layer",
            "share",
            ("one", "two"),
            (Curve("own", (0.1, 0.9), (0.0, 0.8), (0.2, 1.0)), Curve("random", (0.5, None), control=True)),
        ),
        Field("Boundary", "Class 1 is dark.", "x", "y", (-1.0, 1.0), (-1.0, 1.0), ((0.0, 1.0),) * 2, ((0.0, 0.5, 1),)),
    )
    measures = [Measure("one", "share", 0.1, low=0.0, high=0.2, n=3), Measure("one", "share", 0.5, "random")]
    return Probe(
        probe="geometry",
        outcome="unclear",
        verdict="Nothing can be said of it.",
        grade="untested",
        reasons=("There were <b>three</b> rows.",),
        rows=3,
        numbers={"share": 0.1, "nothing": float("nan")},
        figures=figures,
        tables={"measures": measures_table(measures)},
        provenance=Provenance(source="network"),
    )


def test_it_is_saved_loaded_and_drawn(tmp_path):
    found = a_probe()
    again = recombine.load(found.save(tmp_path / "probe"))
    assert again == found
    assert again.figures == found.figures
    assert again.numbers["nothing"] is None
    page = again.page(tmp_path / "probe.html").read_text(encoding="utf-8")
    assert "Masks" in page
    assert "<b>three</b>" not in page
    assert page.count("<polyline") == 1, "a line through one point is none"
    assert "Nothing can be said" in again._repr_html_()


def test_a_measure_by_its_name():
    found = a_probe()
    assert found.value("share") == 0.1
    assert found.value("share", who="random") == 0.5
    with pytest.raises(KeyError, match="0 measures"):
        found.value("share", where="two")


def _ask(model, *, table, score=None, seed=0, progress=None, command=None):
    return model, table, score, seed, progress, command


def test_a_file_gives_each_setting_by_its_name(tmp_path):
    spec = tmp_path / "spec.py"
    spec.write_text(
        "def model():\n    return 2\n\ndef table(model):\n    return model + 1\n\ndef score(x):\n    return x\n"
    )
    given = settings_of(spec, _ask)
    assert (given["model"], given["table"], given["score"](7)) == (2, 3, 7)


def test_a_function_may_ask_for_whatever_else_the_file_says(tmp_path):
    spec = tmp_path / "spec.py"
    spec.write_text("def width():\n    return 7\n\ndef model(width):\n    return width\n\ntable = 1\n")
    assert settings_of(spec, _ask) == {"model": 7, "table": 1}


def test_a_store_that_is_not_there_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["probe", "geometry", "nowhere", "--run", "1"])
    assert isinstance(done.exception, RecombineError)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def model():\n    return 2\n", "does not say 'table'"),
        ("model = 2\ndef table(modle):\n    return 1\n", "asks for 'modle'"),
        ("model = 1 / 0\n", "cannot be run"),
        ("import sys\nsys.exit(5)\n", "cannot be run"),
        ("table = 1\ndef model():\n    return 1 / 0\n", r"model\(\) cannot be run"),
        ("model = 1\ntabel = 1\n", "says 'tabel'"),
        ("def model(table):\n    return 1\ndef table(model):\n    return 1\n", "asks for"),
    ],
)
def test_a_file_that_does_not_say_enough(tmp_path, text, said):
    spec = tmp_path / "spec.py"
    spec.write_text(text)
    with pytest.raises(SettingError, match=said):
        settings_of(spec, _ask)


def test_no_file(tmp_path):
    with pytest.raises(SettingError, match="no file"):
        settings_of(tmp_path / "spec.py", _ask)
    (tmp_path / "spec.yaml").write_text("a: 1\n")
    with pytest.raises(SettingError, match="no Python file"):
        settings_of(tmp_path / "spec.yaml", _ask)


def test_features_that_are_not_there(tmp_path) -> None:
    (tmp_path / "features.parquet").write_bytes(b"no table")
    done = run_command(tmp_path, "probe", "geometry", "feature.parquet")
    assert done.returncode == 2
    assert "no file 'feature.parquet'" in done.stderr
    assert "did you mean 'features.parquet'?" in done.stderr
    assert "cannot be read as Parquet" in run_command(tmp_path, "probe", "geometry", "features.parquet").stderr
    assert "instead" in run_command(tmp_path, "probe", "geometry", "x" * 5_000 + ".parquet").stderr
