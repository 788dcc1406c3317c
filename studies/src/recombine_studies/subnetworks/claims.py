"""The claims: each a list of numbers with intervals, held against thresholds that were written down beforehand.

A network is the unit. Its parts are all that its components use. Contrasts are means over components and the seeds of
masks; networks are compared
with their own controls, and pretrained networks with the runs from scratch that share their seed and examples.
"""

import math
from collections.abc import Sequence
from itertools import product
from statistics import fmean, median

import numpy as np

from recombine.numerics.rank_correlation import Rank, spearman
from recombine_lab.probes.subnetwork_probe.accuracy_summary import contrast
from recombine_studies.claims import (
    DIFFERENCE,
    GAP_DIFFERENCE,
    NOT_NEGATIVE,
    SHARE,
    Comparison,
    over_seeds,
    supposing,
    within,
)
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Evidence
from recombine_studies.subnetworks.grids import PRETRAINED, SCENES, SCRATCH, SENTENCES, VIT

TRAINED, UNTRAINED, RANDOM = "measured", "re-initialised", "random"
GOOD = 0.9
"""The published condition: only networks that answer more than this of their task were looked into."""
COUNTS = 0.1
"""A contrast that counts, in the published tables."""
KINDS, ORIGINS = (SCENES, SENTENCES), (SCRATCH, PRETRAINED)
_CALLED = {SCENES: "ResNets", VIT: "ViTs", SENTENCES: "transformers"}
Network = tuple[str, str, int, str]
"""Its kind, task, seed and origin."""


def masks(evidence: Evidence, table: str = "used") -> Rows:
    """One of the tables that masks left: `network`, `search`, `masks`, `used`, `estimators` or `agreement`."""
    return evidence.of("masks").chosen(lambda row: row.get("table") == table)


def network_of(row: Row) -> Network:
    """Whose mask it is."""
    return str(row["kind"]), str(row["task"]), int(row["seed"]), str(row["origin"])


def contrast_of(row: Row, part: str) -> float:
    """Target minus Other, of the part alone (`kept`) or without it (`left`), each at least chance."""
    return contrast(float(row[f"{part} Target"]), float(row[f"{part} Other"]))


def contrasts(evidence: Evidence, part: str, who: str = TRAINED) -> dict[Network, float]:
    """For each network the mean contrast of its masks, or of those of its control."""
    found: dict[Network, list[float]] = {}
    for row in masks(evidence).chosen(lambda row: row["who"] == who):
        found.setdefault(network_of(row), []).append(contrast_of(row, part))
    return {network: fmean(values) for network, values in found.items()}


def apart(evidence: Evidence, part: str, other: str = UNTRAINED) -> dict[Network, float]:
    """For each network its contrast less that of its own control."""
    mine, theirs = contrasts(evidence, part), contrasts(evidence, part, other)
    return {network: value - theirs[network] for network, value in mine.items() if network in theirs}


def of(values: dict[Network, float], kind: str, origin: str) -> list[float]:
    """The numbers of one kind of network with one origin."""
    return [value for network, value in values.items() if network[0] == kind and network[3] == origin]


def base_scores(evidence: Evidence, kind: str, origin: str) -> list[float]:
    """What whole networks answer rightly of their task, the weak ones too."""
    if origin == PRETRAINED:
        return evidence.of("fine-tuning").chosen(lambda row: row["kind"] == kind).numbers("seen.score")
    return evidence.runs.chosen(lambda row: row["grid"] == kind).numbers("seen.score")


def base_networks(evidence: Evidence) -> Sequence[Comparison]:
    """Do whole networks answer more than 90 %?"""
    return [
        over_seeds(f"accuracy of {_CALLED[kind]} {origin}", base_scores(evidence, kind, origin), ">", GOOD, SHARE)
        for kind in KINDS
        for origin in ORIGINS
    ]


def vision_transformers(evidence: Evidence) -> Sequence[Comparison]:
    """Do ViTs stay below 90 %?"""
    rows = evidence.runs.chosen(lambda row: row["grid"] == VIT)
    return [
        over_seeds(f"accuracy of ViTs, {str(rule).replace('_', ' ')}", some.numbers("seen.score"), "<", GOOD, SHARE)
        for rule, some in rows.by("task.rule").items()
    ]


