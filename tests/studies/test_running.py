"""A study is run, stopped, taken up again, reported with what is missing, and tried."""

import shutil

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.cli.app import app
from recombine_lab.runs.store import Store
from recombine_studies import catalogue
from recombine_studies.claims import UNBOUNDED, Claim, over_seeds
from recombine_studies.cost_estimate import try_preset
from recombine_studies.rows import Rows, strips
from recombine_studies.study import Step, Study
from recombine_studies.study_pages import markdown, write_pages
from recombine_studies.study_run import report_study, run_study
from tests.studies.made import RUNS, a_study

MADE: list[str] = []


def _grids(settings):
    small = {"steps": settings["steps"], "samples": "every", "batch": None, "test_samples": 20, "evaluations": 2}
    plan = {"splits": "own", "models": {"name": "mlp", "hidden": [4]}, "recipes": small, "seeds": settings["seeds"]}
    return {
        "one": {"tasks": {"name": "addition", "values": 3}, **plan},
        "both": {"tasks": {"name": "addition", "values": {"each": [3, 5]}}, **plan},
    }


def _keys(evidence):
    return [{"key": row["key"]} for row in evidence.runs.where(grid="one")]


def _steps_taken(item, bench):
    MADE.append(item["key"])
    return [{"steps": bench.run(item["key"]).steps, "layer": layer} for layer in ("a", "b")]


STUDY = Study(
    name="tiny",
    title="Tiny",
    paper="Nobody (2026)",
    question="Does it run?",
    presets={"smoke": {"steps": 3, "seeds": 2}, "small": {"steps": 3, "seeds": 3}},
    grids=_grids,
    claims=(
        Claim(
            name="scores",
            says="Scores are above -10.",
            source="Nobody (2026).",
            threshold="Far below.",
            check=lambda evidence: [over_seeds("score", evidence.runs.numbers("unseen.score"), ">", -10.0, UNBOUNDED)],
        ),
    ),
    figures=lambda evidence: [],
    steps=(Step(name="steps taken", items=_keys, measure=_steps_taken, updates=lambda settings: settings["steps"]),),
)


@pytest.fixture
def tiny(monkeypatch):
    """The study under a name of the catalogue."""
    monkeypatch.setattr(catalogue, "STUDIES", {"tiny": "tests.studies.test_running"})
    MADE.clear()
    return STUDY


def test_what_is_there_is_not_done_again(tmp_path, tiny):
    place = tmp_path / "store"
    first = run_study("tiny", preset="smoke", store=place, workers=0)
    assert first.runs == 4, "a run of two grids is trained once"
    assert first.tables["runs"].num_rows == 6, "and stands in both"
    assert len(MADE) == 2
    assert first.tables["steps_taken"].column("layer").to_pylist() == ["a", "b"] * 2
    assert first.finding("scores").outcome == "holds"
    again = run_study("tiny", preset="small", store=place, workers=0)
    assert len(MADE) == 3, "two seeds were measured before"
    assert len(Store.open(place).keys()) == 6
    assert again.seconds >= first.seconds


def test_a_report_trains_nothing_and_counts_what_is_missing(tmp_path, tiny):
    place = tmp_path / "store"
    with pytest.raises(RecombineError, match="no run store"):
        report_study("tiny", preset="smoke", store=place)
    run_study("tiny", preset="smoke", store=place, workers=0)
    whole = report_study("tiny", preset="smoke", store=place)
    assert (whole.missing, whole.grade) == (0, "sound")
    part = report_study("tiny", preset="small", store=place)
    assert part.missing == 3, "a run of each grid, of which one is in both"
    assert part.grade == "untested"
    assert "still to be made" in part.verdict
    assert len(Store.open(place).keys()) == 4


@pytest.mark.slow
def test_several_processes_measure_the_same(tmp_path, tiny):
    place = tmp_path / "store"
    alone = run_study("tiny", preset="smoke", store=place, workers=0)
    shutil.rmtree(place / "measured")
    shared = run_study("tiny", preset="smoke", store=place, workers=2)  # all is trained: only the step is shared out
    columns = ["key", "steps", "layer"]
    assert shared.tables["steps_taken"].select(columns) == alone.tables["steps_taken"].select(columns)
    assert len(MADE) == 2, "the second time it was done elsewhere"


def test_a_preset_is_tried_without_a_store(tmp_path, tiny, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = try_preset("tiny", preset="small")
    assert [(one.count, one.updates, one.problem) for one in tried] == [(6, 3, None), (3, 3, None)]
    assert all(one.total() is not None for one in tried)
    assert tried[0].total(gpu=True) == pytest.approx(6 * 3 * 2e-3), "so little arithmetic: starting it decides"
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path, tiny, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = CliRunner()
    listed = call.invoke(app, ["study", "list"])
    assert "Nobody" in listed.stdout
    ran = call.invoke(app, ["study", "run", "tiny", "--preset", "smoke", "--workers", "0", "--out", "pages"])
    assert ran.exit_code == 0, ran.output
    assert "holds" in ran.stdout
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {"tiny", "tiny.md"}
    page = (tmp_path / "pages" / "tiny" / "page.html").read_text(encoding="utf-8")
    assert "recombine study run tiny --preset smoke</code>" in page, "whoever reads it has other folders"
    told = call.invoke(app, ["study", "report", "all", "--preset", "smoke"])
    assert told.exit_code == 0
    assert "Tiny" in told.stdout
    tried = call.invoke(app, ["study", "run", "tiny", "--preset", "smoke", "--dry-run"])
    assert "A few runs of every kind were built and tried" in " ".join(tried.stdout.split())


def test_mistakes_are_told(tiny):
    with pytest.raises(SettingError, match="no study 'tny'"):
        run_study("tny")
    with pytest.raises(SettingError, match="no preset 'large'"):
        run_study("tiny", preset="large")


def test_pages(tmp_path):
    found = a_study()
    again = recombine.load(found.save(tmp_path / "saved"))
    assert again == found
    assert again.findings == found.findings
    page, text = write_pages(found.record(), tmp_path / "pages")
    html = page.read_text(encoding="utf-8")
    assert "<b>two</b>" not in html
    assert "does not hold" in html
    assert sum(path.suffix == ".svg" for path in (tmp_path / "pages" / "made").iterdir()) == 4, "a matrix is a table"
    written = text.read_text(encoding="utf-8")
    assert "\\| or fewer" in written
    assert "[runs](made/runs.parquet), 3 rows" in written
    assert written == markdown(found.record())
    write_pages(found.record(), tmp_path / "pages")  # over its own pages


def test_rows_are_chosen_grouped_and_told():
    assert RUNS.where(seed=1).number("unseen.score") == 0.72
    with pytest.raises(SettingError, match="no column 'sede'"):
        RUNS.where(sede=1)
    assert len(RUNS.by("grid", "status")[("sums", "finished")]) == 3
    mixed = Rows([{"a": 1, "b": [1, 2]}, {"a": "x", "c": float("nan")}])
    assert mixed.table()["a"].to_pylist() == ["1", "x"]
    assert mixed.numbers("c") == []
    assert mixed.where({"b": [1, 2]})[0]["a"] == 1
    joined = RUNS.joined(Rows([{"seed": 2, "more": 5}]), on="seed")
    assert joined.column("more") == [None, None, 5]
    assert strips(RUNS, "unseen.score", "grid")[0].values == (0.7, 0.72, 0.74)
    assert isinstance(RUNS.table(), pa.Table)
