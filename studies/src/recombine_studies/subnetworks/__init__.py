"""Break It Down: do networks hold separate parts for separate components, and does it matter?"""

import math
from typing import Any

from recombine_lab.probes.subnetwork_probe.mask_settings import PUBLISHED_EPOCHS
from recombine_studies.claims import Claim
from recombine_studies.study import Settings, Step, Study
from recombine_studies.subnetworks import claims
from recombine_studies.subnetworks.figures import figures, remarks
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
from recombine_studies.subnetworks.measures import mask_items, search_masks, search_structure, structure_items

_PAPER = "Lepori et al. 2023"
_FIGURES = f"{_PAPER}, released result files, aggregated"

CLAIMS = (
    Claim(
        name="whole networks",
        says="ResNets and transformers answer more than 90 % of their task, from scratch and pretrained.",
        source=f"{_PAPER}, condition for analysis",
        threshold="Only networks above 90 % were looked into; published ones reach .994 to 1.000 but for a few.",
        check=claims.base_networks,
    ),
    Claim(
        name="vision transformers",
        says="Vision transformers stay below 90 % of the task, and were never masked.",
        source=f"{_PAPER}, base accuracy: .456, .539 and .856 at best",
        threshold="The same condition as for all networks; the best published one is at .856.",
        check=claims.vision_transformers,
    ),
    Claim(
        name="masks suffice",
        says="A component's mask alone answers more than 90 % of its own test.",
        source=f"{_FIGURES}: .949 in vision, .992 in language",
        threshold="The search itself calls a mask sufficient from .90 on; both published means are above.",
        check=claims.masks_suffice,
    ),
    Claim(
        name="ablation separates",
        says="Without the part, Target less Other is lower in trained networks than in their untrained controls.",
        source=f"{_FIGURES}: -.156 against +.008 in vision, -.355 against +.484 in language",
        threshold="Below 0 with its whole interval: the published differences are -.16 and -.84, and any sure one"
        " separates.",
        check=claims.ablation_separates,
    ),
    Claim(
        name="subnetwork does not",
        says="A part alone proves nothing: masks of untrained networks, too, reach a contrast above .1.",
        source=f"{_FIGURES}: +.398 in untrained vision models, +.642 in untrained language models own code hides, 2",
        threshold="A contrast above .1 is what the published tables count as modular; a measure that an untrained"
        " network passes is no evidence.",
        check=claims.subnetwork_does_not,
    ),
    Claim(
        name="best of search",
        says="The best mask of a search by its effect is more than .1 above the mean of the search, which is below .1.",
        source=f"{_FIGURES}, all 2,448 search runs: best of 24 .219 and .387, mean of all .021 and -.008",
        threshold="A contrast of .1 counts as modular in the published tables: a choice that adds more than that makes"
        " the effect. The published search has 24 settings, so that fewer settings add less.",
        check=claims.best_of_search,
    ),
    Claim(
        name="pretraining sharpens",
        says="Transformers that were pretrained without labels have a lower ablation contrast than those from scratch.",
        source=f"{_FIGURES}: -.470 against -.259",
        threshold="Below 0 with its whole interval, over pairs that share seed, examples and recipe.",
        check=claims.pretraining_sharpens,
    ),
    Claim(
        name="pretraining steadies",
        says="Pretraining makes structure more consistent over seeds: contrasts are nearer to each other, masks overlap"
        " more.",
        source=f"{_PAPER}, abstract: unsupervised pretraining makes it more consistent",
        threshold="Above 0 with its whole interval, over pairs; the paper gives no number.",
        check=claims.pretraining_steadies,
    ),
    Claim(
        name="modularity and generalisation",
        says="Networks with more separate parts do better on unseen combinations: their rank correlation is above 0.",
        source=f"{_PAPER}: left open; asked here",
        threshold="Above 0 with its whole interval; over all networks, over those that know what they were shown, over"
        " seeds of the same settings, and over transformers on sentences.",
        check=claims.modularity_generalises,
        ours=True,
    ),
)

