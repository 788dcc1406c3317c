"""Figures and remarks, with every number computed from the evidence."""

from collections.abc import Sequence
from statistics import fmean

from recombine.base.words import amount, measure, percent
from recombine.numerics.rank_correlation import Rank
from recombine.output.figures import Figure, PointGroup, Scatter, Strip, Strips
from recombine_studies.rows import strips
from recombine_studies.study import Evidence
from recombine_studies.subnetworks import claims
from recombine_studies.subnetworks.grids import PRETRAINED, SCENES, SCRATCH, SENTENCES, VIT, named

_WHO = {claims.TRAINED: "trained", claims.UNTRAINED: "untrained", claims.RANDOM: "trained, random masks"}
PUBLISHED_ABLATION = {SCENES: (-0.156, 0.008), SENTENCES: (-0.355, 0.484)}
"""Trained and untrained networks, all of vision and all of language."""
PUBLISHED_SEARCH = {SCENES: (0.219, 0.021), SENTENCES: (0.387, -0.008)}
"""The best of 24 and the mean of all 24."""


def figures(evidence: Evidence) -> Sequence[Figure]:
    """Whole networks; both contrasts beside their controls; the whole search; what goes with generalisation."""
    return [
        base(evidence),
        contrast_strips(evidence, "left"),
        contrast_strips(evidence, "kept"),
        search(evidence),
        generalisation(evidence),
    ]


def base(evidence: Evidence) -> Strips:
    """What every whole network answers, those that are looked into no further among them."""
    runs = evidence.runs.chosen(lambda row: row["grid"] in (SCENES, VIT, SENTENCES))
    scratch = runs.with_columns(lambda row: {"kind": row["grid"], "origin": SCRATCH, "what": named(row)["task"]})
    tuned = evidence.of("fine-tuning").with_columns(lambda row: {"origin": PRETRAINED, "what": row["task"]})
    scores = [*scratch.numbers("seen.score"), *tuned.numbers("seen.score")]
    above = sum(score > claims.GOOD for score in scores)
    return Strips(
        "Whole networks",
        f"{above} of {amount(len(scores), 'network')} answer more than {percent(claims.GOOD)} of their task; only these"
        " are looked into. Chance is one in four.",
        "share of right answers on the base task",
        strips(scratch + tuned, "seen.score", "kind", "what", "origin"),
        goal=claims.GOOD,
    )


def contrast_strips(evidence: Evidence, part: str) -> Strips:
    """One of the two contrasts of every network beside that of its controls."""
    made = [
        Strip(f"{kind}, {origin}: {called}", tuple(claims.of(claims.contrasts(evidence, part, who), kind, origin)))
        for kind in claims.KINDS
        for origin in claims.ORIGINS
        for who, called in _WHO.items()
    ]
    told = "; ".join(
        f"{kind} {_mean(claims.of(claims.contrasts(evidence, part), kind, SCRATCH))} trained,"
        f" {_mean(claims.of(claims.contrasts(evidence, part, claims.UNTRAINED), kind, SCRATCH))} untrained"
        for kind in claims.KINDS
    )
    names = {
        "left": ("Without a part: Target less Other", "Below 0 is modular."),
        "kept": ("A part alone: Target less Other", "Above 0 looks modular, in untrained networks too."),
    }
    title, reading = names[part]
    return Strips(
        title,
        f"{reading} From scratch, in the mean: {told}. Every point is a network.",
        "share of right answers on Target less that on Other, each at least chance",
        tuple(one for one in made if one.values),
        goal=0.0,
    )


def _mean(values: Sequence[float]) -> str:
    return measure(fmean(values)) if values else "not known"


def search(evidence: Evidence) -> Strips:
    """Every mask of every search, with the best and the mean beside it."""
    made: list[Strip] = []
    said = []
    for kind in claims.KINDS:
        for who in (claims.TRAINED, claims.UNTRAINED):
            found = {one: values for one, values in claims.qualities(evidence, who).items() if one[0][0] == kind}
            if found:
                every = tuple(value for values in found.values() for value in values)
                made.append(Strip(f"{kind}, {_WHO[who]}: all masks of the search", every))
                made.append(Strip(f"{kind}, {_WHO[who]}: the best of each search", tuple(map(max, found.values()))))
        pairs = claims.best_and_mean(evidence, kind)
        if pairs:
            best, mean = (fmean(side) for side in zip(*pairs, strict=True))
            said.append(
                f"{kind}: best {measure(best)}, mean of all {measure(mean)}"
                f" (published: {measure(PUBLISHED_SEARCH[kind][0])} and {measure(PUBLISHED_SEARCH[kind][1])})"
            )
    return Strips(
        "The whole search, not only the best of it",
        "Other less Target without a mask; a mask that does not suffice counts 0."
        f" {'; '.join(said) or 'No search ran'}.",
        "selectivity of a mask",
        tuple(made),
        goal=claims.COUNTS,
    )


