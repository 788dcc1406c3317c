"""Does a network hold separate parts for separate components? Masks are searched for, taken out, and held to controls.

A mask is learned on one component alone, with the weights frozen. It is judged by what is lost without it: a mask that
does its component alone proves nothing, because masks can build almost any function out of random weights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recombine.checks import check_choice, check_number, check_seed, check_whole
from recombine.errors import SettingError
from recombine.tables.engine import Steps, silent
from recombine_lab.models.layers import Forward
from recombine_lab.probes.masks.data import Component, components_of
from recombine_lab.probes.masks.network import Asker, layouts_of, score_of, unwrapped
from recombine_lab.probes.masks.probing import Probing
from recombine_lab.probes.masks.removing import check_units
from recombine_lab.probes.masks.settings import ABLATIONS, CONTROLS, GROUPS, search_of
from recombine_lab.probes.probe import Probe


def subnetworks(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    model: Any,
    score: Any = "accuracy",
    *,
    components: Mapping[str, Any] | None = None,
    forward: Forward | None = None,
    estimator: str = "continuous",
    published: bool = False,
    against: float = 0.0,
    rates: Sequence[float] | None = None,
    starts: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
    steps: int | None = None,
    batch_size: int = 64,
    parameters: str | Sequence[str] | None = None,
    group: str = "weight",
    heads: int | None = None,
    ablation: str = "zero",
    controls: Sequence[str] = CONTROLS,
    seeds: int = 4,
    sufficient: float = 0.9,
    base_accuracy: float = 0.9,
    chance: float | None = None,
    allow_repeats: bool = False,
    at_once: int | None = None,
    resume: str | Path | None = None,
    seed: int = 0,
    progress: Steps | None = None,
    command: str | None = None,
) -> Probe:
    """Does a network hold a separate part for each component?

    `model`: any torch module, or a run of a store. It is asked in evaluation mode and never changed. `score`:
    "accuracy" for classes, "odd one out" for vectors (rows, items, d), or a function from the answers and the targets
    to the loss and to what is right, a number for every row.
    `components`: for each component `(mask_train, test)`, each a pair `(inputs, targets)`; inputs are a tensor or
    tensors by name. Masks are learned from the first, where the other components vary freely, and judged by the second.
    `forward`: how the model is asked about inputs, where `model(inputs)` or `model(**inputs)` is not the way.

    `estimator`: "continuous" sparsification, "hard concrete" or "straight through"; `published` keeps the published
    settings (no scaling, penalty summed, temperature by epoch, 90 epochs). `against`: the weight of a term that lowers
    the other components while a mask is learned; it stands in the published text and not in the published code.
    `rates`, `starts`, `penalties`: the configurations that are tried; the sparsest mask that is `sufficient` on
    held-out examples of its own component is chosen. `seeds`: masks that are learned with it and judged.
    `parameters`: names or patterns of what is masked; else every matrix but embeddings. `group`: what is kept or left
    out as one: "weight", "row" (all that leads into one output), "channel" (all that leaves one input), "head".
    `ablation`: "zero" and "re-init" of weights ask whether a part can be carved out, "mean" and "resample" of the
    activations of rows, channels or heads whether it is used.
    `controls` get the same search. `base_accuracy`: what the whole network must reach on every test. `chance`: the
    accuracy of one answer for all, where targets are no classes. `resume`: a folder in which finished masks are kept.

    The outcome is one of: modular, redundant, collapse, anti-modular, not sufficient, unclear.

    >>> import torch
    >>> from torch import nn
    >>> network = nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 4, bias=False))
    >>> with torch.no_grad():
    ...     _ = network[0].weight.copy_(torch.eye(8)), network[2].weight.copy_(torch.eye(4).repeat(1, 2))
    >>> def largest(half: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    ...     inputs = torch.zeros(rows, 8)
    ...     inputs[:, 4 * half : 4 * half + 4] = 9 * torch.rand(rows, 4, generator=torch.Generator().manual_seed(rows))
    ...     return inputs, inputs[:, 4 * half : 4 * half + 4].argmax(1)
    >>> components = {name: (largest(half, 300), largest(half, 200)) for half, name in enumerate(("left", "right"))}
    >>> subnetworks(network, components=components, steps=100, seeds=3).outcome
    'modular'
    """
    told = progress or silent
    _check(group, ablation, controls, seeds, sufficient, base_accuracy, chance, at_once, seed)
    module = unwrapped(model)
    search = search_of(
        estimator=estimator,
        published=published,
        rates=rates,
        starts=starts,
        penalties=penalties,
        steps=steps,
        batch=batch_size,
        against=against,
    )
    parts = components_of(components, seed=seed, allow_repeats=allow_repeats)
    layouts = layouts_of(module, parameters=parameters, group=group, heads=heads)
    check_units(module, layouts, group, ablation)
    asker = Asker(module, score_of(score), forward)
    chances = {one.name: _chance(one, chance) for one in parts}
    settings = {
        "search": search.plain(),
        "group": group,
        "heads": heads,
        "ablation": ablation,
        "controls": list(controls),
        "seeds": seeds,
        "sufficient": sufficient,
        "base_accuracy": base_accuracy,
        "chance": chance,
        "seed": seed,
        "score": score if isinstance(score, str) else getattr(score, "__name__", "a function"),
        "masked": [layout.name for layout in layouts],
    }
    asking = Probing(module, asker, layouts, parts, search, chances, settings, allow_repeats, seed, command)
    return asking.answer(at_once=at_once, resume=resume, told=told)


def _check(
    group: str,
    ablation: str,
    controls: Sequence[str],
    seeds: int,
    sufficient: float,
    base: float,
    chance: float | None,
    at_once: int | None,
    seed: int,
) -> None:
    check_choice("group", group, GROUPS)
    check_choice("ablation", ablation, ABLATIONS)
    if isinstance(controls, str):
        raise SettingError(f"controls={controls!r}", why="they are listed", instead=f"write controls=[{controls!r}]")
    for control in controls:
        check_choice("controls", control, CONTROLS)
    check_whole("seeds", seeds, least=1)
    check_number("sufficient", sufficient, above=0, most=1)
    check_number("base_accuracy", base, least=0, most=1)
    if chance is not None:
        check_number("chance", chance, least=0, below=1)
    if at_once is not None:
        check_whole("at_once", at_once, least=1)
    check_seed(seed)


def _chance(component: Component, given: float | None) -> float:
    """The accuracy of one answer for all on a component's test."""
    if given is not None:
        return given
    targets = component.test.targets
    if targets.ndim != 1 or targets.is_floating_point():
        raise SettingError(
            f"the targets of the test of {component.name!r} are {'×'.join(map(str, targets.shape))} {targets.dtype}",
            why="what one answer for all would reach cannot be counted: they are no classes",
            instead="write chance=0.25, or what it is",
        )
    found = float(np.unique(targets.cpu().numpy(), return_counts=True)[1].max()) / len(targets)
    if found >= 1:
        raise SettingError(
            f"the test of {component.name!r} has one target only",
            why="an answer that never changes is always right on it",
            instead="give a test in which the component varies",
        )
    return found