DIFFERS = {
    "smoke": (
        "Networks of a few units are trained for a few steps: it shows that all parts run, and decides nothing.",
    ),
    "small": (
        "One rule of scenes, inside and contact, of three: networks that have to count take longer to reach the"
        " condition, and are left to the paper preset.",
        "Pictures have 32 pixels and not 128, 1,500 problems and not 10,000: a convolution at 128 pixels costs sixteen"
        " times as much.",
        "The ResNet has three stages of one block (20,000 weights) and not 50 layers (28 million), and one linear layer"
        " as its head; its norms have learned scales.",
        "No network on scenes is pretrained here: a search of masks in one takes minutes. The paper preset has them.",
        "Subject and verb, singular, and neither plural nor pronouns: one of four language tasks.",
        "The transformer has 2 layers of width 16 and not 4 of 512: it has to be trained twelve times here.",
        "Networks are trained for a fixed number of steps with one rate, without a search over rates and batch sizes.",
        "Pretraining sees sentences of the same templates, or pictures of the same kind, for minutes: BERT's corpus is"
        " not here. Sentences have a pretraining for every seed; scenes share one, as published.",
        "Masks start as the whole network, the penalty is divided by the number of weights, and the temperature rises"
        " at every step: the published form needs some 14,000 steps a mask, this one 60 to 120.",
        "A search has two or three settings and not 24; the sparsest mask that suffices is taken, and not the one with"
        " the largest effect; untrained controls get the same search.",
        "Two seeds of masks and not three.",
    ),
    "paper": (
        "The ResNet has basic blocks (34 layers) and not the bottlenecks of 50, two narrow stages in the place of a"
        " stem, and one linear layer as its head.",
        "Scenes are new at every step, as many as 100 epochs of 10,000 problems: a fixed set would take 8 GB.",
        "Which of the four rates and two batch sizes was chosen for each network is not known; one is taken.",
        "Which layers are masked is not searched (all are): 8 settings and not 24.",
        "The settings of the published ViT are not known; its sizes are ours.",
        "BERT's weights are not here: pretraining covers words of template sentences. Pronouns have as many examples as"
        " verbs have, and not 2,500.",
        "Networks that answer two questions are ours, and the same as in the small preset.",
    ),
}


def _search_updates(settings: Settings, kinds: tuple[str, ...], who: int) -> int:
    """Steps of all masks of the largest search among some kinds: two components, on the network and its controls."""
    return max(_of_search(settings["search"][kind]) for kind in kinds) * 2 * who


def _of_search(search: dict[str, Any]) -> int:
    grid = (search.get("rates", (0, 0)), search.get("starts", range(4 if search.get("published") else 1)))
    settings = math.prod(map(len, grid)) * len(search.get("penalties", (0,)))
    epoch = math.ceil(0.8 * search["problems"] / search["batch_size"])
    return (settings + int(search["seeds"])) * int(search.get("steps", PUBLISHED_EPOCHS * epoch))


STUDY = Study(
    name="subnetworks",
    title="Separate parts for separate components?",
    paper="Lepori, Serre and Pavlick (NeurIPS 2023)",
    question="Does a network that needs two components hold a separate part for each, does pretraining make it"
    " steadier, and does it go with handling unseen combinations?",
    presets={"smoke": SMOKE, "small": SMALL, "paper": PAPER},
    grids=grids,
    claims=CLAIMS,
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
            updates=lambda settings: _search_updates(settings, (QUESTIONS,), 1),
        ),
        Step(
            name="masks",
            items=mask_items,
            measure=search_masks,
            updates=lambda settings: _search_updates(settings, (SCENES, SENTENCES), 2),
        ),
    ),
    trial=TRIAL,
    differs=DIFFERS,
    remarks=remarks,
)
