"""The notebook of the examples, executed in a real kernel, with a real PostgreSQL beside it."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebooks" / "first_look.ipynb"


def test_no_output_is_committed() -> None:
    cells = nbformat.read(NOTEBOOK, 4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_every_cell_runs_and_every_result_shows_a_picture(postgres, monkeypatch) -> None:
    monkeypatch.setenv("POSTGRES_URI", postgres.uri)
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(notebook, timeout=300).execute()
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    pictures = [data["text/html"] for data in shown if "<img " in data.get("text/html", "")]
    # an audit, a prediction, a plan, a lint, an evaluation, and the audit and the evaluation of a run
    assert len(pictures) == 7
    assert all("<p>Graded <b>" in picture for picture in pictures)
    texts = [data["text/plain"] for data in shown]
    assert "['pandas', 'Polars', 'Parquet', 'PostgreSQL']" in texts
    assert "True" in texts
