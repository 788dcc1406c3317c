"""What models of sentences need: the vocabularies, what stands before each token, an answer without being told."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from recombine.lab.models.needs import refusal
from recombine.lab.tasks.task import Shapes
from recombine.lab.tasks.tokens import END, PADDING

_PIECES, _FEWEST = 4, 16


def vocabularies(model: object, shapes: Shapes) -> tuple[int, int]:
    """How many tokens there are on each side, for a model that turns sentences into sentences."""
    if shapes.kind != "tokens" or shapes.vocabularies is None:
        raise refusal(
            model,
            shapes,
            needs="rows of tokens as inputs and as targets, and the sizes of both vocabularies",
            instead="take scan or cogs as the task, or mlp, cnn or transformer as the model",
        )
    return shapes.vocabularies


def shifted(targets: Tensor) -> Tensor:
    """What stands before each target: the end symbol opens, as it closes.

    >>> shifted(torch.tensor([[5, 6, 1, 0]]))
    tensor([[1, 5, 6, 1]])
    """
    opening = torch.full_like(targets[:, :1], END)
    return torch.cat([opening, targets[:, :-1]], dim=1)


def used(tokens: Tensor) -> int:
    """How many columns hold more than padding; at least one."""
    return max(1, int((tokens != PADDING).any(dim=0).sum()))


def in_pieces(targets: Tensor, write: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The scores (n, T, tokens) of targets (n, T), written a few rows at a time.

    Rows of like length go together, without the columns that are padding in all of them: most targets are far shorter
    than the longest, and padding would cost as much as words. `write` takes row numbers and their targets. Where all is
    padding the scores are zero.
    """
    order = (targets != PADDING).sum(dim=1).argsort(stable=True)
    written = []
    for rows in order.tensor_split(max(1, min(_PIECES, len(order) // _FEWEST))):
        cut = targets[rows, : used(targets[rows])]
        written.append(pad(write(rows, cut), (0, 0, 0, targets.shape[1] - cut.shape[1])))
    return torch.cat(written)[order.argsort()]


def greedy(next_scores: Callable[[Tensor], Tensor], *, rows: int, length: int, device: torch.device) -> Tensor:
    """The likeliest token again and again, until every row has ended; what follows an end is padding.

    `next_scores` takes the last tokens (n,) and gives the scores of the next ones (n, tokens); it remembers by itself.
    """
    said = torch.full((rows, length), PADDING, device=device)
    last = torch.full((rows,), END, device=device)
    ended = torch.zeros(rows, dtype=torch.bool, device=device)
    for place in range(length):
        # Padding is no word: a model cannot say it.
        last = next_scores(last)[:, 1:].argmax(dim=-1) + 1
        said[:, place] = last.masked_fill(ended, PADDING)
        ended = ended | (last == END)
        if bool(ended.all()):
            break
    return said
