"""The study of subnetworks: each claim on planted rows, where it holds and where it does not; its formulas."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine_lab.training.configurations import configurations
from recombine_lab.training.pack import jobs_of
from recombine_studies.claims import judged
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence
from recombine_studies.subnetworks import STUDY, claims
from recombine_studies.subnetworks.grids import PRETRAINED, SCENES, SCRATCH, SENTENCES, VIT, grammatical, problems
from recombine_studies.subnetworks.measures import questions, told
from recombine_studies.tasks.agreement import Agreement
from recombine_studies.tasks.relations import Relations
from recombine_studies.tasks.two_questions import TwoQuestions
from tests.probes.flat import subnetworks
from tests.probes.masks.test_disturbing import QUICK, added_up, components
from tests.properties import examples

SEEDS = range(4)
Numbers = Callable[[str, str, str, int], Mapping[str, Any]]
"""From kind, origin, who and seed to what a mask does."""


def evidence(
    masks: Numbers | None = None,
    *,
    scores: Mapping[str, float] | None = None,
    search: Callable[[str, str, int], list[tuple[bool, float, float]]] | None = None,
    overlap: Callable[[str, int], float] | None = None,
    structure: list[dict[str, Any]] | None = None,
    both: Callable[[int], tuple[float, float]] | None = None,
    said: Callable[[int], list[dict[str, str]]] | None = None,
) -> Evidence:
    """Planted rows of every step: by default good networks without any structure."""
    scored = {SCENES: 0.95, SENTENCES: 0.99, VIT: 0.5, PRETRAINED: 0.97} | dict(scores or {})
    runs = [
        {"grid": kind, "seed": seed, "status": "finished", "seen.score": scored[kind] + 0.001 * seed}
        | (
            {"task.pair": "subject_verb", "task.number": "plural"}
            if kind == SENTENCES
            else {"task.rule": "inside_contact"}
        )
        for kind in (SCENES, VIT, SENTENCES)
        for seed in SEEDS
    ]
    tuned, found = [], []
    for kind in (SCENES, SENTENCES):
        for seed in SEEDS:
            tuned.append({"kind": kind, "task": "t", "seed": seed, "seen.score": scored[PRETRAINED] + 0.001 * seed})
            for origin in (SCRATCH, PRETRAINED):
                own = {"kind": kind, "task": "t", "seed": seed, "origin": origin}
                selective, unseen = both(seed) if both else (0.1 * seed, 0.5)
                row = {"table": "network", "outcome": "unclear", "selectivity": selective, "both broken": unseen}
                row["own examples"] = masks(kind, origin, claims.TRAINED, seed)["kept Target"] if masks else 0.95
                found += [{**own, "table": "estimators", **one} for one in said(seed)] if said else []
                found.append({**own, **row, "overlap within a component": overlap(origin, seed) if overlap else 0.5})
                for who in (claims.TRAINED, claims.UNTRAINED):
                    made = masks(kind, origin, who, seed) if masks else flat()
                    found.append({**own, "table": "used", "who": who, "component": "a", **made})
                    for passed, target, other in search(kind, who, seed) if search else [(True, 0.9, 0.9)]:
                        tried = flat(left=(target, other))
                        row = {"table": "search", "who": who, "component": "a", "sufficient": passed}
                        found.append({**own, **row, **tried})
    measured = {"masks": Rows(found), "fine-tuning": Rows(tuned), "structure": Rows(structure or networks(+1))}
    return Evidence(Bench("nowhere", {}), Rows(runs), measured)


def flat(kept: tuple[float, float] = (0.95, 0.95), left: tuple[float, float] = (0.9, 0.9)) -> dict[str, float]:
    """What a mask does: alone and without it, on Target and on Other."""
    names = ("kept Target", "kept Other", "left Target", "left Other")
    return dict(zip(names, (*kept, *left), strict=True))


def networks(sign: int) -> list[dict[str, Any]]:
    """Two-question networks whose selectivity and score on unseen pairs go together, or against each other."""
    return [
        {
            "network": name,
            "held out": 0.3,
            "steps": 100,
            "seed": seed,
            "seen": 0.95,
            "selectivity": 0.05 * place + 0.1 * seed,
            "unseen": 0.5 + sign * (0.01 * place + 0.02 * seed),
        }
        for place, name in enumerate(("a", "b", "c"))
        for seed in range(6)
    ]


def modular(gap: float, jitter: float = 0.01) -> Numbers:
    """Trained networks lose Target without the part, untrained ones lose both alike."""

    def masks(kind: str, origin: str, who: str, seed: int) -> Mapping[str, Any]:
        trained = who == claims.TRAINED
        return flat(left=(0.9 - gap + jitter * seed, 0.9)) if trained else flat(kept=(0.9, 0.3), left=(0.5, 0.5))

    return masks


def outcome(name: str, planted: Evidence) -> str:
    claim = next(claim for claim in STUDY.claims if claim.name == name)
    return judged(claim, planted).outcome


HOLDS: dict[str, Evidence] = {
    "whole networks": evidence(),
    "vision transformers": evidence(),
    "masks suffice": evidence(),
    "ablation separates": evidence(modular(0.4)),
    "subnetwork does not": evidence(modular(0.4)),
    "best of search": evidence(
        search=lambda kind, who, seed: [
            (True, 0.5 + 0.01 * seed, 0.9),
            (True, 0.9, 0.6),
            (False, 0.3, 0.9),
            (True, 0.9, 0.9),
        ]
    ),
    "pretraining sharpens": evidence(
        lambda kind, origin, who, seed: flat(left=(0.4 if origin == PRETRAINED else 0.7 + 0.01 * seed, 0.9))
    ),
    "pretraining steadies": evidence(
        lambda kind, origin, who, seed: flat(left=(0.7 + (0.1 if origin == SCRATCH else 0.01) * (-1) ** seed, 0.9)),
        overlap=lambda origin, seed: 0.5 + (0.2 + 0.01 * seed) * (origin == PRETRAINED),
    ),
    "modularity and generalisation": evidence(structure=networks(+1), both=lambda seed: (0.1 * seed, 0.5 + 0.1 * seed)),
}
FAILS: dict[str, Evidence] = {
    "whole networks": evidence(scores={SCENES: 0.8, SENTENCES: 0.7, PRETRAINED: 0.6}),
    "vision transformers": evidence(scores={VIT: 0.95}),
    "masks suffice": evidence(lambda kind, origin, who, seed: flat(kept=(0.6 + 0.01 * seed, 0.3))),
    "ablation separates": evidence(modular(-0.05)),
    "subnetwork does not": evidence(lambda kind, origin, who, seed: flat(kept=(0.3, 0.3 + 0.01 * seed))),
    "best of search": evidence(search=lambda kind, who, seed: [(True, 0.3 + 0.01 * seed, 0.9)] * 3),
    "pretraining sharpens": evidence(
        lambda kind, origin, who, seed: flat(left=(0.8 if origin == PRETRAINED else 0.6 + 0.01 * seed, 0.9))
    ),
    "pretraining steadies": evidence(
        lambda kind, origin, who, seed: flat(left=(0.7 + (0.1 if origin == PRETRAINED else 0.01) * (-1) ** seed, 0.9)),
        overlap=lambda origin, seed: 0.5 - (0.2 + 0.01 * seed) * (origin == PRETRAINED),
    ),
    "modularity and generalisation": evidence(structure=networks(-1), both=lambda seed: (0.1 * seed, 0.9 - 0.1 * seed)),
}


@pytest.mark.parametrize("name", [claim.name for claim in STUDY.claims])
def test_a_claim_holds_where_it_is_planted(name: str) -> None:
    assert outcome(name, HOLDS[name]) == "holds"


@pytest.mark.parametrize("name", [claim.name for claim in STUDY.claims])
def test_a_claim_does_not_hold_where_the_opposite_is_planted(name: str) -> None:
    assert outcome(name, FAILS[name]) == "does not hold"


@pytest.mark.parametrize("name", [claim.name for claim in STUDY.claims])
def test_without_rows_nothing_is_decided(name: str) -> None:
    nothing = Evidence(Bench("nowhere", {}), Rows([]), {})
    assert outcome(name, nothing) == "not enough evidence"


def test_figures_and_remarks_can_be_made_of_planted_rows_and_of_none() -> None:
    for planted in (HOLDS["best of search"], Evidence(Bench("nowhere", {}), Rows([]), {})):
        assert STUDY.remarks is not None
        assert len(STUDY.figures(planted)) == 5
        assert len(STUDY.remarks(planted)) == 4


def test_the_first_sentence_counts_sufficiency_and_agreement() -> None:
    """Of four seeds of four kinds: continuous masks suffice in half, hard concrete ones in all but one, and so on."""

    def said(seed: int) -> list[dict[str, str]]:
        continuous = "modular" if seed < 2 else "not sufficient"
        hard = "redundant" if seed == 0 else continuous
        return [
            {"estimator": "continuous", "outcome": continuous},
            {"estimator": "hard concrete", "outcome": hard},
            {"estimator": "gradient", "outcome": "not sufficient"},
        ]

    assert STUDY.summary is not None
    assert STUDY.summary(evidence(said=said)) == (
        "In 8 of 16 networks continuous masks find a part that does each component alone; hard concrete masks agree on"
        " 16 of these 16, and on the outcome of 12; gradient masks agree on 8 of these 16, and on the outcome of 8."
    )
    assert STUDY.summary(evidence()) == ""


def test_what_is_used_is_told_with_what_it_does() -> None:
    """The rows of a probe, as the claims read them: by who and component."""
    found = subnetworks(
        added_up(shared=False),
        components=components(),
        **{**QUICK, "steps": 30, "estimator": ["continuous", "gradient"], "rates": {"continuous": (0.1,)}},
    )
    rows = Rows(told(found))
    used = rows.where(table="used")
    assert {(row["who"], row["component"]) for row in used} == {
        (who, name) for who in (claims.TRAINED, claims.UNTRAINED, claims.RANDOM) for name in "ab"
    }
    mine = used.where(who=claims.TRAINED)
    assert all(row["left Target"] < 0.4 and row["left Other"] > 0.9 for row in mine)
    assert all(row["kept Target"] > 0.9 and row["kept Other"] < 0.5 for row in mine)
    assert rows.where(table="estimators").numbers("own examples") == pytest.approx([1, 1], abs=0.1)
    assert {row["masks"] for row in rows.where(table="agreement")} == {"sparsest", "used"}


def test_a_contrast_is_clipped_at_chance() -> None:
    assert claims.contrast_of(flat(left=(0.20, 0.60)), "left") == pytest.approx(-0.35)
    assert claims.contrast_of(flat(kept=(0.97, 0.24)), "kept") == pytest.approx(0.72)


def test_a_mask_that_does_not_suffice_counts_nothing() -> None:
    planted = evidence(search=lambda kind, who, seed: [(False, 0.3, 0.9), (True, 0.4, 0.9)])
    assert all(values == [0.0, pytest.approx(0.5)] for values in claims.qualities(planted).values())
    assert claims.best_and_mean(planted, SCENES)[0] == (pytest.approx(0.5), pytest.approx(0.25))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=7))
@examples(40)
def test_deviations_are_from_the_median_of_the_other_seeds(values: list[float]) -> None:
    found = claims.deviations({("k", "t", seed, SCRATCH): value for seed, value in enumerate(values)})
    ordered = sorted(values)
    middle = (ordered[len(values) // 2] + ordered[(len(values) - 1) // 2]) / 2
    assert list(found.values()) == pytest.approx([abs(value - middle) for value in values])


def test_within_settings_only_the_seeds_are_left() -> None:
    rows = Rows(networks(+1))
    left = claims.within_settings(rows, "selectivity", "unseen")
    assert sum(row["selectivity"] for row in left) == pytest.approx(0)
    assert claims.rank(left).value > 0.95  # ties are broken by rounding
    place = {"a": 0.0, "b": 1.0, "c": 2.0}
    across = [
        {
            **row,
            "selectivity": place[row["network"]] + 0.1 * row["seed"],
            "unseen": -place[row["network"]] + 0.1 * row["seed"],
        }
        for row in rows
    ]
    assert claims.rank(across).value < 0  # between settings the other way round
    assert claims.rank(claims.within_settings(Rows(across), "selectivity", "unseen")).value > 0.95


def test_sentences_to_pretrain_on_agree() -> None:
    task = Agreement(pair="subject_verb", number="plural")
    rows = grammatical(task, 64, seed=3)
    texts = task.read(rows[:, None].expand(-1, 4, -1))
    simple = [one[0].split() for one in texts if len(one[0].split()) == 3]
    assert len(rows) == 64
    assert simple
    assert all(subject.endswith("s") != verb.endswith("s") for _, subject, verb in simple)


def test_problems_of_a_set_are_those_of_the_set() -> None:
    inputs, targets = problems(Relations(rule="inside_contact", size=32), "target_first", 8, seed=1, part="test")
    assert inputs.shape == (8, 4, 3, 32, 32)
    again = problems(Relations(rule="inside_contact", size=32), "target_first", 8, seed=1, part="test")
    assert torch.equal(inputs, again[0])
    assert torch.equal(targets, again[1])


def test_masks_are_learned_and_judged_by_pairs_that_were_shown() -> None:
    split = {"name": "hold_out_combinations", "factors": ["first", "second"], "test_size": 0.5, "n_splits": 1}
    task = {"name": "two_questions", "noise": 0.0, "values": 4}
    (job,) = jobs_of(configurations(task, split, "mlp", {"steps": 1}, seeds=1))
    found = questions(job, 60, 40, seed=0)
    pairs = set()
    for place, (name, both) in enumerate(found.items()):
        for inputs, targets in both:
            slots = inputs.reshape(len(inputs), 3, 4).argmax(dim=2)
            assert (slots[:, 2] == place).all(), name
            assert torch.equal(slots[:, place], targets)
            pairs |= {tuple(row) for row in slots[:, :2].tolist()}
    assert len(pairs) == 8  # half of 16; the others were never shown
    assert TwoQuestions(values=4).space.product == 32