def generalisation(evidence: Evidence) -> Scatter:
    """Structural modularity against the score on unseen combinations, over all networks that have both."""
    rows = evidence.of("structure")
    groups = [
        PointGroup(
            f"two questions, {network}",
            tuple(some.numbers("selectivity")),
            tuple(some.numbers("unseen")),
            tuple(f"{row['held out']:.0%} held out, {row['steps']} steps, seed {row['seed']}" for row in some),
        )
        for network, some in rows.by("network").items()
    ]
    sentences = claims.sentence_networks(evidence)
    for origin, some in sentences.by("origin").items():
        titles = tuple(f"{row['task']}, seed {row['seed']}" for row in some)
        groups.append(
            PointGroup(
                f"sentences, {origin}", tuple(some.numbers("selectivity")), tuple(some.numbers("unseen")), titles
            )
        )
    return Scatter(
        "Does modularity go with generalisation?",
        f"Over {amount(len(rows), 'network')} that answer two questions the rank correlation is"
        f" {ranked(claims.rank(list(rows)))}; within the same settings it is"
        f" {ranked(claims.rank(claims.within_settings(rows, 'selectivity', 'unseen')))}; over"
        f" {amount(len(sentences), 'transformer')} on sentences {ranked(claims.rank(list(sentences)))}.",
        "selectivity: what is left of Other less what is left of Target, without a part",
        "score on unseen combinations",
        tuple(groups),
    )


def ranked(one: Rank) -> str:
    """A rank correlation with its interval, in words."""
    if one.value is None:
        return "not known"
    if one.low is None or one.high is None:
        return measure(one.value)
    return f"{measure(one.value)} ({measure(one.low)} to {measure(one.high)})"


def summary(evidence: Evidence) -> str:
    """How many networks reach sufficiency, and whether other estimators say the same."""
    networks: dict[claims.Network, dict[str, str]] = {}
    for row in claims.masks(evidence, "estimators"):
        networks.setdefault(claims.network_of(row), {})[str(row["estimator"])] = str(row["outcome"])
    if not networks:
        return ""
    first, *others = next(iter(networks.values()))
    count = len(networks)

    def reached(estimator: str, outcomes: dict[str, str]) -> bool:
        return outcomes[estimator] != "not sufficient"

    found = sum(reached(first, one) for one in networks.values())
    said = [f"In {found} of {amount(count, 'network')} {first} masks find a part that does each component alone"]
    for other in others:
        same = sum(reached(other, one) == reached(first, one) for one in networks.values())
        alike = sum(one[other] == one[first] for one in networks.values())
        said.append(f"{other} masks agree on {same} of these {count}, and on the outcome of {alike}")
    return f"{'; '.join(said)}."


def remarks(evidence: Evidence) -> Sequence[str]:
    """What follows, what limits it, and what would refute it."""
    return [_on_contrasts(evidence), _on_search(evidence), _on_pretraining(evidence), _on_generalising(evidence)]


def _on_contrasts(evidence: Evidence) -> str:
    told = []
    for kind in claims.KINDS:
        left = claims.of(claims.contrasts(evidence, "left"), kind, SCRATCH)
        control = claims.of(claims.contrasts(evidence, "left", claims.UNTRAINED), kind, SCRATCH)
        kept = claims.of(claims.contrasts(evidence, "kept"), kind, SCRATCH)
        built = claims.of(claims.contrasts(evidence, "kept", claims.UNTRAINED), kind, SCRATCH)
        told.append(
            f"{kind}: without the part {_mean(left)} trained and {_mean(control)} untrained (published:"
            f" {measure(PUBLISHED_ABLATION[kind][0])} and {measure(PUBLISHED_ABLATION[kind][1])}); the part alone"
            f" {_mean(kept)} trained and {_mean(built)} untrained"
        )
    estimators = claims.masks(evidence, "estimators").by("estimator")
    labels = {"all together": claims.masks(evidence, "network"), **estimators}
    outcomes = "; ".join(
        f"{who}: " + (", ".join(f"{name} {len(some)}" for name, some in rows.by("outcome").items()) or "none")
        for who, rows in labels.items()
    )
    return (
        f"Contrasts of networks from scratch, in the mean. {'. '.join(told)}. By the probe's own outcome, which asks"
        f" the whole pattern and beaten controls, networks are, by estimator: {outcomes}.{_shared(evidence)}"
        " Untrained networks get the same search as trained ones here; the published control reused settings that were"
        " chosen on the trained network. A trained network whose ablation contrast is no lower than that of its own"
        " re-initialised control, over many seeds, would refute that the contrast tells trained from untrained"
        " networks."
    )


