"""What is measured: the probe's word before training, starts without opacity, and what each decoder draws by itself.

Runs by what is compared: a model on a support, or a composition with its decoders shared or not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recombine.base.seeds import derived
from recombine_lab.models.compositional import Compositional
from recombine_lab.probes.support_probe.recovery import aligned, exchanged, mismatch, rescaled
from recombine_lab.probes.support_probe.run_points import points_of_run
from recombine_lab.probes.support_probe.support import support
from recombine_lab.tasks.exposure import split_of
from recombine_lab.tasks.sprites import Sprites
from recombine_lab.training.member import Member
from recombine_lab.training.pack import job_of
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence, Settings, Step
from recombine_studies.supports.grids import ALPHA, SEEN, SOFT, SUPPORTS, WHOLE, named, task_of

BEFOREHAND, STARTS, BEGUN, DRAWN = "beforehand", "starts", "begun", "components"
_LOOKED_AT = 64
"""Points at which a start's opacities are looked at."""
_COMPARED = 512
"""Points at which learned components are compared with true ones."""
_ASKED = 512
_SLOTS = ("front", "back")


# -- the probe, before anything is trained ---------------------------------------------------------------------------


def _supports(evidence: Evidence) -> Sequence[Row]:
    """Every support under soft occlusion, and the orthogonal one under alpha compositing as well."""
    pairs = [(name, SOFT) for name in SUPPORTS] + [("orthogonal", ALPHA)]
    seeds, own = range(evidence.settings["probes"]), _own(evidence.settings, "size", "sharpness", "points")
    return [{"support": name, "composition": how, "seed": seed, **own} for name, how in pairs for seed in seeds]


def _own(settings: Settings, *names: str) -> dict[str, Any]:
    """Settings that an item's numbers hang on: several presets may share a store."""
    return {name: settings[name] for name in names}


def _beforehand(item: Row, bench: Bench) -> Sequence[Row]:
    """What the probe says of the points that the run of this seed will be shown; it knows no run."""
    task = _sprites(bench.settings, item["composition"])
    found = support(
        _points(task, item, bench.settings["points"]),
        slots={f"slot {slot}": [one.name for one in task.ranges if one.name.endswith(str(slot))] for slot in (0, 1)},
        composition=item["composition"],
        truth=task,
        query=np.random.default_rng(derived(item["seed"], "cube")).random((_ASKED, len(task.ranges))),
    )
    return [{"outcome": found.outcome, "verdict": found.verdict, **found.numbers}]


def _points(task: Sprites, item: Row, count: int) -> dict[str, Any]:
    shown = split_of(SUPPORTS[item["support"]], task).parts(task, seed=derived(item["seed"], "split")).train
    latents = shown.draw(count, seed=derived(item["seed"], "train"))
    return {one.name: latents[:, place].double().numpy() for place, one in enumerate(task.ranges)}


def _sprites(settings: Settings, composition: str) -> Sprites:
    own = {name: value for name, value in task_of(settings, composition).items() if name != "name"}
    return Sprites(**own)


# -- networks that start without opacity -----------------------------------------------------------------------------


def _sharings(evidence: Evidence) -> Sequence[Row]:
    own = _own(evidence.settings, "size", "starts")
    return [{"shared": shared, **own} for shared in (True, False)]


def _starts(item: Row, bench: Bench) -> Sequence[Row]:
    """Networks with alpha compositing as they are before training, one for each start."""
    task = _sprites(bench.settings, ALPHA)
    model = Compositional(composition=ALPHA, shared=item["shared"])
    starts = range(bench.settings["starts"])
    modules = (model.start(task.shapes, seed=derived(start, "weights")) for start in starts)
    return [{"start": start, **_opacities(module, task)} for start, module in zip(starts, modules, strict=True)]


def _alpha_runs(evidence: Evidence) -> Sequence[Row]:
    return [{"key": key} for key in evidence.runs.chosen(lambda row: row["grid"] == ALPHA).column("key")]


def _begun(item: Row, bench: Bench) -> Sequence[Row]:
    """A run's own network, as it was before the first step."""
    member = Member(job_of(bench.run(item["key"])))
    assert isinstance(member.job.task, Sprites)  # noqa: S101 - of its grid
    return [_opacities(member.start(), member.job.task)]


