"""A torch dataset with a factor table beside it, to a page: `python torch_dataset.py FOLDER`."""

import sys

import numpy as np
import pandas as pd
import torch
from PIL import Image

from recombine_lab import fit
from recombine_lab.tasks import TableTask

folder, table = sys.argv[1], pd.read_csv(f"{sys.argv[1]}/pictures.csv")
pixels = torch.tensor(np.stack([np.asarray(Image.open(f"{folder}/{name}")) for name in table["file"]]))
dataset = torch.utils.data.TensorDataset(pixels.movedim(-1, 1), torch.tensor(pd.factorize(table["answer"])[0]))
task = TableTask(source=table, inputs=dataset, factors=["colour", "shape"])  # the dataset gives (input, target)
model = {"name": "cnn", "channels": [8, 16], "dense": [32]}
(run,) = fit(task, "hold_out_combinations", model, {"steps": 150, "samples": "every"})
print(run.evaluate().verdict)
run.evaluate().page(f"{folder}/torch_dataset.html", force=True)
