"""Anatomy of errors: planted causes come back, base rates are right, and what cannot be told is not told."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.decoding import revive
from recombine.data.support import LabelTarget, Support
from recombine.verbs.evaluate import error_explanations as habits
from recombine.verbs.evaluate.error_causes import Anatomy, anatomy
from recombine.verbs.evaluate.error_explanations import SeenClasses, explanations, unseen_lines
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from tests.properties import examples
from tests.twins import every, labels, numbers, support_of


def label_outcomes(training, codes, truth, said, *, classes=2, count=None):
    """Outcomes from rows: a combination, its true class, the answer, and how often."""
    codes, truth, said = np.asarray(codes, np.int32), np.asarray(truth), np.asarray(said)
    count = np.ones(len(codes)) if count is None else np.asarray(count, float)
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    lines, ids = np.unique(np.stack([place.ravel(), truth, said], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(ids.ravel(), count, minlength=len(lines))
    space = training.space if training is not None else support_of(cells).space
    rows = np.bincount(lines[:, 0], counts, minlength=len(cells))
    right = np.bincount(lines[:, 0], counts * (lines[:, 1] == lines[:, 2]), minlength=len(cells))
    both, where = np.unique(lines[:, :2], axis=0, return_inverse=True)
    names = tuple(f"c{k}" for k in range(classes))
    true = LabelTarget("y", names, both[:, 0], both[:, 1], np.bincount(where.ravel(), counts, minlength=len(both)))
    return Outcomes(
        tested=Support(space, np.asfortranarray(cells), rows, true, rows=int(rows.sum())),
        training=training,
        kind="label",
        classes=names,
        combination=lines[:, 0],
        truth=lines[:, 1],
        said=lines[:, 2],
        count=counts,
        total=right,
        squares=right,
        prediction_total=None,
        score=Score("accuracy", "higher"),
    )


SIZES = (12, 8)
CLASSES = 4


def table(seed=0, sizes=SIZES, classes=CLASSES):
    """A training table whose class is the first factor's, and goes with the second; and what was left out."""
    rng = np.random.default_rng(seed)
    cells = every(sizes)
    label, goes = cells[:, 0] % classes, cells[:, 1] % classes
    kept = rng.random(len(cells)) < np.where(label == goes, 0.95, 0.35)
    kept |= (cells[:, 0] == 0) | (cells[:, 1] == 0)
    target = LabelTarget(
        "y",
        tuple(f"c{k}" for k in range(classes)),
        np.arange(int(kept.sum())),
        label[kept],
        np.where(label == goes, 12.0, 4.0)[kept],
    )
    space = support_of(cells, sizes=sizes).space
    training = Support(space, np.asfortranarray(cells[kept]), target.count, target)
    return training, cells[~kept], label[~kept]


def brute_memory(training, cell, classes):
    """Votes of the nearest seen combinations, one at a time."""
    target = training.target
    votes = np.zeros(classes)
    shared = (training.codes == cell).sum(axis=1)
    own = {int(c): [] for c in target.combination[target.count > 0]}
    for c, label, count in zip(target.combination, target.label, target.count, strict=True):
        if count > 0:
            own[int(c)].append((count, int(label)))
    most = max(shared[c] for c in own)
    for c, answers in own.items():
        if shared[c] == most:
            best = max(count for count, _ in answers)
            winners = [label for count, label in answers if count == best]
            for label in winners:
                votes[label] += sum(count for count, _ in answers) / len(winners)
    return votes / votes.sum()


def brute_alone(training, factor, value, classes):
    """The commonest class of one value; ties share."""
    target = training.target
    votes = np.zeros(classes)
    for c, label, count in zip(target.combination, target.label, target.count, strict=True):
        votes[label] += count * (training.codes[c, factor] == value)
    return (votes == votes.max()) / (votes == votes.max()).sum()


def planted(training, codes, truth, shares, *, rows=20, seed=0, knows=0.5, classes=CLASSES):
    """A model that knows half of the answers and else follows a habit; and each habit's share of the errors."""
    rng = np.random.default_rng(seed)
    lines, caused = [], dict.fromkeys(shares, 0)
    for cell, true in zip(codes, truth, strict=True):
        said_by = {
            "memory": lambda cell=cell: brute_memory(training, cell, classes),
            "shortcut": lambda cell=cell: brute_alone(training, 1, cell[1], classes),
            "neither": lambda true=true: (np.arange(classes) != true) / (classes - 1),
        }
        votes = {habit: said_by[habit]() for habit in shares}
        for _ in range(rows):
            habit = rng.choice(list(shares), p=list(shares.values()))
            said = true if rng.random() < knows else rng.choice(classes, p=votes[habit])
            lines.append((cell, true, said))
            caused[habit] += int(said != true)
    where, true, said = zip(*lines, strict=True)
    errors = sum(caused.values())
    outcomes = label_outcomes(training, where, true, said, classes=classes)
    return outcomes, {habit: count / errors for habit, count in caused.items()}


