"""`recombine_lab.probes.influence`: which input factor an answer hangs on, and which seen combinations taught it.

Two questions, either or both: of the inputs (`inputs`, `table`, `target`, `redundant` and where the factors are) and of
the training combinations (`seen` and `unseen`). Outcomes are listed in `wording.OUTCOMES`.

A network while it is trained: modules, or state dicts that are put into copies of it, by step.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from recombine.base.checks import check_number, check_seed, check_whole
from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine_lab.models.layers import Forward, uncompiled
from recombine_lab.probes.influence_probe.input_sensitivity import asked_of, inputs_half
from recombine_lab.probes.influence_probe.questions import FactorExamples, Half, InfluenceQuestion, TrainingRows
from recombine_lab.probes.influence_probe.run_question import question_of_run
from recombine_lab.probes.influence_probe.training_influence import teaching_half
from recombine_lab.probes.probe import Probe, measures_table
from recombine_lab.probes.run_inputs import run_name
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
    examples: FactorExamples | None = None,
    training: TrainingRows | None = None,
    layer: str | None = None,
    forward: Forward | None = None,
    checkpoints: Checkpoints | None = None,
    controls: int = CONTROLS,
    least: float = LEAST,
    seed: int = 0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """On which input factor do the answers hang, and which seen combinations taught them?

    - `examples`: the first question. Factors are exchanged in their inputs, and the answers compared.
    - `training`: the second question. What was seen, and the unseen rows that it may have taught.
    - `checkpoints`: the network while it was trained, as modules or state dicts by step.
    - `controls`: so many networks with new random weights are measured alike.
    - `least`: swaps that change a smaller share of the answers leave them as they are.
    - `layer`: what derivatives are taken by for tokens: their embedding, unless given.
    - `forward(module, batch)`: how the module is asked, if not `module(batch)` or `module(**batch)`.

    A run of the lab alone says all of this itself.

    >>> import torch
    >>> x = torch.linspace(-1, 1, 400)
    >>> rule = nn.Linear(2, 2, bias=False)
    >>> _ = rule.weight.data.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
    >>> examples = FactorExamples(
    ...     inputs=torch.stack([x, x.roll(130)], dim=1),
    ...     table={"own": x > 0, "other": x.roll(130) > 0},
    ...     target="own",
    ...     redundant="other",
    ...     regions={"own": 0, "other": 1},
    ... )
    >>> found = influence(rule, examples=examples)
    >>> found.outcome, found.value("swap", where="other")
    ('own factor', 0.0)
    """
    tell = progress or silent
    check_seed(seed)
    check_whole("controls", controls, least=0)
    check_number("least", least, least=0.0, below=1.0)
    tell("reading what is asked", None)
    ask = _question(model, examples or FactorExamples(), training or TrainingRows(), seed)
    snapshots = snapshots_of(ask.module, checkpoints)
    halves = []
    if ask.examples.inputs is not None or ask.where is not None:
        question = asked_of(ask, layer=layer, forward=forward, seed=seed)
        halves.append(inputs_half(ask, question, snapshots, controls=controls, least=least, tell=tell))
    if ask.training.seen is not None or ask.training.unseen is not None:
        start = ask.training.start or snapshots.get("0")
        halves.append(teaching_half(ask.module, replace(ask.training, start=start), forward, seed=seed, tell=tell))
    if not halves:
        raise SettingError(
            "neither inputs nor training combinations",
            why="there is nothing to ask about",
            instead="write inputs=…, table=…, target=…, redundant=…, regions=…; or seen=… and unseen=…",
        )
    return _probe(model, halves, command, seed)


def _question(model: Any, examples: FactorExamples, training: TrainingRows, seed: int) -> InfluenceQuestion:
    """What was given, with what a run says itself where no inputs were."""
    if isinstance(model, Run) and examples.inputs is None and examples.regions is None:
        return question_of_run(model, examples, training, seed=seed)
    module = model.module() if isinstance(model, Run) else uncompiled(model)
    if not isinstance(module, nn.Module):
        raise SettingError(
            f"model={type(model).__name__}",
            why="inputs are swapped and weights are moved, which takes a torch module",
            instead="give an nn.Module, or a run of recombine_lab",
        )
    return InfluenceQuestion(module=module, examples=examples, training=training)


def _probe(model: Any, halves: Sequence[Half], command: str | None, seed: int) -> Probe:
    first = halves[0].said
    source = run_name(model) if isinstance(model, Run) else type(model).__name__
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