def _opacities(module: Any, task: Sprites) -> dict[str, Any]:
    """Which share of each slot's pixels is not wholly clear; a slot without any is dead, since no gradient flows."""
    latents = torch.rand(_LOOKED_AT, len(task.ranges), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        opacity: Tensor = module.components(task.values(latents).flatten(1))[:, :, 3]
    shares = (opacity > 0).double().mean((0, 2, 3)).tolist()
    return {**dict(zip(_SLOTS, shares, strict=True)), "dead": min(shares) == 0.0}


# -- what each decoder draws by itself -------------------------------------------------------------------------------


def _composed_runs(evidence: Evidence) -> Sequence[Row]:
    """Finished runs that have decoders to be looked into; each once."""
    asked = evidence.runs.chosen(lambda row: row["model"] == "compositional" and row["status"] == "finished")
    return [{"key": key} for key in dict.fromkeys(asked.column("key"))]


def _components(item: Row, bench: Bench) -> Sequence[Row]:
    """A row for each slot: how near what its decoder draws is to the true picture, over the whole space.

    1 is the true picture and 0 as far off as its mean. `recovered` is up to what never shows under alpha compositing;
    `exchanged` up to what soft occlusion lets the slots hand to each other; `rescaled` up to a scale of the slot and a
    shift of each of its numbers besides. What is left out is chosen at seen points.
    """
    found = points_of_run(bench.run(item["key"]), seed=0)
    assert found.learned is not None  # noqa: S101 - the network composes as its data are composed
    shown = np.stack(list(found.points.values()), 1)[:_COMPARED]
    places = {"seen": shown, "whole": found.query}
    learned = {name: found.learned.at(rows).flatten(3) for name, rows in places.items()}
    true = {name: _true(found.truth, rows) for name, rows in places.items()}
    return [{"slot": _SLOTS[slot], **_recovered(found.composition, learned, true, slot)} for slot in (0, 1)]


def _true(task: Sprites, rows: Any) -> Tensor:
    latents = torch.as_tensor(rows, dtype=torch.float32)
    return task.renderer.components(task.values(latents)).double().flatten(3)


def _recovered(name: str, learned: dict[str, Tensor], true: dict[str, Tensor], slot: int) -> dict[str, float | None]:
    seen = (learned["seen"], true["seen"])
    own = aligned(name, *seen).of(learned["whole"])
    handed = exchanged(seen, learned["whole"]) if name == SOFT else own
    scaled = rescaled(name, seen, (learned["whole"], true["whole"]), slot)
    return {
        "recovered": mismatch(name, own, true["whole"], slot, None).recovered(),
        "exchanged": mismatch(name, handed, true["whole"], slot, None).recovered(),
        "rescaled": scaled.recovered(),
    }


STEPS = (
    Step(name=BEFOREHAND, items=_supports, measure=_beforehand),
    Step(name=STARTS, items=_sharings, measure=_starts),
    Step(name=BEGUN, items=_alpha_runs, measure=_begun),
    Step(name=DRAWN, items=_composed_runs, measure=_components),
)
TRIAL = {"probes": 1, "points": 400, "starts": 2}
"""What makes every step short; none of them takes a gradient step."""


COLLAPSED = 0.75
"""R² on the support below which a run counts as collapsed.

Written down before any run with alpha compositing was looked at. A decoder that stays clear leaves one sprite out of
every picture; since the other one is free on one or two of the three planes, up to two thirds of the variance could
still be explained. Runs of the other kind came out above .85 in trials.
"""
NO_LOSS = 0.05
"""R² that may be lost from the support to the whole space where a model is said to generalise."""
ARMS = {
    "soft, separate": ("compositional", False),
    "soft, shared": ("soft, shared", True),
    "alpha, separate": (ALPHA, False),
    "alpha, shared": (ALPHA, True),
}
"""Two compositions, each with a decoder for each sprite and with one for both; all on the orthogonal support."""
GENERALISES = ("random", "orthogonal", "orthogonal+", "normal", "diagonal .2")
"""Supports on which published models lose less than .01."""


def trained(evidence: Evidence, model: str, support: str) -> Rows:
    """The runs of the compositional or the monolithic model on one support, under soft occlusion."""
    return named(evidence).chosen(lambda row: row["grid"] == model and row["support"] == support)


def arm(evidence: Evidence, name: str) -> Rows:
    """The runs of one composition with its decoders shared or not."""
    grid, shared = ARMS[name]
    return named(evidence).chosen(
        lambda row: row["grid"] == grid and row["support"] == "orthogonal" and row["model.shared"] == shared
    )


def collapsed(row: Row) -> bool:
    """Whether a run failed on what it was shown, or diverged.

    >>> collapsed({"seen.score": 0.2}), collapsed({"seen.score": 0.9}), collapsed({"seen.score": None})
    (True, False, True)
    """
    seen = row.get(SEEN)
    return seen is None or not seen >= COLLAPSED


def standing(rows: Rows) -> Rows:
    """The runs that did not collapse."""
    return rows.chosen(lambda row: not collapsed(row))


def unexplained(rows: Rows) -> list[float]:
    """The share of the variance of the whole space that each run leaves unexplained."""
    return [1 - score for score in rows.numbers(WHOLE)]


def said(evidence: Evidence, support: str, composition: str) -> str:
    """The probe's word for a support; `unclear` where its words for several draws of points differ."""
    words = set(_of(evidence, support, composition).column("outcome"))
    return words.pop() if len(words) == 1 else "unclear"


def told(evidence: Evidence, support: str, composition: str, number: str) -> float | None:
    """A number of the probe, its mean over draws of points."""
    known = _of(evidence, support, composition).numbers(number)
    return sum(known) / len(known) if known else None


def _of(evidence: Evidence, support: str, composition: str) -> Rows:
    return evidence.of(BEFOREHAND).chosen(lambda row: row["support"] == support and row["composition"] == composition)


def worse_slot(evidence: Evidence, rows: Rows, number: str) -> list[float]:
    """How near the learned components are to the true ones, in the worse slot of each run."""
    drawn = evidence.of(DRAWN).by("key")
    found = (drawn[key].numbers(number) for key in rows.column("key") if key in drawn)
    return [min(slots) for slots in found if slots]


def dead_at_start(evidence: Evidence) -> dict[str, bool]:
    """Of each run with alpha compositing whether one of its sprites was wholly clear before the first step."""
    return {row["key"]: bool(row["dead"]) for row in evidence.of(BEGUN)}