def share(found, name):
    return next(one for one in found.shares if one.name == name)


NAMES = {"memory": "memory", "shortcut": "shortcut: f1", "neither": "neither"}


@pytest.mark.parametrize(
    "shares",
    [
        {"memory": 1.0},
        {"shortcut": 1.0},
        {"neither": 1.0},
        {"memory": 0.8, "shortcut": 0.2},
        {"shortcut": 0.7, "neither": 0.3},
    ],
    ids=str,
)
def test_planted_causes_come_back(shares):
    outcomes, caused = planted(*table(), shares)
    found = anatomy(outcomes)
    assert sum(one.share for one in found.shares) == pytest.approx(1)
    for habit, expected in caused.items():
        one = share(found, NAMES[habit])
        assert one.share == pytest.approx(expected, abs=0.15)
        assert one.low <= expected <= one.high
    most = max(caused, key=caused.get)
    assert found.shares[0].name == NAMES[most]
    assert found.leading == NAMES[most] or (found.leading is None and caused[most] < 0.8)  # too close to call


def test_the_verdict_says_it():
    outcomes, _ = planted(*table(), {"shortcut": 1.0})
    found = anatomy(outcomes)
    assert found.verdict.startswith(f"Of {found.errors:.0f} errors on unseen combinations, ")
    assert found.verdict.endswith("are put down to a shortcut: the answer that f1 alone predicts.")
    assert found.examples[0].explanation == "shortcut: f1"
    first = found.examples[0]
    assert first.said == f"c{int(first.combination['f1']) % CLASSES}"
    assert first.truth == f"c{int(first.combination['f0']) % CLASSES}"


def test_it_is_plain_data():
    outcomes, _ = planted(*table(), {"memory": 1.0})
    found = anatomy(outcomes)
    assert revive(Anatomy, json.loads(json.dumps(asdict(found), allow_nan=False))) == found


def test_the_seed_decides_alone():
    outcomes, _ = planted(*table(), {"memory": 1.0})
    assert anatomy(outcomes, seed=3) == anatomy(outcomes, seed=3)
    assert anatomy(outcomes, seed=3) != anatomy(outcomes, seed=4)


def test_two_classes_are_told_apart_by_where_the_errors_are():
    training, codes, truth = table(sizes=(16, 16), classes=2)
    outcomes, _ = planted(training, codes, truth, {"shortcut": 1.0}, classes=2)
    found = anatomy(outcomes)
    assert found.leading == "shortcut: f1"
    assert share(found, "neither").share < 0.05
    outcomes, _ = planted(training, codes, truth, {"neither": 1.0}, classes=2, knows=0.7)
    found = anatomy(outcomes)
    assert found.leading == "neither"
    # every error fits the shortcut where that misleads: the base rate says that this is no evidence
    one = share(found, "shortcut: f1")
    assert one.among_errors == pytest.approx(one.by_chance, abs=0.1)
    assert one.share < 0.3


def test_a_coincidence_is_not_read_as_a_cause():
    """All errors agree with the second factor, but so would nearly any: the model is right where it misleads."""
    training, codes, truth = table(sizes=(16, 16), classes=2)
    misled = codes[:, 1] % 2 != truth
    said = np.where(misled & (np.arange(len(codes)) % 8 == 0), 1 - truth, truth)
    found = anatomy(label_outcomes(training, codes, truth, said))
    one = share(found, "shortcut: f1")
    assert (one.among_errors, one.fits) == (1.0, found.errors)
    assert one.by_chance > 0.85
    assert found.leading is None
    assert found.verdict.startswith("No single cause of the 10 errors on unseen combinations stands out: memory ")


