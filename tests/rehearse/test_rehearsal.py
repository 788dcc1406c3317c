"""A rehearsal on tables whose answer is known: perfect, empty, adversarial, and where nothing can be rehearsed."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.base.errors import RecombineError
from recombine.numerics.rows import IncidenceRows
from recombine.verbs.predict.answers import answers
from recombine.verbs.rehearse.holdouts import Seen, choose_rounds, sparable

FACTORS = ["a", "b"]


def grid(sizes=(8, 8), hole=5):
    """A grid with holes that are spread over it."""
    return [(a, b) for a, b in product(*map(range, sizes)) if (a + 2 * b) % hole]


def table(seen, answer):
    return {"a": [f"a{a}" for a, _ in seen], "b": [f"b{b}" for _, b in seen], "y": [answer(a, b) for a, b in seen]}


class Own:
    """A learner of one's own, made of a function of the factors' codes."""

    name, level = "own", "combinations"

    def __init__(self, said) -> None:
        self.said = said

    def answer(self, train, test, *, seed):
        return np.array([self.said(train, row) for row in test.support.codes], dtype=float)


def test_a_perfect_learner_is_foretold_to_be_perfect_and_sound() -> None:
    found = recombine.rehearse(
        table(grid((10, 10)), lambda a, b: float(a + 3 * b)),
        Own(lambda _, row: float(row[0] + 3 * row[1])),
        factors=FACTORS,
        target="y",
    )
    assert found.expected.value == pytest.approx(1)
    assert found.expected.basis == "rehearsal"
    assert found.grade == "sound"
    assert "explains 100 %" in found.verdict


def test_who_only_memorises_is_at_the_constant_answer() -> None:
    def memorise(train, row):
        return train.own.values.mean()

    found = recombine.rehearse(
        table(grid((9, 9)), lambda a, b: float(a + 3 * b)), Own(memorise), factors=FACTORS, target="y"
    )
    assert found.expected.value == pytest.approx(0, abs=0.1)
    assert found.grade in ("weak", "failing")


def test_additive_truth_and_learner() -> None:
    rng = np.random.default_rng(0)
    seen = grid((8, 8)) * 3
    found = recombine.rehearse(
        table(seen, lambda a, b: a + 2.0 * b + 0.3 * rng.normal()), "additive", factors=FACTORS, target="y"
    )
    assert found.expected.value > 0.9
    assert found.expected.low < found.expected.value <= found.expected.high
    assert found.grade in ("sound", "plausible")


def test_a_cross_of_anchors_can_spare_nothing() -> None:
    cross = [(a, b) for a, b in product(range(7), range(7)) if 3 in (a, b)]
    found = recombine.rehearse(table(cross, lambda a, b: float(a + b)), "additive", factors=FACTORS, target="y")
    assert found.expected.value is None
    assert found.expected.abstains
    assert "can be spared" in found.expected.reason
    assert found.grade == "untested"
    assert found.table.num_rows == 0


def test_neighbours_of_a_chain_do_not_stand_for_pairs_far_apart() -> None:
    """Ordering: without a pair the chain is broken, and every hold-out comes out wrong. All unseen ones are right."""
    chain = [(a, b) for a, b in product(range(7), range(7)) if abs(a - b) == 1]
    same = [{"a": f"a{k}", "b": f"b{k}"} for k in range(7)]
    told = table(chain, lambda a, b: "later" if b > a else "earlier")
    found = recombine.rehearse(told, "relu:1", factors=FACTORS, target="y", impossible=same)
    assert found.naive.value == 0
    assert found.expected.value is None
    assert "not alike" in found.expected.reason
    assert "promises nothing here" in found.verdict


@pytest.mark.parametrize("learner", ["relu:1", "relu:3"])
@pytest.mark.parametrize("with_truth", [False, True])
def test_no_confident_wrong_number_where_contexts_decide(learner, with_truth) -> None:
    """Context dependence: hold-outs are answered well, and of the unseen ones none (kernels with a margin)."""
    every = list(product(range(2), range(6), range(6)))
    told = [("neg", "pos")[(one[1] if one[0] == 0 else one[2]) >= 3] for one in every]
    shown = [one[1] >= 3 or one[2] < 3 for one in every]

    def side(wanted):
        chosen = [(one, said) for one, said, there in zip(every, told, shown, strict=True) if there == wanted]
        columns = {name: [f"{name}{one[k]}" for one, _ in chosen] for k, name in enumerate("cfg")}
        return columns | {"y": [said for _, said in chosen]}

    truth = side(False) if with_truth else None
    found = recombine.rehearse(side(True), learner, factors=list("cfg"), target="y", truth=truth)
    assert found.expected.abstains or found.expected.low <= 0.05
    assert found.grade not in ("sound", "plausible")


def test_two_digits_of_which_one_is_redundant_abstains() -> None:
    ring = [(a, (a + step) % 10) for a in range(10) for step in (0, 1)]
    found = recombine.rehearse(table(ring, lambda a, _: f"digit {a}"), "relu:1", factors=FACTORS, target="y")
    assert found.expected.value is None


def test_what_is_held_out_leaves_every_value_and_two_classes() -> None:
    told = table(grid((6, 6)), lambda a, b: "high" if a + b > 5 else "low")
    support = recombine.read(told, factors=FACTORS, target="y")
    own = answers(support)
    seen = Seen(support, own, with_truth=True)
    unseen = np.array([(a, b) for a, b in product(range(6), range(6)) if not (a + 2 * b) % 5], dtype=np.int32)
    asked = seen.difficulty(np.arange(5), np.arange(len(support)))
    rounds = choose_rounds(seen, unseen, asked, rounds=4, seed=3)
    again = choose_rounds(seen, unseen, asked, rounds=4, seed=3)
    assert len(rounds) == 4
    for one, other in zip(rounds, again, strict=True):
        assert np.array_equal(one.held, other.held)
        assert not set(one.held) & set(one.kept)
        assert len(one.held) + len(one.kept) == len(support)
        for k in range(2):
            assert set(support.codes[one.kept, k]) == set(range(6))
        assert len(set(own.labels[one.kept])) == 2


def test_spared_is_what_brute_force_spares() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        codes = np.unique(rng.integers(0, 4, size=(9, 2)), axis=0)
        rows = IncidenceRows.equal(codes + np.array([0, 4]), 8)
        order = rng.permutation(len(codes))
        taken: list[int] = []
        for place in order:
            rest = [codes[k] for k in range(len(codes)) if k not in (*taken, place)]
            if all(any(other[k] == codes[place][k] for other in rest) for k in range(2)):
                taken.append(int(place))
        assert sparable(rows, order, len(codes)).tolist() == taken


def test_a_support_will_do_for_a_learner_by_name_and_seeds_repeat() -> None:
    support = recombine.read(table(grid(), lambda a, b: float(a * b)), factors=FACTORS, target="y")
    one, other = (recombine.rehearse(support, "nearest", seed=4) for _ in range(2))
    assert one == other
    assert one.expected == other.expected
    assert recombine.rehearse(support, "nearest", seed=5).table != one.table


def test_it_is_saved_loaded_and_drawn(tmp_path) -> None:
    found = recombine.rehearse(table(grid(), lambda a, b: float(a + b)), "relu:1", factors=FACTORS, target="y")
    assert recombine.load(found.save(tmp_path / "saved")) == found
    assert found.expected == recombine.load(tmp_path / "saved").expected
    cross = [(a, b) for a, b in product(range(7), range(7)) if 3 in (a, b)]
    none = recombine.rehearse(table(cross, lambda a, b: float(a + b)), "additive", factors=FACTORS, target="y")
    assert recombine.load(none.save(tmp_path / "none")) == none


def test_truth_says_which_unseen_combinations_are_meant() -> None:
    every = list(product(range(6), range(6)))
    asked = [one for one in every if one not in grid((6, 6))][:3]
    found = recombine.rehearse(
        table(grid((6, 6)), lambda a, b: float(a + b)),
        "additive",
        factors=FACTORS,
        target="y",
        truth=table(asked, lambda a, b: float(a + b)),
    )
    assert found.unseen == 3
    assert {gap.name for gap in found.gaps} >= {"best", "worst"}
    without = recombine.rehearse(
        table(grid((6, 6)), lambda a, b: float(a + b)), "additive", factors=FACTORS, target="y"
    )
    assert without.unseen == len(every) - len(grid((6, 6)))
    assert any("truth" in reason for reason in without.reasons)


def test_everything_seen() -> None:
    found = recombine.rehearse(
        table(list(product(range(4), range(4))), lambda a, b: float(a + b)), "additive", factors=FACTORS, target="y"
    )
    assert found.expected.abstains
    assert "Every combination was seen" in found.verdict


@pytest.mark.parametrize(
    ("given", "learner", "words"),
    [
        ({"target": "nothing"}, "additive", "no column 'nothing'"),
        ({"target": None}, "additive", "without a target"),
        ({"rounds": 0}, "additive", "rounds=0"),
        ({}, object(), "has no fit"),
        ({}, "relu:none", "relu"),
        ({}, "examples", "without inputs"),
        ({"inputs": ["a"]}, "additive", "would not look at them"),
        ({"truth": {"a": ["a0"], "z": ["b0"], "y": [1.0]}}, "additive", "no column 'b'"),
    ],
)
def test_mistakes_in_words(given, learner, words) -> None:
    settings = {"factors": FACTORS, "target": "y"} | given
    with pytest.raises(RecombineError) as caught:
        recombine.rehearse(table(grid(), lambda a, b: float(a + b)), learner, **settings)
    assert words in str(caught.value)


def test_one_combination_of_each_is_too_few() -> None:
    few = table([(0, 0), (0, 1), (1, 0)], lambda a, b: float(a + b))
    found = recombine.rehearse(few, "additive", factors=FACTORS, target="y")
    assert "only 3 combinations have an answer" in found.verdict
