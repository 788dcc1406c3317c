"""The normalised inputs of `geometry`: a design, a source of layers, the truth, and how combinations are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from recombine.base.checks import check_listed
from recombine.base.errors import ColumnError, SettingError, nearest
from recombine.base.seeds import derived
from recombine_lab.models.layers import Forward, length
from recombine_lab.probes.columns import read_parquet
from recombine_lab.probes.geometry_probe.controls import Code, one_hot
from recombine_lab.probes.geometry_probe.design import (
    GridDesign,
    columns_of,
    designed,
    is_list,
    numbers_of,
)
from recombine_lab.probes.geometry_probe.layer_sources import Arrays, LayerSource, Module, chosen_layers, kept_numbers
from recombine_lab.probes.probe import SettingsGroup
from recombine_lab.probes.run_inputs import RunInputs, run_name
from recombine_lab.runs.run import Run
from recombine_lab.tasks.task import DrawsFactors

_MOST_ROWS = 20_000
_MOST_CODE = 20_000
FEATURES = "features"


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerKey(SettingsGroup):
    """What is known of the right answers, and of what was shown.

    - `truth`: the right outputs of every row, or the name of such a column. The last layer is held against them.
    - `rest`: what an output is with nothing on it (each output's median over the seen, unless given).
    - `seen`: for each row whether its combination was in training, or the name of such a column.
    - `axes`: which axis of a layer's own shape belongs to which factor, for the stripe share: {"x": -1, "y": -2}.
    """

    truth: Any = None
    rest: float | npt.ArrayLike | None = None
    seen: Any = None
    axes: Mapping[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class GeometrySettings:
    """The settings of `geometry` that say what is looked at, as they were given."""

    model: Any
    inputs: Any = None
    table: Any = None
    factors: Sequence[str] | None = None
    ordered: Sequence[str] | None = None
    layers: Sequence[str] | str | None = None
    answers: AnswerKey = field(default_factory=AnswerKey)
    forward: Forward | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class GeometryInputs:
    """All that is looked at. `truth` (c, d) is the target of each combination, where it is known."""

    design: GridDesign
    source: LayerSource
    code: Code
    name: str
    truth: npt.NDArray[np.float32] | None = None
    axes: Mapping[int, int] = field(default_factory=dict)


def asked(given: GeometrySettings) -> GeometryInputs:
    """The one form of everything that can be given."""
    if isinstance(given.model, Run):
        return _of_module(_of_run(given), name=run_name(given.model))
    if isinstance(given.model, nn.Module):
        return _of_module(given, name=type(given.model).__name__)
    if isinstance(given.model, str | Path):
        return _of_file(given)
    return _of_arrays(given)


def _of_run(given: GeometrySettings) -> GeometrySettings:
    """A run of a store: its network, its task's combinations, and which of them it was trained on."""
    known = RunInputs.of(given.model)
    task, key = known.task, given.answers
    codes = task.every()
    # several rows of a combination average what chance adds to it
    times = max(1, min(4, _MOST_ROWS // max(1, len(codes))))
    alone = None
    if isinstance(task, DrawsFactors):  # which draws the same of a combination every time
        times, alone, key = 1, task.factors_alone(), replace(key, axes=key.axes or task.axes)
    points = task.latents(np.tile(codes, (times, 1)), seed=derived(given.seed, "latents"))
    points = points if alone is None else torch.cat([points, alone])
    batch = task.render(points, seed=derived(given.seed, "render"), part="test")
    table = known.table(points)
    drawn = task.shapes.kind == "values"
    return replace(
        given,
        model=known.module,
        inputs=batch.inputs,
        table=table.to_pydict(),
        answers=replace(
            key,
            seen=known.was_shown(table) if key.seen is None else key.seen,
            truth=batch.targets if key.truth is None and drawn else key.truth,
        ),
    )


def _of_module(given: GeometrySettings, *, name: str) -> GeometryInputs:
    for setting in ("inputs", "table"):
        if getattr(given, setting) is None:
            raise SettingError(
                f"a module without {setting}",
                why="it is asked about inputs, and a table says which combination each row of them is",
                instead=f"give {setting}=…, or a run of the store, which knows its own",
            )
    design = _designed(given)
    if length(given.inputs) != design.rows:
        raise SettingError(
            f"inputs of {length(given.inputs):,} rows with a table of {design.rows:,}",
            why="the table says which combination each row of the inputs is",
            instead="give as many rows of both",
        )
    inputs = given.inputs if isinstance(given.inputs, Mapping) else torch.as_tensor(given.inputs)
    _check_finite(inputs)
    chosen = chosen_layers(given.model, inputs, given.layers, given.forward)
    source = Module(given.model, inputs, design, chosen, given.forward, given.seed)
    return _made(given, design, source, name=name, code=_code(inputs, design))


def _check_finite(inputs: Any) -> None:
    """Of inputs by keyword nothing is asked: a mask may hold infinities by right, and random features are not of it."""
    if not isinstance(inputs, torch.Tensor) or not inputs.is_floating_point():
        return
    # as single precision, which the random features are of: what is too large for it is infinite there
    bad = int((~inputs.detach().float().isfinite()).reshape(len(inputs), -1).any(dim=1).sum())
    if bad:
        raise SettingError(
            f"NaN or infinity in {bad:,} of {len(inputs):,} rows of the inputs",
            why="random features of the same inputs stand beside every layer, and nothing can be measured of these",
            instead="leave those rows out of inputs and table, or fill in what is missing",
        )


def _of_file(given: GeometrySettings) -> GeometryInputs:
    """Features of a Parquet file: a list column for each layer, and a column for each factor."""
    table = read_parquet(given.model)
    if given.table is None:
        given = replace(given, table=table)
    columns = columns_of(table)
    lists = [name for name, column in columns.items() if is_list(column) and name != given.answers.truth]
    chosen = lists if given.layers is None else [given.layers] if isinstance(given.layers, str) else list(given.layers)
    for name in chosen:
        if name not in columns:
            raise ColumnError(f"no column {name!r}", why="layers= names list columns", instead=nearest(name, lists))
    if not chosen:
        raise ColumnError(
            f"'{given.model}' has no list column",
            why="the features of a layer are a list of numbers in each row",
            instead="write them as a list column; name other columns with layers=[…]",
        )
    arrays = {name: numbers_of(columns[name], name) for name in chosen}
    return _of_arrays(replace(given, model=arrays, layers=None), name=str(given.model), taken=chosen)


def _of_arrays(given: GeometrySettings, *, name: str = "arrays", taken: Sequence[str] = ()) -> GeometryInputs:
    arrays = given.model if isinstance(given.model, Mapping) else {FEATURES: given.model}
    if given.table is None:
        raise SettingError(
            "features without a table",
            why="the table says which combination each row is",
            instead="write table={'x': […], 'y': […]}",
        )
    found = {str(layer): _array(array) for layer, array in arrays.items()}
    if given.layers is not None:
        wanted = [given.layers] if isinstance(given.layers, str) else list(given.layers)
        for layer in wanted:
            check_listed(layer, list(found), f"no layer {layer!r}", why="it was not given")
        found = {layer: found[layer] for layer in wanted}
    design = _designed(given, taken=taken)
    return _made(given, design, Arrays(found, design, given.seed), name=name, code=one_hot(design))


def _array(given: Any) -> npt.NDArray[Any]:
    array = given.detach().float().cpu().numpy() if isinstance(given, torch.Tensor) else np.asarray(given)
    if array.dtype == object:
        raise SettingError(
            f"a model of type {type(given).__name__}",
            why="a probe looks at a torch module, a run, arrays of numbers, or a Parquet file of them",
            instead="give an nn.Module with inputs=…, or features as (rows, width)",
        )
    return array


def _designed(given: GeometrySettings, *, taken: Sequence[str] = ()) -> GridDesign:
    columns = columns_of(given.table)
    roles = [one for one in (given.answers.truth, *taken) if isinstance(one, str)]
    left = {name: column for name, column in columns.items() if name not in roles}
    return designed(left, factors=given.factors, ordered=given.ordered, seen=given.answers.seen)


def _made(given: GeometrySettings, design: GridDesign, source: LayerSource, *, name: str, code: Code) -> GeometryInputs:
    truth = given.answers.truth
    if isinstance(truth, str):
        columns = columns_of(given.table)
        check_listed(truth, list(columns), f"no column {truth!r}", why="truth= names one", error=ColumnError)
        truth = numbers_of(columns[truth], truth)
    return GeometryInputs(
        design=design,
        source=source,
        code=code,
        name=name,
        truth=None if truth is None else _truth(truth, design, given.seed),
        axes=_axes(given.answers.axes, design),
    )


def _truth(given: Any, design: GridDesign, seed: int) -> npt.NDArray[np.float32]:
    array = _array(given)
    if len(array) != design.rows or array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        raise SettingError(
            f"truth of shape {array.shape} and type {array.dtype}",
            why=f"it has the right outputs of each of {design.rows:,} rows, all of them finite numbers",
            instead="give the targets in the order of the table's rows",
        )
    flat = array.reshape(len(array), -1)
    return design.averaged(flat[:, kept_numbers(flat.shape[1], len(design.cells), seed)].astype(np.float32))


def _axes(given: Mapping[str, int] | None, design: GridDesign) -> dict[int, int]:
    for name in given or {}:
        check_listed(name, design.names, f"axes={{{name!r}: …}}", why="it is no factor")
    return {design.names.index(name): int(axis) for name, axis in (given or {}).items()}


def _code(inputs: Any, design: GridDesign) -> Code:
    """The module's own inputs where they are numbers, and not too many of them; else each factor one-hot."""
    if isinstance(inputs, torch.Tensor) and inputs.is_floating_point() and inputs[0].numel() <= _MOST_CODE:
        flat = inputs.detach().float().cpu().numpy().reshape(len(inputs), -1)
        return Code(design.averaged(flat).astype(np.float64), own=True)
    return one_hot(design)
