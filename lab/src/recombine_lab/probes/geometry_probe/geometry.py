"""Geometry: how do the layers of a model hold the factors: apart, mixed, or as a table of memories?"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from recombine.base.checks import check_seed, check_whole
from recombine.base.errors import SettingError, nearest
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine.base.words import amount, percent
from recombine.verbs.predict.kernel.salience import Salience, members
from recombine_lab.models.layers import Forward
from recombine_lab.probes.geometry_probe.answers import COVERAGE, EXCESS, GAP, SEEN_ERROR
from recombine_lab.probes.geometry_probe.controls import CONTROLS, TRUTH
from recombine_lab.probes.geometry_probe.inputs import AnswerKey, GeometryInputs, GeometrySettings, asked
from recombine_lab.probes.geometry_probe.kernel_measures import ADDITIVITY, CENTRED, ORTHOGONALITY, PROBE, PROBE_UNSEEN
from recombine_lab.probes.geometry_probe.measures import TARGETS, Call, Measured, measured
from recombine_lab.probes.geometry_probe.verdict import Decision, beside_answers, decided, pictures
from recombine_lab.probes.probe import MEASURED, Probe, finite, measures_table


def geometry(  # noqa: PLR0913 - a setting is an argument
    model: Any,
    *,
    inputs: Any = None,
    table: Any = None,
    factors: Sequence[str] | None = None,
    ordered: Sequence[str] | None = None,
    layers: Sequence[str] | str | None = None,
    answers: AnswerKey | None = None,
    forward: Forward | None = None,
    repeats: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """How each layer of a model holds the factors, every measure beside the same measure of what cannot compose.

    - `model`: an `nn.Module` (with `inputs`), a run of a store (which knows all of the following itself), an array of
      features or a mapping of layers to arrays, or a Parquet file with a list column for each layer.
    - `table`: the factors' values of every row: a mapping, an Arrow table, a data frame, a Parquet file. Rows in which
      all factors but one are missing are inputs of one factor alone; with them there is a partial-input test.
    - `factors`: the columns that are factors, unless all are. `ordered`: those whose values have an order, unless that
      is all that are numbers.
    - `layers`: names of `named_modules()` ("" or "answer" is what the whole module gives); up to 12 that do something
      and the answer, unless given. With the truth, the last is what is held against it.
    - `answers`: what is known of the right ones: the truth, and which combinations were in training.
    - `repeats`: seeds of each control. `forward(module, batch)`: how the module is asked, if not `module(batch)`.

    Several rows of a combination are averaged. `outcome` is one of `apart`, `inherited`, `mixed`, `memorised`,
    `unclear`; `tables["salience"]` has what each layer weighs, for `recombine.predict` (`salience_at`).

    >>> import numpy as np
    >>> x, y = np.divmod(np.arange(64), 8)
    >>> found = geometry(np.eye(64), table={"x": x, "y": y}, repeats=3)  # a vector of its own for each combination
    >>> found.outcome, round(found.value("additivity"), 3), round(found.value("orthogonality"), 3)
    ('memorised', 0.222, 0.929)
    """
    check_seed(seed)
    check_whole("repeats", repeats, least=3, why="with fewer seeds no control has an interval")
    tell = progress or silent
    tell("reading what is asked", None)
    given = GeometrySettings(
        model=model,
        inputs=inputs,
        table=table,
        factors=factors,
        ordered=ordered,
        layers=layers,
        answers=answers or AnswerKey(),
        forward=forward,
        seed=seed,
    )
    ask = asked(given)
    found = measured(Call(ask, repeats, seed, given.answers.rest, tell))
    tell("deciding", 1.0)
    return _probe(ask, found, decided(found), {"repeats": repeats, "seed": seed}, command)


def _probe(
    ask: GeometryInputs, found: Measured, decision: Decision, settings: dict[str, Any], command: str | None
) -> Probe:
    cells = len(ask.design.cells)
    return Probe(
        probe="geometry",
        outcome=decision.outcome,
        verdict=decision.verdict,
        grade=decision.grade,
        reasons=(_looked(ask, found), *found.reasons, *_more(found)),
        rows=ask.design.rows,
        numbers=_numbers(found, decision.where),
        figures=pictures(found, decision.where),
        tables={
            "measures": measures_table(found.measures(cells)),
            "layers": _layers(found),
            "changes": _changes(found),
            "salience": _salience(found, ask.design.names),
        },
        provenance=Provenance(
            source=ask.name,
            settings={**settings, "factors": list(ask.design.names), "layers": list(found.layers)},
            command=command,
        ),
    )


def _looked(ask: GeometryInputs, found: Measured) -> str:
    design = ask.design
    grid = " × ".join(f"{size} {name}" for size, name in zip(design.sizes, design.names, strict=True))
    unseen = "" if design.seen is None else f", {int((~design.seen).sum()):,} of them unseen"
    code = "its own inputs" if ask.code.own else "the factors, one-hot"
    return (
        f"{amount(len(found.layers), 'layer')} on {amount(len(design.cells), 'combination')} ({grid}){unseen}. "
        f"Random features are of {code}."
    )


def _more(found: Measured) -> list[str]:
    """What the targets alone say."""
    if (TARGETS, TRUTH) not in found.own:
        return []
    unlit, dark, spanned = (found.get(TARGETS, name, TRUTH).value for name in COVERAGE)
    if unlit is None or dark is None or spanned is None:
        return []
    if unlit == dark == 0:
        return [f"{percent(spanned)} of what unseen targets move lies in the span of the seen targets."]
    return [
        f"{percent(unlit)} of the outputs are never moved in training, and {percent(dark)} of what unseen targets move "
        f"is on them; {percent(spanned)} lies in the span of the seen targets."
    ]


def _numbers(found: Measured, where: str) -> dict[str, float | None]:
    names = (GAP, SEEN_ERROR, EXCESS, ADDITIVITY, CENTRED, PROBE, PROBE_UNSEEN, ORTHOGONALITY)
    told = {name: finite(found.get(where, name).value) for name in names}
    return {name: value for name, value in told.items() if value is not None}


def _layers(found: Measured) -> pa.Table:
    """The outcome of each layer, beside what the answers do on unseen combinations."""
    decisions = [beside_answers(found, name) for name in found.layers]
    return pa.table(
        {
            "where": pa.array(found.layers, pa.string()),
            "outcome": pa.array([one.outcome for one in decisions], pa.string()),
            "grade": pa.array([one.grade for one in decisions], pa.string()),
            "verdict": pa.array([one.verdict for one in decisions], pa.string()),
        }
    )


def _changes(found: Measured) -> pa.Table:
    """Re-entangling: how each share changes from a layer to the next, of the network and of its controls."""
    rows = []
    for before, after in zip(found.layers[:-1], found.layers[1:], strict=True):
        for name in (ADDITIVITY, CENTRED, ORTHOGONALITY, PROBE):
            for who in (MEASURED, *CONTROLS):
                first, second = (found.get(where, name, who).value for where in (before, after))
                if first is not None and second is not None:
                    rows.append((before, after, name, who, second - first))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    names = ("from", "to", "measure", "who", "change")
    kinds = (*[pa.string()] * 4, pa.float64())
    return pa.table({name: pa.array(list(c), kind) for name, c, kind in zip(names, columns, kinds, strict=True)})


def _salience(found: Measured, names: Sequence[str]) -> pa.Table:
    """The weight of each set of factors at each layer, and how the layer's salience is written for a prediction."""
    rows = [
        (where, " × ".join(names[k] for k in members(mask)), mask.bit_count(), weight, written(salience))
        for where, salience in found.salience.items()
        for mask, weight in enumerate(salience.weights)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    kinds = (pa.string(), pa.string(), pa.int64(), pa.float64(), pa.string())
    heads = ("where", "factors", "order", "weight", "written")
    return pa.table({name: pa.array(list(c), kind) for name, c, kind in zip(heads, columns, kinds, strict=True)})


def written(salience: Salience) -> str:
    """A salience by order as `recombine.predict(salience=…)` and the command take it; negative weights are none.

    >>> written(Salience.by_order([0, 0.3, 0.4]))
    'order:0,0.3,0.4'
    """
    return "order:" + ",".join(f"{max(weight, 0.0):.6g}" for weight in salience.order_weights)


def salience_at(probe: Probe, where: str) -> Salience:
    """What a layer weighs, for `recombine.predict(salience=…)`; negative weights, which no kernel has, are set to 0.

    >>> import numpy as np
    >>> x, y = np.divmod(np.arange(16), 4)
    >>> code = np.concatenate([np.eye(4)[x], np.eye(4)[y]], axis=1)
    >>> salience_at(geometry(code, table={"x": x, "y": y}, repeats=3), "features").saliences
    (0.5, 0.0)
    """
    rows = [row for row in probe.tables["salience"].to_pylist() if row["where"] == where]
    if not rows:
        known = sorted(set(probe.tables["salience"]["where"].to_pylist()))
        raise SettingError(f"no salience at {where!r}", why="it was not measured there", instead=nearest(where, known))
    weights = tuple(row["weight"] for row in rows)
    return Salience(len(weights).bit_length() - 1, weights, name=f"layer {where}").clipped()