def kept_target(evidence: Evidence, who: str = TRAINED) -> dict[Network, float]:
    """For each network what its masks do alone of their own test, in the mean."""
    found: dict[Network, list[float]] = {}
    for row in masks(evidence).chosen(lambda row: row["who"] == who):
        found.setdefault(network_of(row), []).append(float(row["kept Target"]))
    return {network: fmean(values) for network, values in found.items()}


def masks_suffice(evidence: Evidence) -> Sequence[Comparison]:
    """Do masks answer more than 90 % alone: of their own test, and where the other component is left to chance?"""
    alone = kept_target(evidence)
    own = {network_of(row): float(row["own examples"]) for row in masks(evidence, "network")}
    found = []
    for kind, origin in product(KINDS, ORIGINS):
        name = f"masks of {_CALLED[kind]} {origin}"
        found += [
            over_seeds(f"{name}, alone on Target", of(alone, kind, origin), ">", GOOD, SHARE),
            over_seeds(f"{name}, the other component left to chance", of(own, kind, origin), ">", GOOD, SHARE),
        ]
    return found


def ablation_separates(evidence: Evidence) -> Sequence[Comparison]:
    """Is the contrast of what is left lower in trained networks than in their untrained controls?"""
    values = apart(evidence, "left")
    found = []
    for kind, origin in product(KINDS, ORIGINS):
        name = f"ablation contrast, {_CALLED[kind]} {origin} less untrained"
        one = over_seeds(name, of(values, kind, origin), "<", 0.0, GAP_DIFFERENCE)
        found.append(supposing(one, "accuracy of whole networks", base_scores(evidence, kind, origin), ">", GOOD))
    return found


def subnetwork_does_not(evidence: Evidence) -> Sequence[Comparison]:
    """Do masks of untrained networks reach a contrast that counts?"""
    values = contrasts(evidence, "kept", UNTRAINED)
    return [
        over_seeds(
            f"subnetwork contrast, untrained {_CALLED[kind]}", of(values, kind, SCRATCH), ">", COUNTS, DIFFERENCE
        )
        for kind in KINDS
    ]


def qualities(evidence: Evidence, who: str = TRAINED) -> dict[tuple[Network, str], list[float]]:
    """For each network and component the quality of every mask of the search: Other less Target without it.

    As published, a mask that does not suffice on its own held-out problems counts 0.
    """
    found: dict[tuple[Network, str], list[float]] = {}
    for row in masks(evidence, "search").chosen(lambda row: row["who"] == who):
        value = -contrast_of(row, "left") if row["sufficient"] else 0.0
        found.setdefault((network_of(row), str(row["component"])), []).append(value)
    return found


def best_and_mean(evidence: Evidence, kind: str, who: str = TRAINED) -> list[tuple[float, float]]:
    """For each network of a kind the best quality of its search and the mean of it, over its components."""
    by_network: dict[Network, list[tuple[float, float]]] = {}
    for (network, _), values in qualities(evidence, who).items():
        if network[0] == kind:
            by_network.setdefault(network, []).append((max(values), fmean(values)))
    return [(fmean(best for best, _ in each), fmean(mean for _, mean in each)) for each in by_network.values()]


def best_of_search(evidence: Evidence) -> Sequence[Comparison]:
    """How much a choice by the effect itself adds; and whether the whole search shows any effect."""
    found = []
    for kind in KINDS:
        pairs = best_and_mean(evidence, kind)
        found += [
            over_seeds(
                f"best less mean of the search, {_CALLED[kind]}", [b - m for b, m in pairs], ">", COUNTS, NOT_NEGATIVE
            ),
            over_seeds(
                f"mean of the whole search, {_CALLED[kind]}", [mean for _, mean in pairs], "<", COUNTS, DIFFERENCE
            ),
        ]
    return found


