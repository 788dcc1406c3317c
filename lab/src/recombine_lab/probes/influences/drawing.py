"""What the page of an influence probe shows."""

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor, nn

from recombine.figures import Curve, Curves, Figure, Matrix
from recombine.words import text
from recombine_lab.probes.influences.answering import Floats
from recombine_lab.probes.influences.boundaries import boundaries
from recombine_lab.probes.influences.hanging import Hung, Question, Untrained
from recombine_lab.probes.influences.locating import main_of
from recombine_lab.probes.influences.swaps import Estimate
from recombine_lab.probes.influences.teaching import Taught

MOST_CELLS = 24
MOST_FIELDS = 8
MOST_POINTS = 150


def hanging_figures(
    module: nn.Module,
    snapshots: Mapping[str, nn.Module],
    found: Mapping[str, Hung],
    by_step: Mapping[str, Mapping[str, Hung]],
    control: Untrained,
    ask: Question,
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
                lambda one: Estimate(one.slope),
                control.slope,
            ),
            _curves(
                "Information along training",
                "bits",
                found,
                by_step,
                lambda one: Estimate(one.bits.value),
                control.bits,
            ),
        ]
    return (*figures, *_fields(module, snapshots, ask))


def _swaps(found: Mapping[str, Hung], control: Untrained) -> Matrix:
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


def _slopes(found: Mapping[str, Hung], ask: Question) -> Matrix:
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
    found: Mapping[str, Hung],
    by_step: Mapping[str, Mapping[str, Hung]],
    value: Callable[[Hung], Estimate],
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


def _fields(module: nn.Module, snapshots: Mapping[str, nn.Module], ask: Question) -> tuple[Figure, ...]:
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


def _names(ask: Question) -> tuple[str, str]:
    """The factors by their columns."""
    at = {int(mask.nonzero()[0, 0]): name for name, mask in ask.where.masks.items() if int(mask.sum()) == 1}
    return at.get(0, "first input"), at.get(1, "second input")


def teaching_figures(found: Taught) -> tuple[Figure, ...]:
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
