"""`recombine_lab.probes.influence`: which input factor an answer hangs on, and which seen combinations taught it.

Two questions, either or both: of the inputs (`inputs`, `table`, `target`, `redundant` and where the factors are) and of
the training combinations (`seen` and `unseen`). Outcomes are listed in `wording.OUTCOMES`.

A network while it is trained: modules, or state dicts that are put into copies of it, by step.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from recombine.base.checks import check_choice, check_number, check_seed, check_whole
from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine_lab.models.layers import Forward, uncompiled
from recombine_lab.probes.influence_probe.factor_locations import Render
from recombine_lab.probes.influence_probe.influence_functions import MOST_WEIGHTS
from recombine_lab.probes.influence_probe.influence_summary import Train
from recombine_lab.probes.influence_probe.input_sensitivity import asked_of, inputs_half, where_of
from recombine_lab.probes.influence_probe.questions import Half, RunSettings
from recombine_lab.probes.influence_probe.run_inputs import of_run
from recombine_lab.probes.influence_probe.training_influence import Method, teaching_half
from recombine_lab.probes.probe import Probe, measures_table
from recombine_lab.runs.run import Run

Checkpoints = Mapping[Any, nn.Module | Mapping[str, Tensor]] | Sequence[tuple[Any, nn.Module | Mapping[str, Tensor]]]


def snapshots_of(module: nn.Module, checkpoints: Checkpoints | None) -> dict[str, nn.Module]:
    """A module for each step, in the order of the steps.

    >>> network = nn.Linear(1, 1)
    >>> list(snapshots_of(network, {10: network.state_dict(), 1: network}))
    ['1', '10']
    """
    pairs = list(checkpoints.items()) if isinstance(checkpoints, Mapping) else list(checkpoints or [])
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise SettingError(
            "checkpoints without steps",
            why="a network is shown by step",
            instead="write checkpoints={step: state dict}",
        )
    ordered = sorted(pairs, key=lambda pair: (not isinstance(pair[0], int), pair[0] if isinstance(pair[0], int) else 0))
    return {str(step): _made(module, step, one) for step, one in ordered}


def _made(module: nn.Module, step: Any, one: Any) -> nn.Module:
    if isinstance(one, nn.Module):
        return one
    made = copy.deepcopy(module)
    try:
        made.load_state_dict(one)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise SettingError(
            f"the checkpoint of step {step}",
            why=f"it does not fit the model: {str(error).strip().splitlines()[-1].strip()}",
            instead="give state dicts of the same network, or modules",
        ) from error
    return made


CONTROLS = 20
LEAST = 0.05
"""Swaps that change fewer answers than this leave them as they are."""


def influence(  # noqa: PLR0913 - each is one plain question, and all but one have an answer already
    model: nn.Module | Run,
    *,
    inputs: Any = None,
    table: Any = None,
    target: str | None = None,
    redundant: str | None = None,
    targets: Any = None,
    regions: Mapping[str, Any] | None = None,
    render: Render | None = None,
    layer: str | None = None,
    forward: Forward | None = None,
    checkpoints: Checkpoints | None = None,
    controls: int = CONTROLS,
    least: float = LEAST,
    seen: Any = None,
    unseen: Any = None,
    loss: str = "auto",
    weight_decay: float = 0.0,
    damping: float | None = None,
    start: nn.Module | None = None,
    method: Method = "auto",
    train: Train | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """On which input factor do the answers hang, and which seen combinations taught them?

    Of the inputs: `table` has a column for each factor, a row for each input; `target` is the factor that the answer
    should hang on, `redundant` one that it should not. Where a factor is in the inputs is said by `regions` (slices,
    numbers or masks by factor), or by `render`, a function that makes inputs of rows of the table. `targets` are the
    right answers, where they are not the target factor's values in order. `checkpoints` has modules or state dicts by
    step. `controls` networks with new random weights are measured alike. `layer` is what derivatives are taken by for
    tokens: their embedding, unless given.

    Of the training combinations: `seen` and `unseen` are (inputs, targets, table); the model is taken to minimise the
    `loss` over `seen`, with `weight_decay`, from `start` where that is known. `train(rows)` trains it again on some
    rows of `seen`: a dozen combinations are then left out for real, and held against what was worked out.
    `method="dattri"` approximates; it is taken where there are more than 10^4 weights.

    A run of the lab alone says all of this itself.

    >>> import torch
    >>> x = torch.linspace(-1, 1, 400)
    >>> inputs = torch.stack([x, x.roll(130)], dim=1)
    >>> table = {"own": x > 0, "other": x.roll(130) > 0}
    >>> rule = nn.Linear(2, 2, bias=False)
    >>> _ = rule.weight.data.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
    >>> found = influence(
    ...     rule, inputs=inputs, table=table, target="own", redundant="other", regions={"own": 0, "other": 1}
    ... )
    >>> found.outcome, found.value("swap", where="other")
    ('own factor', 0.0)
    """
    tell = progress or silent
    _check(seed=seed, controls=controls, least=least, damping=damping, weight_decay=weight_decay, method=method)
    given = RunSettings(inputs, table, target, redundant, targets, None, seen, unseen, weight_decay, damping, start)
    if isinstance(model, Run):
        tell("building what the run was asked", None)
        module, given = _from_run(model, given, regions, seed)
    else:
        module = _module(model)
    hanging = teaching = None
    snapshots = snapshots_of(module, checkpoints)
    if given.inputs is not None or given.where is not None:
        where, facts = where_of(given, regions, render)
        ask = asked_of(module, where, facts, given, layer=layer, forward=forward, seed=seed)
        hanging = inputs_half(module, given, ask, snapshots, controls=controls, least=least, tell=tell)
    if given.seen is not None or given.unseen is not None:
        begun = given.start or snapshots.get("0")
        teaching = teaching_half(
            module, given, begun, loss=loss, method=method, train=train, forward=forward, seed=seed, tell=tell
        )
    if hanging is None and teaching is None:
        raise SettingError(
            "neither inputs nor training combinations",
            why="there is nothing to ask about",
            instead="write inputs=…, table=…, target=…, redundant=…, regions=…; or seen=… and unseen=…",
        )
    return _probe(model, hanging, teaching, command, seed)


def _check(*, seed: Any, controls: Any, least: Any, damping: Any, weight_decay: Any, method: Any) -> None:
    check_seed(seed)
    check_whole("controls", controls, least=0)
    check_number("least", least, least=0.0, below=1.0)
    check_number("weight_decay", weight_decay, least=0.0)
    check_choice("method", method, ("auto", "exact", "dattri"))
    if damping is not None:
        check_number("damping", damping, least=0.0)


def _module(model: Any) -> nn.Module:
    inner = uncompiled(model)
    if isinstance(inner, nn.Module):
        return inner
    raise SettingError(
        f"model={type(model).__name__}",
        why="inputs are swapped and weights are moved, which takes a torch module",
        instead="give an nn.Module, or a run of recombine_lab",
    )


def _from_run(run: Run, given: RunSettings, regions: Any, seed: int) -> tuple[nn.Module, RunSettings]:
    """What a run says itself, where nothing else was given."""
    if given.inputs is not None or regions is not None:
        return run.module(), given
    known = of_run(run, target=given.target, redundant=given.redundant, seed=seed)
    small = sum(weight.numel() for weight in known.module.parameters()) <= MOST_WEIGHTS
    both = known.target is not None and known.redundant is not None
    if not both and not (small and known.unseen is not None):
        raise SettingError(
            f"run {run.key[:8]} alone",
            why="no single factor of its task fixes the answer, and it has no unseen combinations or too many weights",
            instead="write target= and redundant=, two of its factors",
        )
    return known.module, RunSettings(
        inputs=None,
        table=known.table,
        target=known.target,
        redundant=known.redundant,
        targets=known.targets,
        where=known.where if both else None,
        seen=given.seen or (known.seen if small and known.unseen is not None else None),
        unseen=given.unseen or (known.unseen if small else None),
        weight_decay=given.weight_decay or known.weight_decay,
        damping=known.damping if given.damping is None else given.damping,
        start=given.start or known.start,
        fresh=known.fresh,
    )


def _probe(model: Any, hanging: Half | None, teaching: Half | None, command: str | None, seed: int) -> Probe:
    halves = [half for half in (hanging, teaching) if half is not None]
    first = halves[0].said
    source = f"run {model.key[:8]}" if isinstance(model, Run) else type(model).__name__
    return Probe(
        probe="influence",
        outcome=first.outcome,
        verdict=" ".join(half.said.verdict for half in halves),
        grade=first.grade,
        reasons=tuple(reason for half in halves for reason in half.said.reasons),
        rows=halves[0].rows,
        numbers={name: value for half in halves for name, value in half.numbers.items()},
        figures=tuple(figure for half in halves for figure in half.figures),
        tables={"measures": measures_table([one for half in halves for one in half.measures])}
        | {name: table for half in halves for name, table in half.tables.items()},
        provenance=Provenance(source=source, settings={"seed": seed}, command=command),
    )