def _shared(evidence: Evidence) -> str:
    """How much the masks of two estimators share of what is used, beside chance."""
    rows = claims.masks(evidence, "agreement").where(masks="used")
    told = [
        f"{first} and {second} {percent(fmean(some.numbers('overlap')))} (by chance"
        f" {percent(fmean(some.numbers('by chance')))})"
        for (first, second), some in rows.by("first", "second").items()
        if some.numbers("overlap")
    ]
    return f" Of what components use, masks share in the mean: {', '.join(told)}." if told else ""


def _on_search(evidence: Evidence) -> str:
    told = []
    for kind in claims.KINDS:
        every = [
            value for (network, _), some in claims.qualities(evidence).items() if network[0] == kind for value in some
        ]
        if every:
            against = sum(value < -claims.COUNTS for value in every)
            modular = sum(value > claims.COUNTS for value in every)
            rows = claims.masks(evidence, "search").where(who=claims.TRAINED, kind=kind)
            passed = sum(bool(row["sufficient"]) for row in rows)
            told.append(
                f"{kind}: of {amount(len(every), 'mask')} of the searches {passed} suffice on held-out problems,"
                f" {modular} are more selective than {measure(claims.COUNTS)}, and {against} are so the other way round"
            )
    return (
        f"The whole search: {'; '.join(told) or 'none ran'}. The published configuration was the best of 24 by the very"
        " contrast that was then reported. Here the sparsest mask that suffices is taken, what is left without it has"
        " no say, and the search is smaller, so that a choice by the effect would add less than it did there. Where few"
        " masks suffice, the search says little of a network's structure; a published mask had some 14,000 steps."
    )


def _on_pretraining(evidence: Evidence) -> str:
    told = []
    for kind in claims.KINDS:
        scores = [_mean(claims.base_scores(evidence, kind, origin)) for origin in claims.ORIGINS]
        pairs = claims.paired(claims.contrasts(evidence, "left"), kind)
        if pairs:
            early, late = (fmean(side) for side in zip(*pairs, strict=True))
            told.append(
                f"{kind}: ablation contrast {measure(early)} from scratch and {measure(late)} pretrained, over"
                f" {amount(len(pairs), 'pair')}; whole networks {scores[0]} and {scores[1]}"
            )
    return (
        f"Pretraining: {'; '.join(told) or 'no pairs are above the condition'}. A pretrained network goes on with the"
        " very examples, recipe and seed of its partner. It saw more examples, though: what is compared is pretraining"
        " and training against training alone. Networks that do not reach the condition have no masks, so pairs are"
        " those in which both do. Where all seeds share one pretraining, a smaller spread may come from the shared"
        " start alone."
    )


def _on_generalising(evidence: Evidence) -> str:
    rows = evidence.of("structure")
    by_settings = claims.within_settings(rows, "selectivity", "unseen")
    seen = claims.rank(list(rows), across="seen")
    return (
        "The paper's open question. Over all networks that answer two questions, selectivity and the score on unseen"
        f" pairs have a rank correlation of {ranked(claims.rank(list(rows)))}; the score on seen pairs alone has"
        f" {ranked(seen)} with it. Networks differ in their size, in how many pairs they were shown and in how long"
        " they were trained, and any of these could move both; between networks that differ in the seed alone the"
        f" correlation is {ranked(claims.rank(by_settings))}. These are small networks on symbols: that it is so in"
        " large ones is not shown. What would refute an answer: the other sign, with an interval that leaves 0 out, on"
        " networks of another family."
    )