def test_explanations_that_coincide_are_not_told_apart():
    """Both factors say the same class everywhere: no answer can tell which of them it was."""
    cells = every((20, 20))
    same = cells[:, 0] // 10 == cells[:, 1] // 10
    seen = same & ((cells[:, 0] + cells[:, 1]) % 2 == 0)
    training = labels(cells[seen], cells[seen][:, 0] // 10, classes=("c0", "c1"), sizes=(20, 20))
    asked = cells[same & ~seen]
    found = anatomy(label_outcomes(training, asked, np.full(len(asked), 2), asked[:, 0] // 10, classes=3))
    assert found.shares[0].habit == "unclear"
    assert found.shares[0].name == "memory or shortcut: f0 or shortcut: f1"
    assert "they give the same answers on every tested unseen combination" in found.cannot_tell[0]
    assert found.verdict.endswith("which give the same answers here.")


def test_two_explanations_can_be_firm_together():
    training, codes, truth = table(2, sizes=(30, 6), classes=2)
    outcomes, _ = planted(training, codes, truth, {"memory": 0.5, "shortcut": 0.5}, rows=10, seed=2, classes=2)
    found = anatomy(outcomes)
    assert found.leading is None
    assert found.together.names == ("memory", "shortcut: f1")
    assert found.together.low > max(share(found, name).low for name in found.together.names) + 0.2
    assert found.verdict.endswith("are put down to memory and shortcut: f1 together; how much to each cannot be told.")
    nothing, _ = planted(training, codes, truth, {"neither": 1.0}, rows=10, seed=2, classes=2)
    assert anatomy(nothing).together is None


def test_with_two_classes_a_shortcut_that_always_misleads_may_be_chance():
    """Every tested combination is unusual, so that each wrong answer is the one that the second factor gives."""
    cells = every((20, 20))
    usual = cells[:, 0] // 10 == cells[:, 1] // 10
    training = labels(cells[usual], cells[usual][:, 0] // 10, classes=("c0", "c1"), sizes=(20, 20))
    asked, truth = cells[~usual], cells[~usual][:, 0] // 10
    found = anatomy(label_outcomes(training, asked, truth, np.where(asked.sum(axis=1) % 2, truth, 1 - truth)))
    assert found.leading is None
    assert found.cannot_tell[0] == (
        "shortcut: f1 or neither: it gives every wrong answer that can be given to the tested unseen combinations; "
        "some on which it is right would tell"
    )
    assert found.cannot_tell[0] in found.verdict


def test_no_errors():
    training, codes, truth = table()
    found = anatomy(label_outcomes(training, codes, truth, truth, classes=CLASSES))
    assert (found.errors, found.shares, found.leading) == (0.0, (), None)
    assert found.verdict == f"There are no errors on the {len(codes)} unseen combinations: nothing is to be explained."


def test_no_unseen_combination():
    training, _, _ = table()
    found = anatomy(label_outcomes(training, training.codes, np.zeros(len(training), int), np.ones(len(training), int)))
    assert found.verdict == "No unseen combination was tested, so there are no errors to explain."
    assert found.combinations == 0


def test_few_combinations_get_no_interval():
    training, codes, truth = table()
    found = anatomy(label_outcomes(training, codes[:4], truth[:4], (truth[:4] + 1) % CLASSES, classes=CLASSES))
    assert found.leading is None
    assert all(one.low is None and one.high is None for one in found.shares)
    assert (
        found.verdict == "The 4 errors on unseen combinations lie on 4 combinations: too few to tell why they happen."
    )


def test_a_training_table_without_answers():
    training, codes, truth = table()
    silent = LabelTarget("y", training.target.classes, np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    training = Support(training.space, training.codes, training.counts, silent)
    found = anatomy(label_outcomes(training, codes, truth, (truth + 1) % CLASSES, classes=CLASSES))
    assert found.verdict == f"The {len(codes)} errors cannot be explained: the training table has no answers."


def test_what_cannot_be_asked():
    training, codes, truth = table()
    plain = Support(training.space, training.codes, training.counts)
    assert anatomy(label_outcomes(None, codes, truth, truth, classes=CLASSES)) is None
    assert anatomy(label_outcomes(plain, codes, truth, truth, classes=CLASSES)) is None
    priced = numbers(training.codes, np.arange(len(training)), sizes=SIZES)
    assert anatomy(label_outcomes(priced, codes, truth, truth, classes=CLASSES)) is None


def test_novel_combinations_are_left_out():
    training, codes, truth = table()
    known = training.subset(np.flatnonzero(training.codes[:, 0] != 5))
    outcomes = label_outcomes(known, codes, truth, (truth + 1) % CLASSES, classes=CLASSES)
    assert anatomy(outcomes).combinations == int((codes[:, 0] != 5).sum())


def test_counts_by_hand():
    """Two factors of three values; the third column and row are seen in one place only."""
    training = labels([[0, 0], [0, 1], [1, 0], [2, 0]], [0, 1, 0, 2], classes=("c0", "c1", "c2"), sizes=(3, 3))
    training = Support(
        training.space,
        training.codes,
        training.counts,
        LabelTarget("y", ("c0", "c1", "c2"), np.arange(4), np.array([0, 1, 0, 2]), np.array([1.0, 1.0, 3.0, 1.0])),
    )
    # (1, 1): nearest are (0, 1) -> c1 once, (1, 0) -> c0 three times; alone: f0 -> c0, f1 -> c1; commonest c0
    outcomes = label_outcomes(training, [[1, 1]] * 4, [2] * 4, [0, 0, 1, 2], classes=3)
    lines = unseen_lines(outcomes)
    found = {one.name: one.probability.tolist() for one in explanations(training, lines)}
    assert lines.said.tolist() == [0, 1, 2]
    assert found["memory"] == [0.75, 0.25, 0.0]
    assert found["shortcut: f0"] == [1.0, 0.0, 0.0]
    assert found["shortcut: f1"] == [0.0, 1.0, 0.0]
    assert found["commonest"] == [1.0, 0.0, 0.0]
    result = anatomy(outcomes)
    assert (result.errors, result.right) == (3.0, 1.0)
    memory = share(result, "memory")
    assert (memory.fits, memory.only, memory.among_errors, memory.among_right) == (3.0, 0.0, 1.0, 0.0)
    assert memory.by_chance == 1.0  # either wrong class would do
    assert share(result, "shortcut: f1").by_chance == 0.5
    assert (result.several, result.none) == (3.0, 0.0)


@st.composite
def label_tables(draw):
    """Random training tables with several classes in one combination, and random unseen combinations."""
    width = draw(st.integers(1, 4))
    sizes = draw(st.tuples(*[st.integers(2, 4)] * width))
    cells = every(sizes)
    kept = draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)).filter(any))
    seen = cells[np.array(kept)]
    classes = draw(st.integers(2, 4))
    pairs = draw(
        st.lists(
            st.tuples(st.integers(0, len(seen) - 1), st.integers(0, classes - 1)), min_size=1, max_size=30, unique=True
        )
    )
    pairs = np.array(sorted(pairs))
    counts = np.array(draw(st.lists(st.integers(1, 3), min_size=len(pairs), max_size=len(pairs))), float)
    target = LabelTarget("y", tuple(f"c{k}" for k in range(classes)), pairs[:, 0], pairs[:, 1], counts)
    training = Support(support_of(cells, sizes=sizes).space, np.asfortranarray(seen), np.ones(len(seen)), target)
    return training, cells[~np.array(kept)], classes


@examples(150)
@given(label_tables())
def test_habits_equal_their_twins(drawn):
    training, asked, classes = drawn
    memory = SeenClasses.of(training, training.target, classes)
    for cell, votes in zip(asked, memory.nearest(np.asfortranarray(asked)), strict=True):
        answered = training.codes[np.unique(training.target.combination)]
        if (answered == cell).any():  # where nothing is shared with any answer, memory says anything
            assert votes == pytest.approx(brute_memory(training, cell, classes))
        else:
            assert votes == pytest.approx(1 / classes)
    novel = np.array([[not (training.codes[:, k] == v).any() for k, v in enumerate(c)] for c in asked], bool)
    asked = asked[~novel.any(axis=1)] if len(asked) else asked
    if not len(asked):
        return
    said = np.arange(len(asked)) % classes
    lines = unseen_lines(label_outcomes(training, asked, (said + 1) % classes, said, classes=classes))
    for one in explanations(training, lines):
        if one.habit == "shortcut":
            factor = training.space.position(one.factors[0])
            votes = [brute_alone(training, factor, lines.codes[c][factor], classes) for c in lines.combination]
            assert one.probability == pytest.approx([v[s] for v, s in zip(votes, lines.said, strict=True)])
            assert one.allowed.tolist() == [
                int((v > 0).sum() - (v[t] > 0)) for v, t in zip(votes, lines.truth, strict=True)
            ]


def test_some_combinations_at_a_time_give_the_same(monkeypatch):
    outcomes, _ = planted(*table(), {"memory": 1.0})
    lines = unseen_lines(outcomes)
    whole = explanations(outcomes.training, lines)
    monkeypatch.setattr(habits, "_CELLS", 3 * CLASSES)
    for one, other in zip(whole, explanations(outcomes.training, lines), strict=True):
        assert np.array_equal(one.probability, other.probability)
        assert np.array_equal(one.allowed, other.allowed)


def test_rounded_patterns_hardly_move_the_shares(monkeypatch):
    outcomes, _ = planted(*table(), {"memory": 0.8, "shortcut": 0.2})
    exact = anatomy(outcomes)
    monkeypatch.setattr(habits, "_MOST_PATTERNS", 1)
    for one in anatomy(outcomes).shares:
        assert one.share == pytest.approx(share(exact, one.name).share, abs=0.01)


def test_the_shares_are_the_likeliest():
    """No step away from what was found makes the answers likelier."""
    rng = np.random.default_rng(0)
    patterns = rng.random((30, 4))
    weights = rng.integers(1, 9, (30, 1)).astype(float)
    rho = habits._likeliest(patterns, weights, np.full((4, 1), 0.25), steps=5_000, close=1e-10)
    best = float(weights[:, 0] @ np.log(patterns @ rho[:, 0]))
    for _ in range(200):
        other = 0.99 * rho[:, 0] + 0.01 * rng.dirichlet(np.ones(4))
        assert float(weights[:, 0] @ np.log(patterns @ other)) <= best + 1e-6
