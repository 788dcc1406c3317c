"""A forecast for who does not know the answers of unseen combinations: what stands for them, and what it costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.grades import Expected
from recombine.verbs.predict.answers import Truth
from recombine.verbs.predict.examples.rule_answers import RuleAnswers

HOW = {"factors": ["a", "b"], "target": "y"}
NOTHING = Truth("nobody", np.zeros((0, 2), dtype=np.int32), np.zeros(0), np.zeros(0))
SHARES = st.floats(0.0, 1.0)


def rule(value: float, low: float, high: float, score: str = "accuracy") -> RuleAnswers:
    return RuleAnswers(NOTHING, Expected(score, value, low, high, tested=40))


def arrived(value: float, low: float, high: float, score: str = "accuracy") -> Expected:
    return Expected(score, value, low, high, 0.2, "majority", (low - 0.2, value - 0.2, high - 0.2), tested=30, of=30)


@given(SHARES, SHARES, st.integers(0, 2**32 - 1))
def test_shares_multiply_and_squared_errors_add_up(reached: float, right: float, seed: int) -> None:
    """The twin: a rule that is right by chance, and a network that arrives at its answers by another."""
    rng = np.random.default_rng(seed)
    own, other = rng.random((2, 200_000)) < np.array([[reached], [right]])
    found = rule(right, right, right).expected(arrived(reached, reached, reached)).value
    assert found == pytest.approx((own & other).mean(), abs=0.006)
    truth, miss, off = rng.normal(size=(3, 200_000))
    said = truth + np.sqrt(1 - right) * off
    network = said + np.sqrt(1 - reached) * miss
    fit = rule(right, right, right, "R²").expected(arrived(reached, reached, reached, "R²")).value
    assert fit == pytest.approx(1 - np.square(network - truth).mean() / np.square(truth).mean(), abs=0.03)


@given(st.tuples(SHARES, SHARES, SHARES).map(sorted), st.tuples(SHARES, SHARES, SHARES).map(sorted))
def test_who_knows_less_is_never_surer(net: list[float], known: list[float]) -> None:
    """With the truth given the interval would be that of the machines; a rule in its place only widens it."""
    machines = arrived(net[1], net[0], net[2])
    blind = rule(known[1], known[0], known[2]).expected(machines)
    sure = rule(known[1], known[1], known[1]).expected(machines)
    assert blind.low is not None
    assert blind.high is not None
    assert blind.low <= (sure.low or 0.0) + 1e-12
    assert blind.high >= (sure.high or 0.0) - 1e-12


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_no_network_scores_beyond_the_ends(seed: int, rows: int) -> None:
    """The twin: answers of a network, of a rule and the truth, drawn; and as numbers."""
    rng = np.random.default_rng(seed)
    truth, said, own = rng.integers(0, 3, size=(3, rows))
    least, most = rule((said == truth).mean(), 0, 1)._ends((own == said).mean(), share=True)
    assert least - 1e-9 <= (own == truth).mean() <= most + 1e-9
    truth, said, own = rng.normal(size=(3, rows))
    arrived_at, right = (1 - np.square(a - b).sum() / np.square(truth).sum() for a, b in ((own, said), (said, truth)))
    least, most = rule(right, 0, 1, "R²")._ends(arrived_at, share=False)
    assert least - 1e-6 <= 1 - np.square(own - truth).sum() / np.square(truth).sum() <= most + 1e-6


@given(
    st.tuples(SHARES, SHARES, SHARES).map(sorted),
    st.floats(0.7, 1.0),
    st.tuples(SHARES, SHARES, SHARES).map(sorted),
)
def test_a_second_estimate_moves_it_within_the_ends_and_never_below_the_doubt_of_who_knows(net, right, held) -> None:
    machines, own = arrived(net[1], net[0], net[2]), rule(right, max(right - 0.2, 0.0), 1.0)
    found = own.weighed(machines, arrived(held[1], held[0], held[2]))
    least, most = own._ends(net[1], share=True)
    assert min(least, net[1] * right) - 1e-9 <= found.value <= max(most, net[1] * right) + 1e-9
    cut = found.low == 0.0 or found.high == 1.0
    assert cut or found.high - found.low >= net[2] - net[0] - 1e-9


def test_a_rule_that_fails_where_it_is_easy_is_no_rule_to_go_on_with() -> None:
    """Products on all but a corner: what is unseen is harder than what was held out, and even that came out wrong."""
    codes, inputs = pictures()
    values = np.prod(codes - 2.5, axis=1)
    table = asked(codes, values.tolist(), (codes >= 3).all(axis=1))
    found = recombine.predict(table, **HOW, examples=recombine.Examples(inputs))
    assert found.held_out.abstains
    assert found.network.abstains
    sums = asked(codes, codes.sum(axis=1).astype(float).tolist(), (codes >= 3).all(axis=1))
    found = recombine.predict(sums, **HOW, examples=recombine.Examples(inputs))
    assert found.examples.only_if
    assert found.grade in ("weak", "failing", "untested")


def test_no_two_scores_of_a_blind_forecast_contradict_each_other() -> None:
    codes, inputs = pictures()
    labels = [f"c{int(a >= 3 and b >= 2)}" for a, b in codes]
    found = recombine.predict(
        asked(codes, labels, (2 * codes[:, 0] + codes[:, 1]) % 4 == 0), **HOW, examples=recombine.Examples(inputs)
    )
    if found.examples.assumption is None:
        pytest.skip("the rule failed")
    assert np.mean(found.examples.by_member) == pytest.approx(found.expected.value, abs=1e-9)
    assert found.by_combination["right"].to_numpy().mean() == pytest.approx(found.expected.value, abs=1e-9)
    assert not any(reason.startswith(("Back-tested", "Over combinations alone")) for reason in found.reasons)


def pictures(seed: int = 0, *, noise: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two factors of six values, eight rows of each combination, and inputs that show both."""
    codes = np.array([(a, b) for a in range(6) for b in range(6)] * 8)
    inputs = np.eye(6)[codes].reshape(len(codes), 12) + noise * np.random.default_rng(seed).normal(
        size=(len(codes), 12)
    )
    return codes, inputs


