"""A small network of Keras 3 (here on PyTorch); three lines bring the scores on unseen combinations."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
from toy import CLASSES, EVAL, TRAIN, Rows

from recombine.integrations.keras import Scoreboard, ScoreboardCallback  # added

keras.utils.set_random_seed(0)


def arrays(rows: dict[str, list]) -> tuple[np.ndarray, np.ndarray]:
    found = Rows(rows, "pictures")
    made = [found[place] for place in range(len(found))]
    pixels = np.stack([row["pixel_values"].numpy().ravel() for row in made])
    return pixels, np.array([int(row["labels"]) for row in made])


board = Scoreboard(EVAL, factors=["colour", "shape"], target="label", train=TRAIN, classes=CLASSES)  # added
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
fitted = model.fit(
    *arrays(TRAIN),
    epochs=4,
    verbose=0,
    callbacks=[ScoreboardCallback(board, arrays(EVAL)[0])],  # added
)
names = ("seen_accuracy", "unseen_accuracy", "gap")
print({name: [round(float(value), 3) for value in fitted.history[f"val_{name}"]] for name in names})
