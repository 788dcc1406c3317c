"""The measures of an influence probe as rows: what was measured, and each control under its own name.

Decision boundaries over two inputs, as fields that a page draws.

What the page of an influence probe shows.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine.base.words import text
from recombine.output.figures import Curve, Curves, Field, Figure, Matrix
from recombine_lab.models.layers import evaluating, tensor_of
from recombine_lab.probes.influence_probe.factor_locations import main_of
from recombine_lab.probes.influence_probe.factor_measures import FactorEstimate
from recombine_lab.probes.influence_probe.influence_functions import InfluenceMatrix
from recombine_lab.probes.influence_probe.influence_summary import Summed
from recombine_lab.probes.influence_probe.module_answers import Floats, answers_in
from recombine_lab.probes.influence_probe.sensitivity import (
    BITS,
    PERMUTATION,
    SLOPE,
    SWAP,
    FactorSensitivity,
    SensitivityQuestion,
    Untrained,
)
from recombine_lab.probes.probe import Measure

FRESH, SAME, SHUFFLED, ONE_FOR_ALL = "re-initialised", "same value", "shuffled factor", "one answer for all"


def measures_of(
    found: Mapping[str, FactorSensitivity],
    control: Untrained,
    ask: SensitivityQuestion,
    right: FactorEstimate,
    majority: float | None,
) -> list[Measure]:
    """Every measure of every factor, with its controls."""
    rows = [_measure("all", "right answers", right), Measure("all", "right answers", majority, ONE_FOR_ALL)]
    for factor, one in found.items():
        rows += [
            _measure(factor, SWAP, one.swap),
            _measure(factor, SWAP, one.same, SAME),
            _measure(factor, SWAP, one.shuffled, SHUFFLED),
            _over(factor, SWAP, control.swap),
            _measure(factor, PERMUTATION, one.permutation),
            _over(factor, PERMUTATION, control.permutation),
            Measure(factor, f"{SLOPE}, by {ask.follow[0]}", one.slope),
            _over(factor, f"{SLOPE}, by {ask.follow[0]}", control.slope),
            Measure(factor, BITS, one.bits.value),
            Measure(factor, BITS, one.bits.null, SHUFFLED, high=one.bits.null_high),
            _over(factor, BITS, control.bits),
            Measure(factor, f"{BITS} given {ask.other(factor)}", one.given.value),
            Measure(factor, f"{BITS} given {ask.other(factor)}", one.given.null, SHUFFLED, high=one.given.null_high),
        ]
    return [row for row in rows if row.value is not None]


def _measure(where: str, name: str, found: FactorEstimate, who: str = "measured") -> Measure:
    return Measure(where, name, found.value, who, found.low, found.high, found.n or 1)


def _over(factor: str, name: str, control: Mapping[str, Floats]) -> Measure:
    """The mean over control networks, and where 95 % of them lie."""
    values = control.get(factor, np.zeros(0))
    values = values[np.isfinite(values)]
    if not len(values):
        return Measure(factor, name, None, FRESH)
    low, high = np.quantile(values, [0.025, 0.975])
    return Measure(factor, name, float(values.mean()), FRESH, float(low), float(high), len(values))


def steps_table(by_step: Mapping[str, Mapping[str, FactorSensitivity]]) -> pa.Table:
    """Every measure of every factor at every step."""
    rows = []
    for step, found in by_step.items():
        for factor, one in found.items():
            values = {
                SWAP: one.swap,
                PERMUTATION: one.permutation,
                SLOPE: FactorEstimate(one.slope),
                BITS: FactorEstimate(one.bits.value),
                f"{BITS}, the other factor known": FactorEstimate(one.given.value),
            }
            rows += [
                {"step": step, "factor": factor, "measure": name, "value": v.value, "low": v.low, "high": v.high}
                for name, v in values.items()
            ]
    schema = pa.schema(
        [("step", pa.string()), ("factor", pa.string()), ("measure", pa.string())]
        + [(name, pa.float64()) for name in ("value", "low", "high")]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def training_measures(total: Summed) -> list[Measure]:
    """The share of influence from neighbours, by chance beside it; and whether training again says the same."""
    low, high = total.interval or (None, None)
    rows = [Measure("unseen combinations", "influence from neighbours", total.share, low=low, high=high)]
    if total.null is not None:
        rows.append(
            Measure(
                "unseen combinations",
                "influence from neighbours",
                float(np.mean(total.null)),
                "shuffled combinations",
                *total.null,
            )
        )
    if total.rank is not None:
        rank = total.rank
        rows.append(
            Measure(
                "unseen combinations",
                "rank correlation with training again",
                rank.value,
                low=rank.low,
                high=rank.high,
                n=rank.combinations,
            )
        )
    return [row for row in rows if row.value is not None]


SIDE = 41


def boundaries(
    modules: Mapping[str, nn.Module],
    *,
    names: tuple[str, str] = ("x1", "x2"),
    x: tuple[float, float] = (-1.0, 1.0),
    y: tuple[float, float] = (-1.0, 1.0),
    points: Sequence[tuple[float, float, int]] = (),
    side: int = SIDE,
) -> tuple[Field, ...]:
    """Where each module of two inputs changes its answer: one picture a module, by its title.

    >>> figure = boundaries({"untrained": nn.Linear(2, 2)}, side=3)[0]
    >>> figure.title, len(figure.cells), len(figure.cells[0])
    ('untrained', 3, 3)
    """
    across, up = np.linspace(*x, side), np.linspace(y[1], y[0], side)  # row 0 is at the top
    grid = torch.from_numpy(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)).float()
    return tuple(
        Field(
            title,
            f"The answer at each {names[0]} and {names[1]}; dark is class 1.",
            *names,
            x,
            y,
            tuple(map(tuple, _answers(module, grid).reshape(side, side).tolist())),
            tuple(points),
        )
        for title, module in modules.items()
    )


def _answers(module: nn.Module, grid: torch.Tensor) -> torch.Tensor:
    with evaluating(module), torch.no_grad():
        return answers_in(tensor_of(module(grid), ""), "classes").double()


MOST_CELLS = 24
MOST_FIELDS = 8
MOST_POINTS = 150


def sensitivity_figures(
    module: nn.Module,
    snapshots: Mapping[str, nn.Module],
    found: Mapping[str, FactorSensitivity],
    by_step: Mapping[str, Mapping[str, FactorSensitivity]],
    control: Untrained,
    ask: SensitivityQuestion,
) -> tuple[Figure, ...]:
    """Swaps by factor beside their controls, the way through training, and boundaries where there are two inputs."""
    figures: list[Figure] = [_swaps(found, control)]
    if any(one.outputs for one in found.values()):
        figures.append(_slopes(found, ask))
    if by_step:
        figures += [
            _curves("Swaps along training", "answers changed", found, by_step, lambda one: one.swap, control.swap),
            _curves(
                f"Derivatives along training, by {ask.follow[0]}",
                "mean |∂Ŷ/∂X|",
                found,
                by_step,
                lambda one: FactorEstimate(one.slope),
                control.slope,
            ),
            _curves(
                "Information along training",
                "bits",
                found,
                by_step,
                lambda one: FactorEstimate(one.bits.value),
                control.bits,
            ),
        ]
    return (*figures, *_fields(module, snapshots, ask))


def _swaps(found: Mapping[str, FactorSensitivity], control: Untrained) -> Matrix:
    fresh = [float(np.nanmean(control.swap[name])) if control.networks else None for name in found]
    cells = tuple(
        (one.swap.value, one.same.value, one.shuffled.value, before, one.permutation.value)
        for one, before in zip(found.values(), fresh, strict=True)
    )
    return Matrix(
        "What the answers hang on",
        "The share of answers that change when a factor is taken from another row; and what permuting it costs.",
        tuple(found),
        ("swap", "same value", "shuffled factor", "re-initialised", "permutation"),
        cells,
    )


def _slopes(found: Mapping[str, FactorSensitivity], ask: SensitivityQuestion) -> Matrix:
    cells = tuple(tuple(one.outputs) for one in found.values() if one.outputs)
    return Matrix(
        "Derivatives of each output",
        f"Mean |∂Ŷ_i/∂X_j| of output i, by {ask.follow[0]}.",
        tuple(name for name, one in found.items() if one.outputs),
        tuple(f"output {k}" for k in range(len(cells[0]))),
        cells,
        high=max(max(row) for row in cells) or 1.0,
    )


def _curves(
    title: str,
    up: str,
    found: Mapping[str, FactorSensitivity],
    by_step: Mapping[str, Mapping[str, FactorSensitivity]],
    value: Callable[[FactorSensitivity], FactorEstimate],
    control: Mapping[str, Floats],
) -> Curves:
    steps = {**by_step, "end": found}
    curves = []
    for factor in found:
        points = [value(one[factor]) for one in steps.values()]
        low, high = (tuple(getattr(one, end) for one in points) for end in ("low", "high"))
        known = any(end is not None for end in low)
        curves.append(Curve(factor, tuple(one.value for one in points), low if known else (), high if known else ()))
    for factor, values in control.items():
        known_values = values[np.isfinite(values)]
        if len(known_values):
            level = (float(known_values.mean()),) * len(steps)
            curves.append(Curve(f"{factor}, re-initialised", level, control=True))
    return Curves(title, "A line for each factor; dashed: untrained networks.", "step", up, tuple(steps), tuple(curves))


def _fields(module: nn.Module, snapshots: Mapping[str, nn.Module], ask: SensitivityQuestion) -> tuple[Figure, ...]:
    """Boundaries over two numbers, by step and at the end."""
    inputs = ask.where.inputs
    two = isinstance(inputs, Tensor) and inputs.ndim == 2 and inputs.shape[1] == 2 and inputs.is_floating_point()
    if not two or ask.asking.kind != "classes" or ask.asking.forward is not None:
        return ()
    main, truth = main_of(inputs), ask.asking.truth
    ends = [(float(main[:, k].min()), float(main[:, k].max())) for k in (0, 1)]
    shown = np.linspace(0, len(main) - 1, min(len(main), MOST_POINTS)).astype(int)
    points = [(float(main[k, 0]), float(main[k, 1]), 0 if truth is None else int(truth[k])) for k in shown]
    chosen = dict(list({f"Boundary at step {step}": one for step, one in snapshots.items()}.items())[:MOST_FIELDS])
    names = _names(ask)
    return boundaries({**chosen, "Boundary at the end": module}, names=names, x=ends[0], y=ends[1], points=points)


def _names(ask: SensitivityQuestion) -> tuple[str, str]:
    """The factors by their columns."""
    at = {int(mask.nonzero()[0, 0]): name for name, mask in ask.where.masks.items() if int(mask.sum()) == 1}
    return at.get(0, "first input"), at.get(1, "second input")


def training_figures(found: InfluenceMatrix) -> tuple[Figure, ...]:
    """Unseen by seen combinations, those with the strongest influence."""
    size = np.nan_to_num(np.abs(found.influence))
    rows = np.sort(np.argsort(-size.max(axis=1))[:MOST_CELLS])
    columns = np.sort(np.argsort(-size.max(axis=0))[:MOST_CELLS])
    values = found.influence[np.ix_(rows, columns)]
    most = float(size.max()) or 1.0
    return (
        Matrix(
            "What each seen combination taught",
            "Rows: unseen combinations. Columns: seen ones. How much the loss would rise without it.",
            tuple(_short(found.unseen[k]) for k in rows),
            tuple(_short(found.seen[k]) for k in columns),
            tuple(tuple(None if not np.isfinite(v) else float(v) for v in row) for row in values),
            low=-most,
            high=most,
        ),
    )


def _short(combination: Mapping[str, object]) -> str:
    return " × ".join(text(value) for value in combination.values())