def asked(codes: np.ndarray, labels: list[str], unseen: np.ndarray) -> dict[str, list[str | None]]:
    columns: dict[str, list[str | None]] = {name: [f"v{code}" for code in codes[:, k]] for k, name in enumerate("ab")}
    return columns | {"y": [None if new else label for new, label in zip(unseen, labels, strict=True)]}


def test_a_rule_that_passed_stands_for_the_truth_and_the_forecast_comes_true() -> None:
    codes, inputs = pictures()
    unseen = codes.sum(axis=1) % 3 == 0
    labels = [f"c{code}" for code in codes[:, 0]]
    blind = recombine.predict(asked(codes, labels, unseen), **HOW, examples=recombine.Examples(inputs))
    truth = asked(codes, labels, np.zeros(len(codes), dtype=bool))
    told = recombine.predict(asked(codes, labels, unseen), **HOW, examples=recombine.Examples(inputs), truth=truth)
    assert blind.examples is not None
    assert blind.examples.way == "rows"
    assert "The true answers are not known" in blind.verdict
    assert blind.expected.value == pytest.approx(told.expected.value)
    assert blind.expected.low <= told.expected.low
    assert blind.expected.high >= told.expected.high
    assert blind.grade == "plausible"


def test_a_rule_that_failed_stands_for_nothing() -> None:
    codes, inputs = pictures()
    unseen = codes.sum(axis=1) % 3 == 0
    coin = np.random.default_rng(1).integers(0, 2, 36)
    labels = [f"c{coin[6 * a + b]}" for a, b in codes]
    found = recombine.predict(asked(codes, labels, unseen), **HOW, examples=recombine.Examples(inputs))
    assert found.examples is not None
    assert found.examples.way == "held out"
    assert found.examples.assumption is None


def test_a_rule_that_nothing_could_test_is_an_if(tmp_path) -> None:
    """A cross: without one of its combinations a value is gone."""
    codes, inputs = pictures()
    labels = [f"c{code}" for code in codes[:, 0]]
    found = recombine.predict(
        asked(codes, labels, ~(codes == 0).any(axis=1)), **HOW, examples=recombine.Examples(inputs)
    )
    assert found.verdict.startswith("If unseen combinations answer as the factors suggest, networks like these would")
    assert "Nothing here could test that" in found.verdict
    assert found.grade in ("weak", "failing")
    found.save(tmp_path / "kept")
    kept = recombine.load(tmp_path / "kept").examples
    assert (kept.only_if, kept.assumption) == (True, found.examples.assumption)


def test_a_rule_that_says_more_than_adding_up_stands_for_the_truth_where_the_learner_fails() -> None:
    """Values multiply: who knows the answers expects about the same as who takes those of the chosen rule for them."""
    rng = np.random.default_rng(0)
    codes = np.array([(a, b) for a in range(12) for b in range(12)] * 3)
    inputs = np.eye(12)[codes].reshape(len(codes), 24) + 0.2 * rng.normal(size=(len(codes), 24))
    one, other = 2 * rng.normal(size=(2, 12))
    answers = one[codes[:, 0]] * other[codes[:, 1]] + 0.1 * rng.normal(size=len(codes))
    unseen = (rng.random(144) < 0.25)[12 * codes[:, 0] + codes[:, 1]]
    how = HOW | {"target_kind": "number", "examples": recombine.Examples(inputs)}
    truth = asked(codes, answers.tolist(), np.zeros(len(codes), dtype=bool))
    blind = recombine.predict(asked(codes, answers.tolist(), unseen), **how)
    told = recombine.predict(asked(codes, answers.tolist(), unseen), **how, truth=truth)
    assert blind.held_out.value < 0.5  # the learner over the factors is no good here
    assert "a rule over the factors (adding up one effect for each value and a product of a and b)" in blind.verdict
    assert blind.expected.value == pytest.approx(told.expected.value, abs=0.05)
