"""The first question: on which input factor do the answers hang, before, during and after training?"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from torch import nn

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine.base.seeds import derived
from recombine_lab.models.layers import Forward, length
from recombine_lab.probes.influence_probe.factor_locations import Located, check_apart, form_of, located
from recombine_lab.probes.influence_probe.influence_figures import measures_of, sensitivity_figures, steps_table
from recombine_lab.probes.influence_probe.module_answers import Asking, asking_of
from recombine_lab.probes.influence_probe.probe_examples import check_column, check_rows, codes_of, inputs_of, table_of
from recombine_lab.probes.influence_probe.questions import Half, InfluenceQuestion
from recombine_lab.probes.influence_probe.sensitivity import (
    SensitivityQuestion,
    Untrained,
    hung,
    majority,
    question_of,
    right,
    score_bits,
    untrained,
)
from recombine_lab.probes.influence_probe.verdict import said_of_inputs
from recombine_lab.probes.new_weights import redraw_weights


def _located(ask: InfluenceQuestion) -> tuple[Located, pa.Table]:
    """The inputs with what can be exchanged in them, and the table of their factors."""
    given = ask.examples
    if ask.where is not None:
        return ask.where, given.table
    inputs, table = inputs_of(given.inputs, "inputs"), table_of(given.table, "inputs")
    check_rows("inputs", length(inputs), table.num_rows)
    found = located(inputs, table, given.regions, given.render)
    if given.render is None:
        check_apart(found.masks, given.target, given.redundant)
    return found, table


def asked_of(ask: InfluenceQuestion, *, layer: str | None, forward: Forward | None, seed: int) -> SensitivityQuestion:
    """What is asked of every network, checked."""
    where, table = _located(ask)
    target, redundant = (
        check_column(table, name, f"{setting}={name!r}")
        for name, setting in ((ask.examples.target, "target"), (ask.examples.redundant, "redundant"))
    )
    if target == redundant:
        raise SettingError(
            f"target and redundant are both {target!r}",
            why="the answer should hang on one and not on the other",
            instead="name two factors",
        )
    for name in (target, redundant):
        if name not in where.factors:
            raise SettingError(
                f"no region for {name!r}",
                why=f"it cannot be swapped; regions are given for {', '.join(where.factors) or 'nothing'}",
                instead=f"write regions={{{name!r}: …}}, or render=",
            )
        if len(codes_of(table, name)[1]) < 2:
            raise SettingError(
                f"{name!r} has one value",
                why="there is nothing to swap it for",
                instead="give rows in which it differs",
            )
    codes, values = codes_of(table, target)
    scores = Asking("values", None, forward).scores(ask.module, where.inputs)
    asking = asking_of(scores, ask.examples.targets, codes, values, forward)
    follow = form_of(where, ask.module, layer)
    return question_of(asking, where, table, target=target, redundant=redundant, follow=follow, seed=seed)


def inputs_half(
    given: InfluenceQuestion,
    ask: SensitivityQuestion,
    snapshots: Mapping[str, nn.Module],
    *,
    controls: int,
    least: float,
    tell: Progress,
) -> Half:
    """The first half: the inputs."""
    module = given.module
    by_step = {}
    for k, (step, snapshot) in enumerate(snapshots.items()):
        tell("swapping and following inputs, step by step", k / len(snapshots))
        by_step[step] = hung(snapshot, ask)
    tell("swapping and following inputs", None)
    found = hung(module, ask)
    control = untrained(_fresh(given, controls, ask.seed, tell), ask)
    score, most = right(module, ask), majority(ask)
    said = said_of_inputs(found, control, ask, score, most, least)
    if found[ask.target].slope is None:
        unknown = "Derivatives were not taken: where the factors are in the inputs is not known."
        said = replace(said, reasons=(*said.reasons, unknown))
    numbers = {
        f"answers changed by swapping {ask.redundant}": found[ask.redundant].swap.value,
        f"answers changed by swapping {ask.target}": found[ask.target].swap.value,
        "the same, re-initialised networks": _mean(control, ask.redundant),
        "right answers": score.value,
        f"bits of {ask.redundant} in the answer": found[ask.redundant].bits.value,
        f"bits left once {ask.target} is known": found[ask.redundant].given.value,
    }
    tables = {"information": pa.Table.from_pylist(score_bits(module, ask))}
    if by_step:
        tables["steps"] = steps_table({**by_step})
    return Half(
        said,
        measures_of(found, control, ask, score, most),
        numbers,
        tables,
        sensitivity_figures(module, snapshots, found, by_step, control, ask),
        length(ask.where.inputs),
    )


def _mean(control: Untrained, factor: str) -> float | None:
    return float(np.nanmean(control.swap[factor])) if control.networks else None


def _fresh(given: InfluenceQuestion, count: int, seed: int, tell: Progress) -> Iterable[nn.Module]:
    """The control: the network with new random weights, again and again; drawn as a run draws them where it is one."""
    for k in range(count):
        tell("the same with re-initialised networks", k / count)
        number = derived(seed, "control", k)
        yield (
            given.fresh(number) if given.fresh else redraw_weights(given.module, seed=derived(number, "reinitialised"))
        )