def paired(values: dict[Network, float], kind: str) -> list[tuple[float, float]]:
    """The number of a network from scratch and of its pretrained partner."""
    return [
        (value, values[(*network[:3], PRETRAINED)])
        for network, value in values.items()
        if network[0] == kind and network[3] == SCRATCH and (*network[:3], PRETRAINED) in values
    ]


def pretraining_sharpens(evidence: Evidence) -> Sequence[Comparison]:
    """Is the ablation contrast of pretrained transformers lower?"""
    pairs = paired(contrasts(evidence, "left"), SENTENCES)
    name = "ablation contrast of transformers, pretrained less from scratch"
    return [over_seeds(name, [late - early for early, late in pairs], "<", 0.0, GAP_DIFFERENCE)]


def deviations(values: dict[Network, float]) -> dict[Network, float]:
    """How far each network is from the median of those that share all but the seed (Brown and Forsythe's measure)."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for (kind, task, _, origin), value in values.items():
        groups.setdefault((kind, task, origin), []).append(value)
    return {
        network: abs(value - median(groups[network[0], network[1], network[3]])) for network, value in values.items()
    }


def overlaps(evidence: Evidence) -> dict[Network, float]:
    """For each network how much its masks with different seeds share, over their union."""
    rows = masks(evidence, "network")
    name = "overlap within a component"
    return {network_of(row): float(row[name]) for row in rows if row.get(name) is not None}


def pretraining_steadies(evidence: Evidence) -> Sequence[Comparison]:
    """Is structure steadier over seeds after pretraining: contrasts nearer to each other, masks more alike?"""
    spread, shared = deviations(contrasts(evidence, "left")), overlaps(evidence)
    found = []
    for kind in KINDS:
        nearer = [early - late for early, late in paired(spread, kind)]
        alike = [late - early for early, late in paired(shared, kind)]
        found += [
            over_seeds(
                f"spread of the ablation contrast over seeds, {_CALLED[kind]}, less if pretrained",
                nearer,
                ">",
                0.0,
                GAP_DIFFERENCE,
            ),
            over_seeds(
                f"overlap of masks over seeds, {_CALLED[kind]}, more if pretrained", alike, ">", 0.0, DIFFERENCE
            ),
        ]
    return found


def rank(rows: Sequence[Row], across: str = "selectivity", up: str = "unseen") -> Rank:
    """The rank correlation of two columns, over the rows that have both."""
    known = [row for row in rows if _is_known(row, across) and _is_known(row, up)]
    return spearman(np.array([float(row[across]) for row in known]), np.array([float(row[up]) for row in known]))


def _is_known(row: Row, name: str) -> bool:
    value = row.get(name)
    return value is not None and math.isfinite(value)


def within_settings(rows: Rows, *names: str) -> list[Row]:
    """Two-question networks less the mean of those with the same settings: what is left is chance between seeds."""
    found: list[Row] = []
    for some in rows.by("network", "held out", "steps").values():
        means = {name: fmean(some.numbers(name)) for name in names if some.numbers(name)}
        found += [{name: row[name] - means[name] for name in means if _is_known(row, name)} for row in some]
    return found


def sentence_networks(evidence: Evidence) -> Rows:
    """Transformers on sentences: how selective their masks are, and what they make of two breaks at once.

    Training never showed a sentence that breaks both components: that combination is unseen.
    """
    rows = masks(evidence, "network").chosen(lambda row: row["kind"] == SENTENCES)
    return rows.with_columns(lambda row: {"unseen": row["both broken"]})


def modularity_generalises(evidence: Evidence) -> Sequence[Comparison]:
    """Does structural modularity go with the score on unseen combinations?"""
    rows = evidence.of("structure")
    sets = {
        "all networks of two questions": list(rows),
        f"those above {GOOD:g} on seen pairs": [row for row in rows if row["seen"] > GOOD],
        "within the same settings": within_settings(rows, "selectivity", "unseen"),
        "transformers on sentences": list(sentence_networks(evidence)),
    }
    found = []
    for name, some in sets.items():
        one = rank(some)
        found.append(within(f"rank correlation, {name}", one.value, one.low, one.high, ">", 0.0, n=one.combinations))
    return found
