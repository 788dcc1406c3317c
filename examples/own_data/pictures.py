"""A folder of pictures with a factor table, from files to a page: `python pictures.py FOLDER`."""

import sys

from recombine import HoldOutCombinations
from recombine_lab import fit
from recombine_lab.tasks import TableTask

folder, factors = sys.argv[1], ["colour", "shape"]
task = TableTask(source=f"{folder}/pictures.csv", inputs="file", factors=factors, target="answer")
split = HoldOutCombinations(factors=factors, test_size=0.25)
(run,) = fit(task, split, {"name": "cnn", "channels": [8, 16], "dense": [32]}, {"steps": 150, "samples": "every"})
evaluation = run.evaluate()
print(evaluation.verdict)
evaluation.page(f"{folder}/pictures.html", force=True)
