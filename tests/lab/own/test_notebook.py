"""A real kernel: progress below the cell, a run as what a notebook shows, and a network that the notebook defines."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = (
    """
from recombine_lab import fit, models
(run,) = fit("addition", "own", "mlp", {"steps": 100, "samples": "every"})
run
""",
    """
from torch import nn
class Net(nn.Sequential):
    def __init__(self, shapes):
        super().__init__(nn.Flatten(), nn.Linear(shapes.inputs[0], 1))
recipe = {"steps": 3, "samples": "every"}
(run,) = fit("addition", "own", Net, recipe, progress=None)
print(run.status, type(run.module()).__name__)
try:
    fit("addition", "own", Net, recipe, store="runs", progress=None)
except Exception as error:
    print(error.instead)
""",
)


@pytest.mark.process
@pytest.mark.timeout(300)
def test_a_notebook_shows_progress_and_runs_and_fits_what_it_defines(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.data.get("text/html", "") for output in notebook.cells[0].outputs if "data" in output]
    assert any("training: 100 steps in" in html for html in shown)
    assert any("mlp on addition finished after 100 steps" in html for html in shown)
    said = "".join(output.text for output in notebook.cells[1].outputs if output.get("name") == "stdout")
    assert said.startswith("finished Net")
    assert "save it as a .py file" in said
