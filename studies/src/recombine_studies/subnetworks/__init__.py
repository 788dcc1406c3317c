"""Break It Down: do networks hold separate parts for separate components, and does it matter?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from recombine_lab.probes.subnetwork_probe.component_usage import NETWORKS
from recombine_lab.probes.subnetwork_probe.mask_settings import PUBLISHED_EPOCHS, MaskSearch
from recombine_studies.claims import Check
from recombine_studies.study import Settings, Step, Study, study_texts
from recombine_studies.subnetworks import claims
from recombine_studies.subnetworks.figures import figures, remarks, summary
from recombine_studies.subnetworks.grids import (
    PAPER,
    QUESTIONS,
    SCENES,
    SENTENCES,
    SMALL,
    SMOKE,
    TRIAL,
    grids,
    pretrain,
    pretraining_items,
    tune,
    tuning_items,
)
from recombine_studies.subnetworks.measures import CONTROLS, mask_items, search_masks, search_structure, structure_items

CHECKS: Mapping[str, Check] = {
    "whole networks": claims.base_networks,
    "vision transformers": claims.vision_transformers,
    "masks suffice": claims.masks_suffice,
    "ablation separates": claims.ablation_separates,
    "subnetwork does not": claims.subnetwork_does_not,
    "best of search": claims.best_of_search,
    "pretraining sharpens": claims.pretraining_sharpens,
    "pretraining steadies": claims.pretraining_steadies,
    "modularity and generalisation": claims.modularity_generalises,
}


def _search_updates(settings: Settings, kinds: tuple[str, ...], controls: Sequence[str] = ()) -> int:
    """Steps of all masks of the largest search among some kinds: two components, on the network and its controls."""
    return max(_of_search(settings["search"][kind], controls) for kind in kinds)


def _of_search(search: dict[str, Any], controls: Sequence[str]) -> int:
    """At most: masks without a penalty are learned where components disturb each other."""
    asked = MaskSearch(**{one.name: search[one.name] for one in fields(MaskSearch) if one.name in search})
    epoch, seeds = math.ceil(0.8 * search["problems"] / search["batch_size"]), int(search["seeds"])
    control = "re-initialised" in search.get("controls", controls)
    total = 0
    for one in asked.searches():
        sparse, largest = len(one.configurations), len(one.without_penalty().configurations)
        largest = largest if largest > 1 else 0
        masks = (1 + control) * (sparse + seeds + largest) + seeds + control * max(seeds, NETWORKS)
        steps = 1 if one.estimator == "gradient" else one.steps or PUBLISHED_EPOCHS * epoch
        total += 2 * masks * steps
    return total


_PRESETS = {"smoke": SMOKE, "small": SMALL, "paper": PAPER}

STUDY = Study(
    name="subnetworks",
    **study_texts(Path(__file__).with_name("study.toml"), CHECKS, _PRESETS),
    presets=_PRESETS,
    grids=grids,
    figures=figures,
    steps=(
        Step(
            name="pretraining",
            items=pretraining_items,
            measure=pretrain,
            updates=lambda settings: max(int(one["steps"]) for one in settings["pretraining"].values()),
        ),
        Step(
            name="fine-tuning",
            items=tuning_items,
            measure=tune,
            updates=lambda settings: max(int(settings[name]["steps"]) for name in ("scene_recipe", "sentence_recipe")),
        ),
        Step(
            name="structure",
            items=structure_items,
            measure=search_structure,
            updates=lambda settings: _search_updates(settings, (QUESTIONS,)),
        ),
        Step(
            name="masks",
            items=mask_items,
            measure=search_masks,
            version=2,
            updates=lambda settings: _search_updates(settings, (SCENES, SENTENCES), CONTROLS),
        ),
    ),
    trial=TRIAL,
    remarks=remarks,
    summary=summary,
)
