"""How far adding up effects holds: the closed form against refitting, and worlds in which it must and must not hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.grades import earned
from recombine.numerics import additive_fit as module
from recombine.numerics.additive_fit import held_out
from recombine.numerics.interaction_rules import PRODUCT, RULES
from recombine.numerics.simple_rules import ADDITIVE, MAJORITY, NEAREST
from recombine.verbs.audit.additivity import additive_test
from tests.commands import run_command
from tests.properties import examples
from tests.twins import brute_determined, labels, numbers, one_hot, support_of, supports


def brute_held_out(codes: np.ndarray, sizes: tuple[int, ...], answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Refit without each combination; NaN where the others do not determine it."""
    design = one_hot(codes, sizes)
    said, leverage = np.full(answers.shape, np.nan), np.full(len(codes), np.nan)
    for i in range(len(codes)):
        rest = np.delete(np.arange(len(codes)), i)
        others, own = design[rest], design[i]
        inverse = np.linalg.pinv(others.T @ others)
        if np.abs(own - own @ inverse @ others.T @ others).max() < 1e-8:
            said[i] = own @ inverse @ others.T @ answers[rest]
            leverage[i] = own @ inverse @ own
    return said, leverage


@pytest.mark.parametrize("sparse", [False, True])
@examples(60)
@given(support=supports(), seed=st.integers(0, 9))
def test_one_fit_holds_out_every_combination(support, seed: int, sparse: bool) -> None:
    answers = np.random.default_rng(seed).normal(size=(len(support), 2))
    tried = np.arange(len(support))
    was = module._MOST_ENTRIES
    module._MOST_ENTRIES = -1 if sparse else was
    try:
        found = held_out(support.codes, support.space.sizes, answers, tried)
    finally:
        module._MOST_ENTRIES = was
    said, leverage = brute_held_out(support.codes, support.space.sizes, answers)
    possible = np.flatnonzero(np.isfinite(leverage))
    assert found.rows.tolist() == possible.tolist()
    assert found.untestable + len(found.rows) + found.unsolved == len(support)
    np.testing.assert_allclose(found.said, said[possible], atol=1e-5)
    np.testing.assert_allclose(found.leverage, leverage[possible], atol=1e-6)
    design = one_hot(support.codes, support.space.sizes)
    fit = design @ np.linalg.pinv(design) @ answers
    assert found.fitted == pytest.approx(np.square(fit).sum(), abs=1e-5)


def grid(rng: np.random.Generator, size: int = 20, share: float = 0.5) -> np.ndarray:
    """Some cells of a square."""
    places = rng.permutation(size * size)[: round(share * size * size)]
    return np.stack(np.divmod(places, size), axis=1)


