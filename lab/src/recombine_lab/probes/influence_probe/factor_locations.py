"""Where in an input a factor is: a mask of a row's entries, or a function that renders rows of the table.

A region is a slice, a number or a list of numbers along the last axis (columns of a row, columns of a picture, places
of a sentence), a tuple that indexes one row, or a mask of a row. Where a renderer is given instead, the region of a
factor is found by asking which entries ever change when the factor does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.base.words import amount
from recombine_lab.models.layers import layer_of
from recombine_lab.probes.influence_probe.probe_examples import Ints, check_column, inputs_of

Render = Callable[[pa.Table], Any]
Form = Literal["column", "region", "embedding"]


@dataclass(frozen=True, eq=False)
class Located:
    """Inputs in which factors can be exchanged one by one: `swapped(factor, donors)` has one as it is in other rows.

    `masks` has the entries of a row that hold a factor, where they are known: derivatives are taken by them.
    """

    inputs: Any
    factors: tuple[str, ...]
    swapped: Callable[[str, Ints], Any]
    masks: Mapping[str, Tensor]


def main_name(inputs: Mapping[str, Any]) -> str:
    """The tensor of several that holds the factors: `input_ids`, else the first with entries in a row."""
    wide = [name for name, value in inputs.items() if value.ndim > 1]
    return "input_ids" if "input_ids" in inputs else (wide or list(inputs))[0]


def main_of(inputs: Any) -> Tensor:
    """The tensor that holds the factors."""
    found: Tensor = inputs[main_name(inputs)] if isinstance(inputs, Mapping) else inputs
    return found


def with_main(inputs: Any, tensor: Tensor) -> Any:
    """The inputs with another tensor in its place."""
    return {**inputs, main_name(inputs): tensor} if isinstance(inputs, Mapping) else tensor


def located(inputs: Any, table: pa.Table, regions: Mapping[str, Any] | None, render: Render | None) -> Located:
    """Inputs with their regions, given or found.

    >>> found = located(torch.zeros(2, 3), pa.table({"a": [0, 1]}), {"a": [0, 2]}, None)
    >>> found.masks["a"].tolist()
    [True, False, True]
    """
    if regions is None and render is None:
        raise SettingError(
            "neither regions nor render",
            why="to swap a factor one must know which inputs hold it",
            instead="write regions={factor: columns}, or render=a function from rows of the table to inputs",
        )
    masks = {
        check_column(table, factor, f"a region for {factor!r}"): mask_of(main_of(inputs)[0], region, factor)
        for factor, region in (regions or {}).items()
    }
    if render is None:

        def pasted(factor: str, donors: Ints) -> Any:
            main = main_of(inputs)
            return with_main(inputs, torch.where(masks[factor], main[torch.from_numpy(donors)], main))

        return Located(inputs, tuple(masks), pasted, masks)

    def rendered(factor: str, donors: Ints) -> Any:
        values = table[factor].take(pa.array(donors))
        changed = table.set_column(table.column_names.index(factor), factor, values)
        return inputs_of(render(changed), "what `render` gives")

    every = tuple(table.column_names)
    return Located(inputs, every, rendered, masks) if masks else discovered(inputs, every, rendered)


def discovered(inputs: Any, factors: tuple[str, ...], swapped: Callable[[str, Ints], Any]) -> Located:
    """Inputs whose regions are the entries that ever change when a factor does.

    Where exchanging nothing changes something, rendering is left to chance, and no region can be found.
    """
    base, rows = main_of(inputs), len(main_of(inputs))
    same = main_of(swapped(factors[0], np.arange(rows)))
    if same.shape != base.shape or not torch.equal(same, base):
        return Located(inputs, factors, swapped, {})
    masks = {}
    for factor in factors:
        turns = [main_of(swapped(factor, np.roll(np.arange(rows), turn))) for turn in {1 % rows, rows // 2, rows - 1}]
        moved = [(turned != base).any(dim=0) for turned in turns if turned.shape == base.shape]
        if len(moved) == len(turns) and bool(torch.stack(moved).any()):
            masks[factor] = torch.stack(moved).any(dim=0)
    return Located(inputs, factors, swapped, masks)


def mask_of(row: Tensor, region: Any, factor: str) -> Tensor:
    """The entries of a row that a region names, as a mask."""
    mask = torch.zeros(row.shape, dtype=torch.bool, device=row.device)
    try:
        plain = np.asarray(region) if not isinstance(region, slice | tuple | Tensor) else region
        if isinstance(plain, np.ndarray | Tensor) and plain.dtype in (np.bool_, torch.bool):
            mask |= torch.as_tensor(plain, device=row.device)
        elif isinstance(region, tuple):
            mask[region] = True
        else:
            mask[..., region if isinstance(region, slice) else torch.as_tensor(plain)] = True
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise SettingError(
            f"the region of {factor!r}: {region!r}",
            why=f"a row of the inputs has shape {tuple(row.shape)}: {str(error).splitlines()[0]}",
            instead="write a slice or numbers along the last axis, a tuple that indexes a row, or a mask of a row",
        ) from error
    if not bool(mask.any()):
        raise SettingError(
            f"the region of {factor!r} is empty",
            why=f"{region!r} names no entry of a row of shape {tuple(row.shape)}",
            instead="name the entries that hold the factor",
        )
    _check_within(row, region, factor)
    return mask


def _check_within(row: Tensor, region: Any, factor: str) -> None:
    """A slice that goes on beyond its axis is cut without a word, and so hides a slip."""
    parts = [(region, row.shape[-1])] if isinstance(region, slice) else []
    if isinstance(region, tuple) and Ellipsis not in region and None not in region:
        parts = list(zip(region, row.shape, strict=False))
    for part, size in parts:
        ends = [end for end in (part.start, part.stop) if end is not None] if isinstance(part, slice) else []
        if any(not -size <= end <= size for end in ends):
            raise SettingError(
                f"the region of {factor!r}: {region!r}",
                why=f"it goes beyond a row of the inputs, which has shape {tuple(row.shape)}",
                instead="name entries that a row has",
            )


def check_apart(masks: Mapping[str, Tensor], target: Any, redundant: Any) -> None:
    """No entry holds both factors: swapping the one would swap the other along with it."""
    if target == redundant or target not in masks or redundant not in masks:
        return  # told elsewhere
    shared = int((masks[target] & masks[redundant]).sum())
    if shared:
        raise SettingError(
            f"the regions of {target!r} and {redundant!r} overlap in {amount(shared, 'place')}",
            why="to swap the one would swap the other along with it",
            instead="give each factor entries of its own, or render=, which exchanges them in the table",
        )


def form_of(located_inputs: Located, module: nn.Module, layer: str | None) -> tuple[Form, str | None]:
    """What derivatives are taken by: columns, regions of pictures, or the embedding of tokens; and its layer."""
    main = main_of(located_inputs.inputs)
    if layer is not None:
        layer_of(module, layer)
        return "embedding", layer
    if main.is_floating_point():
        return ("column" if main.ndim <= 2 else "region"), None
    return "embedding", next((name for name, part in module.named_modules() if isinstance(part, nn.Embedding)), None)
