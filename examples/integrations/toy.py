"""Small pictures and sentences with two factors each; one in four combinations is never trained on."""

import numpy as np
import torch
from torch.utils.data import Dataset

COLOURS = ["red", "green", "blue", "white"]
SHAPES = ["disc", "bar", "cross", "frame"]
CLASSES = ["warm", "cold"]
WORDS = ["[PAD]", "[CLS]", "a", "is", "here", *COLOURS, *SHAPES]


def table(rows: int, seed: int, *, unseen: bool) -> dict[str, list]:
    """Factors and target of some rows: the class is told by colour and shape together."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, size=(4 * rows, 2))
    if not unseen:
        codes = codes[(codes[:, 0] + codes[:, 1]) % 4 != 1]
    codes = codes[:rows]
    warm = (codes[:, 0] < 2) ^ (codes[:, 1] == 3)
    return {
        "colour": [COLOURS[c] for c in codes[:, 0]],
        "shape": [SHAPES[s] for s in codes[:, 1]],
        "label": [CLASSES[0 if w else 1] for w in warm],
    }


TRAIN, EVAL = table(256, 0, unseen=False), table(96, 1, unseen=True)


class Rows(Dataset):
    """Rows of a table as a model sees them: `pixel_values` or `input_ids`, and `labels`."""

    def __init__(self, rows: dict[str, list], kind: str) -> None:
        self.rows, self.kind = rows, kind

    def __len__(self) -> int:
        return len(self.rows["label"])

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        colour, shape, label = (self.rows[name][place] for name in ("colour", "shape", "label"))
        made = _picture(colour, shape) if self.kind == "pictures" else _sentence(colour, shape)
        name = "pixel_values" if self.kind == "pictures" else "input_ids"
        return {name: made, "labels": torch.tensor(CLASSES.index(label))}


def _picture(colour: str, shape: str) -> torch.Tensor:
    ink = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "white": (1, 1, 1)}[colour]
    y, x = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    inside = {
        "disc": (x - 8) ** 2 + (y - 8) ** 2 < 30,
        "bar": (y - 8).abs() < 3,
        "cross": ((y - 8).abs() < 2) | ((x - 8).abs() < 2),
        "frame": (torch.maximum((x - 8).abs(), (y - 8).abs()) > 4),
    }[shape]
    return torch.tensor(ink, dtype=torch.float32)[:, None, None] * inside.float()


def _sentence(colour: str, shape: str) -> torch.Tensor:
    return torch.tensor([WORDS.index(word) for word in ("[CLS]", "a", colour, shape, "is", "here")])
