"""Batches in which a shortcut tells nothing of the label, for anybody's `DataLoader`.

Where the part of an input that holds the shortcut is known, and has no say of its own, examples get that part of other
rows (`swap`). Where only the groups are known, each comes up as often as every other (`groups`). Both show as many
examples as a plain epoch does. An epoch's draws come from the seed and the number of the epoch, and a row travels with
its donor as one index, so that workers draw nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from recombine.base.checks import check_number
from recombine.base.errors import SettingError
from recombine.base.seeds import derived

Swap = Callable[[Tensor, Tensor], Tensor]
"""An example's inputs and another row's: the first, with the part of the second that holds the shortcut."""
NOBODY = -1  # the donor of a row that stays as it is


@dataclass(frozen=True, eq=False)
class Repaired:
    """What a `DataLoader` takes: `DataLoader(repaired.dataset, sampler=repaired.sampler, batch_size=64)`."""

    dataset: "SwappedRows"
    sampler: "RepairSampler"


def repair(
    dataset: Dataset[Any],
    *,
    swap: Swap | None = None,
    groups: Sequence[Sequence[Any]] | None = None,
    share: float = 0.5,
    seed: int = 0,
) -> Repaired:
    """Show a data set so that a shortcut tells nothing of the label.

    `swap(own, other)` gives inputs the part of another row that holds the shortcut; the `share` of examples that it is
    done to is 1/2 unless you say otherwise. Items are tuples whose first entry are the inputs; the rest stays.
    `groups` are columns with an entry for each row, such as (labels, hues): each group of them is shown equally often.
    One of the two is given.

    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> rows = TensorDataset(torch.arange(8.0).reshape(4, 2), torch.tensor([0, 0, 1, 1]))
    >>> mended = repair(rows, swap=lambda own, other: torch.stack([own[0], other[1]]), share=1.0)
    >>> inputs, labels = next(iter(DataLoader(mended.dataset, sampler=mended.sampler, batch_size=4)))
    >>> sorted(inputs[:, 0].tolist()), sorted(labels.tolist())
    ([0.0, 2.0, 4.0, 6.0], [0, 0, 1, 1])
    """
    rows = len(cast("Sequence[Any]", dataset))
    if (swap is None) == (groups is None):
        raise SettingError(
            "neither swap= nor groups=" if swap is None else "swap= and groups= together",
            why="a shortcut is repaired by the part of the input that holds it, or by the groups it makes",
            instead="give swap=, where you know that part and it has no say of its own; else groups=(labels, shortcut)",
        )
    instead = "write for example share=0.5: half of the examples get the part of another row"
    check_number("share", share, above=0, most=1, why="it is the share of examples that are changed", instead=instead)
    if not rows:
        raise SettingError("an empty data set", why="nothing can be drawn from it", instead="give one that has rows")
    weights = None if groups is None else _even(groups, rows)
    sampler = RepairSampler(rows, weights, share=0.0 if swap is None else share, seed=seed)
    return Repaired(SwappedRows(dataset, swap), sampler)


class SwappedRows(Dataset[Any]):
    """A data set that is asked for a row and its donor."""

    def __init__(self, dataset: Dataset[Any], swap: Swap | None) -> None:
        self._dataset, self._swap = dataset, swap

    def __len__(self) -> int:
        """As many as the data set has."""
        return len(cast("Sequence[Any]", self._dataset))

    def __getitem__(self, asked: tuple[int, int]) -> Any:
        """A row, with the donor's part if there is a donor."""
        row, donor = asked
        item = self._dataset[row]
        if donor == NOBODY or self._swap is None:
            return item
        return (self._swap(item[0], self._dataset[donor][0]), *item[1:])


class RepairSampler(Sampler[tuple[int, int]]):
    """Rows and their donors, anew in every epoch; `set_epoch` says which epoch is next, else they count themselves."""

    def __init__(self, rows: int, weights: Tensor | None, *, share: float, seed: int) -> None:
        self._rows, self._weights, self._share, self._seed, self._epoch = rows, weights, share, seed, 0

    def __len__(self) -> int:
        """As many as a plain epoch shows."""
        return self._rows

    def set_epoch(self, epoch: int) -> None:
        """The number of the next epoch: a run that is taken up again draws what it would have drawn."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The draws of the next epoch."""
        rng = torch.Generator().manual_seed(derived(self._seed, "repair", self._epoch))
        self._epoch += 1
        if self._weights is None:
            rows = torch.randperm(self._rows, generator=rng)
        else:
            rows = torch.multinomial(self._weights, self._rows, replacement=True, generator=rng)
        donors = torch.randint(self._rows, (self._rows,), generator=rng)
        donors[torch.rand(self._rows, generator=rng) >= self._share] = NOBODY
        return zip(rows.tolist(), donors.tolist(), strict=True)


def _even(groups: Sequence[Sequence[Any]], rows: int) -> Tensor:
    """The chance of each row, such that all groups together have the same."""
    columns = [np.asarray(column) for column in groups]
    for column in columns:
        if column.shape != (rows,):
            raise SettingError(
                f"a column of groups of shape {column.shape} for {rows:,} rows",
                why="each row belongs to one group",
                instead="give columns with one entry for each row: groups=(labels, hues)",
            )
    if not columns:
        raise SettingError("groups=() names no column", why="", instead="give for example groups=(labels, hues)")
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1)
    _, group, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return torch.from_numpy(1.0 / (len(counts) * counts[group.ravel()]))
