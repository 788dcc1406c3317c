"""A Hugging Face dataset with an image column and class labels, to a page: `python hugging_face.py FOLDER`."""

import sys

import datasets

from recombine import HoldOutCombinations
from recombine_lab import fit
from recombine_lab.tasks import TableTask

folder, factors = sys.argv[1], ["colour", "shape"]
rows = datasets.load_dataset("csv", data_files=f"{folder}/pictures.csv", split="train", cache_dir=f"{folder}/cache")
rows = rows.map(lambda row: {"file": f"{folder}/{row['file']}"}).cast_column("file", datasets.Image())
task = TableTask(source=rows.class_encode_column("answer"), inputs="file", factors=factors, target="answer")
split = HoldOutCombinations(factors=factors, test_size=0.25)
(run,) = fit(task, split, {"name": "cnn", "channels": [8, 16], "dense": [32]}, {"steps": 150, "samples": "every"})
print(run.evaluate().verdict)
run.evaluate().page(f"{folder}/hugging_face.html", force=True)