def brute_scores(codes: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """R² of the simple rules with one answer a combination, one combination at a time."""
    errors: dict[str, list[float]] = {"mean": [], NEAREST: [], "f0 alone": [], "f1 alone": []}
    for i, own in enumerate(codes):
        rest = np.delete(np.arange(len(codes)), i)
        agree = (codes[rest] == own).sum(axis=1)
        errors["mean"].append(truth.mean())
        errors[NEAREST].append(truth[rest][agree == agree.max()].mean())
        for k in range(2):
            same = rest[codes[rest, k] == own[k]]
            errors[f"f{k} alone"].append(truth[same].mean() if len(same) else truth[rest].mean())
    missed = {name: np.square(np.array(said) - truth).mean() for name, said in errors.items()}
    return {name: 1 - lost / missed["mean"] for name, lost in missed.items()}


def test_the_simple_rules_equal_brute_force() -> None:
    rng = np.random.default_rng(0)
    codes = grid(rng, 7, 0.9)
    truth = rng.normal(size=len(codes)) + codes[:, 0]
    found = additive_test(numbers(codes, truth, sizes=(7, 7)))[0]
    expected = brute_scores(codes, truth)
    simple = {one.name: one.score for one in found.rules if one.name not in (ADDITIVE, *RULES)}
    assert simple == pytest.approx(expected)


def test_an_additive_world_is_sound_and_says_so() -> None:
    rng = np.random.default_rng(1)
    codes = grid(rng)
    audit = recombine.audit(numbers(codes, codes.sum(axis=1) + rng.normal(size=len(codes)), sizes=(20, 20)))
    assert audit.grade == "sound"
    assert audit.verdict.startswith("Adding up one effect for each value explains 99 % of what held-out combinations")
    assert "if the rule holds beyond them, the other 200 follow." in audit.verdict
    assert audit.expected is not None
    assert audit.expected.of == 200
    assert audit.additive is not None
    assert audit.additive.held_out == pytest.approx(audit.expected.value, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_labels_drawn_by_coin_are_never_sound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = grid(rng)
    audit = recombine.audit(labels(codes, rng.integers(0, 2, len(codes)), sizes=(20, 20)))
    assert audit.grade in ("weak", "failing")
    assert "do not rely on what it would give for the other 200." in audit.verdict
    assert "all be worked out" not in audit.verdict


def test_a_sum_modulo_ten_is_failing() -> None:
    codes = grid(np.random.default_rng(0))
    classes = [str(k) for k in range(10)]
    audit = recombine.audit(labels(codes, codes.sum(axis=1) % 10, classes=classes, sizes=(20, 20)))
    assert audit.grade == "failing"
    assert 'lways answering "' in audit.verdict


@pytest.mark.parametrize("kind", ["number", "label"])
def test_an_interaction_that_a_product_tells_is_told_by_it(kind: str) -> None:
    rng = np.random.default_rng(3)
    codes = grid(rng, share=0.7)
    flipped = (codes[:, 0] % 2) ^ (codes[:, 1] % 2)
    made = numbers(codes, flipped + 0.1 * rng.normal(size=len(codes)), sizes=(20, 20))
    audit = recombine.audit(made if kind == "number" else labels(codes, flipped, sizes=(20, 20)))
    assert audit.additive is not None
    assert audit.additive.chosen == PRODUCT
    assert audit.additive.rule(ADDITIVE).score < 0.6
    assert audit.grade == "sound"


@pytest.mark.slow
def test_sixty_random_columns_are_not_enough_evidence() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (300, 60))
    audit = recombine.audit(support_of(rows))
    assert audit.grade == "untested"
    assert audit.verdict.startswith("Not enough evidence: nothing was tested, because no target was named.")
    tested = recombine.audit(labels(np.unique(rows, axis=0), rng.integers(0, 2, 300)))
    assert tested.grade in ("weak", "failing")


def test_a_constant_target_is_untested() -> None:
    codes = grid(np.random.default_rng(0))
    audit = recombine.audit(numbers(codes, np.full(len(codes), 0.1), sizes=(20, 20)))
    assert (audit.grade, audit.expected.value) == ("untested", None)
    assert "nothing could be tested, because y never varies." in audit.verdict


def test_noise_within_combinations_bounds_what_any_rule_can_explain() -> None:
    rng = np.random.default_rng(5)
    codes = grid(rng, 30)
    count, own = 4, rng.normal(size=(len(codes), 4))
    table = {
        "a": np.repeat(codes[:, 0], count),
        "b": np.repeat(codes[:, 1], count),
        "y": (0.5 * rng.normal(size=30)[codes[:, 0], None] + own).ravel(),
    }
    test = recombine.audit(table, factors=["a", "b"], target="y").additive
    assert test is not None
    assert test.explainable.value == pytest.approx(0.25 / (0.25 + 1 / count), abs=0.12)
    assert test.held_out is not None
    assert test.held_out < test.explainable.value
    assert any(
        "No rule can explain more than" in reason
        for reason in recombine.audit(table, factors=["a", "b"], target="y").reasons
    )


def test_what_cannot_be_held_out_is_counted_and_said() -> None:
    rows = [(a, b) for a in range(6) for b in range(6)] + [(6, 0), (0, 6)]
    audit = recombine.audit(numbers(rows, [float(a + b) for a, b in rows], sizes=(7, 7)))
    assert audit.additive is not None
    assert (audit.additive.untestable, audit.additive.tested) == (2, 36)
    assert any("2 seen combinations could not be held out" in reason for reason in audit.reasons)


def test_combinations_unlike_any_that_was_held_out_are_told_apart() -> None:
    """A firm block, and values seen once: what hangs on one example is unlike what could be held out."""
    block = [(a, b) for a in range(8) for b in range(8) if (a, b) not in ((1, 1), (2, 2))]
    rows = [*block, (8, 0), (0, 8)]
    audit = recombine.audit(numbers(rows, [float(a - b) for a, b in rows], sizes=(9, 9)))
    assert audit.expected is not None
    assert audit.expected.of == 2
    assert "15 hang on less than any combination that could be held out." in audit.verdict
    assert audit.grade in ("weak", "plausible")


def test_a_tie_with_one_factor_that_tells_everything_costs_nothing_and_is_said() -> None:
    places = np.random.default_rng(0).permutation(60 * 6)[:200]
    codes = np.stack(np.divmod(places, 6), axis=1)
    audit = recombine.audit(labels(codes, codes[:, 0] % 2, sizes=(60, 6)))
    assert audit.expected is not None
    assert (audit.expected.baseline_name, audit.expected.value) == ("f0 alone", 1.0)
    assert earned(audit.expected) == audit.grade == "sound"
    assert "f0 alone gets 100 %" in audit.verdict


def test_ties_within_a_combination_share_the_hit() -> None:
    table = {"a": [0, 0, 0, 1, 1, 0, 0], "b": [0, 0, 1, 0, 1, 1, 1], "y": list("xyxyyxx")}
    found = additive_test(recombine.read(table, factors=["a", "b"], target="y"))[0]
    assert found.rule(MAJORITY).score in (0.375, 0.625)


def test_scores_by_rows_stand_beside_those_by_combinations() -> None:
    rng = np.random.default_rng(2)
    codes = grid(rng, 10, 0.8)
    many = np.where(codes[:, 0] == 0, 50, 1)
    table = {
        "a": np.repeat(codes[:, 0], many),
        "b": np.repeat(codes[:, 1], many),
        "y": np.repeat(
            np.where(codes[:, 0] == 0, "rare", np.where(rng.random(len(codes)) < 0.9, "usual", "rare")), many
        ),
    }
    test = recombine.audit(table, factors=["a", "b"], target="y").additive
    assert test is not None
    right = test.rule(MAJORITY)
    assert right.score > 0.7
    assert right.by_rows < 0.3


def test_every_seen_combination_that_is_determined_without_itself_is_tested() -> None:
    support = support_of([(a, b) for a in range(3) for b in range(3) if a != b])
    made = numbers(support.codes, np.arange(6.0), sizes=(3, 3))
    found = additive_test(made)[0]
    alone = [brute_determined(support.subset(np.delete(np.arange(6), i))) for i in range(6)]
    cells = support.codes[:, 0] * 3 + support.codes[:, 1]
    assert found.tested == sum(bool(fixed[cell]) for fixed, cell in zip(alone, cells, strict=True))


def blocks_world(seed: int, *, interaction: float) -> tuple[dict[str, list], np.ndarray]:
    """Three factors; some pairs of a and b are never seen, with any c. What does not add up lives on these pairs."""
    rng = np.random.default_rng(seed)
    codes = np.array([(a, b, c) for a in range(6) for b in range(6) for c in range(4)])
    pair = interaction * rng.normal(size=(6, 6))
    effects = [rng.normal(size=6), rng.normal(size=6), rng.normal(size=4)]
    truth = sum(effect[codes[:, k]] for k, effect in enumerate(effects)) + pair[codes[:, 0], codes[:, 1]]
    shown = (codes[:, 0] + 2 * codes[:, 1] + seed) % 4 > 0
    table = {name: codes[shown, k].tolist() for k, name in enumerate("abc")}
    return table | {"y": (truth + 0.1 * rng.normal(size=len(codes)))[shown].tolist()}, codes[~shown]


def test_whole_blocks_are_held_out_where_whole_pairs_are_unseen():
    table, unseen = blocks_world(1, interaction=1.5)
    found = recombine.audit(table, factors=["a", "b", "c"], target="y")
    assert found.additive.blocks == (("a", "b"),)
    assert found.expected.of == len(unseen)
    alone = found.additive.held_out
    assert found.expected.value < alone - 0.2, "one at a time the pair is still shown by the other values of c"
    assert any("held out together with all that share their values of a with b" in reason for reason in found.reasons)


def test_the_command_says_that_the_score_is_of_blocks(tmp_path):
    table, _ = blocks_world(1, interaction=1.5)
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    said = run_command(tmp_path, "audit", "t.csv", "-f", "a,b,c", "-t", "y")
    assert said.returncode == 0
    assert "all that share a with b at once" in " ".join(said.stdout.split())


def test_what_adds_up_is_told_as_well_in_blocks():
    table, _ = blocks_world(2, interaction=0.0)
    found = recombine.audit(table, factors=["a", "b", "c"], target="y")
    assert found.expected.low > 0.85
    assert found.grade == "sound"


def test_what_cannot_be_held_out_as_the_unseen_are_missing_is_said():
    grid = [(a, b, c) for a in range(2) for b in range(2) for c in range(12) if (a, b) != (1, 1)]
    table = {name: [row[k] for row in grid] for k, name in enumerate("abc")}
    table["y"] = [a + b + float(np.sin(9 * c)) for a, b, c in grid]
    found = recombine.audit(table, factors=["a", "b", "c"], target="y")
    assert found.expected.abstains
    assert found.grade == "untested"
    assert "no tested combination was missing a whole pair of values (a with b), as these are" in found.verdict


def test_two_factors_are_held_out_one_at_a_time():
    grid = [(a, b) for a in range(6) for b in range(6) if (a + b) % 4]
    table = {"a": [a for a, _ in grid], "b": [b for _, b in grid], "y": [a + 2.0 * b for a, b in grid]}
    assert recombine.audit(table, factors=["a", "b"], target="y").additive.blocks == ()
