"""Groups that hold the true class: the worst of them, with thin ones untested and never skipped."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recombine
from recombine.base.errors import SettingError
from recombine.numerics.intervals import lowest_share_intervals
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.evaluation import Evaluation, evaluate

FEW = IntervalSettings(draws=200)
RIGHT = {("land", "wood"): 0.98, ("land", "lake"): 0.9, ("water", "wood"): 0.55, ("water", "lake"): 0.95}


def birds(seed: int = 0, rows: int = 4_000, right=RIGHT) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(rows) < 0.7, "land", "water")
    usual = np.where(label == "land", "wood", "lake")
    other = np.where(label == "land", "lake", "wood")
    place = np.where(rng.random(rows) < 0.8, usual, other)
    good = rng.random(rows) < np.array([right[pair] for pair in zip(label, place, strict=True)])
    said = np.where(good, label, np.where(label == "land", "water", "land"))
    side = np.where(rng.random(rows) < 0.5, "train", "test")
    return pd.DataFrame({"bird": label, "place": place, "said": said, "split": side})


def found(frame, **given) -> Evaluation:
    asked = {"factors": ["bird", "place"], "target": "bird", "prediction": "said", "split": "split", "intervals": FEW}
    return evaluate(frame, **asked | given)


def test_the_worst_group_is_what_pandas_finds():
    frame = birds()
    test = frame[frame.split == "test"]
    groups = (test.bird == test.said).groupby([test.bird, test.place]).mean()
    ours = found(frame)
    assert ours.group.combination == {"bird": "water", "place": "wood"}
    assert ours.group.score == pytest.approx(groups.min())
    assert ours.group.low < ours.group.score < ours.group.high
    assert ours.share("worst") == ours.group.score
    assert not ours.thin("worst")
    assert ours.verdict.startswith(
        "Of 4 groups of bird, the true label, and place, the worst is bird=water, place=wood"
    )
    assert ", allowing for its being the worst of 4) of " in ours.verdict


@pytest.mark.parametrize("of", [4, 16, 40])
@pytest.mark.parametrize("world", ["alike", "differ", "one is bad"])
def test_the_interval_of_the_worst_group_knows_that_it_was_picked(world, of):
    rng, held = np.random.default_rng(of), []
    for _ in range(400):
        true = {
            "alike": np.full(of, 0.9),
            "differ": rng.beta(8, 2, of),
            "one is bad": np.where(np.arange(of) == 0, 0.5, 0.9),
        }[world]
        hits = rng.binomial(50, true).astype(float)
        low, high = lowest_share_intervals(hits, np.full(of, 50.0), IntervalSettings())
        place = hits.argmin()
        held.append(low[place] <= true[place] <= high[place])
    assert np.mean(held) >= 0.93


def lowest(hits: list[float], trials: list[float]) -> tuple[float, float]:
    """The interval of the first of some shares."""
    low, high = lowest_share_intervals(np.array(hits), np.array(trials), IntervalSettings())
    return low[0], high[0]


def test_the_intervals_of_picked_shares_are_those_of_a_twin():
    """One share after another, by scipy.stats."""
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 30, 16).astype(float)
    hits = rng.binomial(trials.astype(int), 0.8).astype(float)
    low, high = lowest_share_intervals(hits, trials, IntervalSettings())

    def end(place: int, share: float) -> float:
        if hits[place] == 0 and share < 0.5:
            return 0.0
        if hits[place] == trials[place] and share > 0.5:
            return 1.0
        return stats.beta(hits[place] + 0.5, trials[place] - hits[place] + 0.5).ppf(share)

    for place in range(16):
        top = end(place, 1 - 0.025 / 16)
        rivals = sum(end(other, 0.025 / 16) <= top for other in range(16))
        assert low[place] == pytest.approx(end(place, 0.025))
        assert high[place] == pytest.approx(end(place, 1 - 0.025 / rivals))


def test_a_group_alone_was_not_picked_and_one_far_below_has_no_rivals():
    alone, far = lowest([40.0], [50.0]), lowest([40.0, 500, 500, 500], [50.0, 500, 500, 500])
    near = lowest([40.0, 41, 41, 41], [50.0] * 4)
    assert alone == far
    assert near[0] == alone[0]
    assert near[1] > alone[1]


def test_of_perfect_groups_the_upper_end_is_1_and_of_hopeless_ones_the_lower_0():
    assert lowest([20.0] * 4, [20.0] * 4)[1] == 1.0
    assert lowest([0.0] * 4, [20.0] * 4)[0] == 0.0


def test_the_label_is_no_simple_rule():
    ours = found(birds())
    assert {one.rule for one in ours.baselines.found} == {"majority", "place alone (by rows)"}
    assert ours.group.baseline_name in ("majority", "place alone (by rows)")
    assert ours.group.baseline == 0.0


@pytest.mark.parametrize(
    ("right", "grade"),
    [(RIGHT, "plausible"), (dict.fromkeys(RIGHT, 0.96), "sound"), (RIGHT | {("water", "wood"): 0.2}, "failing")],
)
def test_the_grade_is_that_of_the_worst_group(right, grade):
    assert found(birds(right=right)).grade == grade


def test_a_constant_answer_fails_however_common_its_class():
    ours = found(birds().assign(said="land"))
    assert ours.grade == "failing"
    assert ours.group.score == 0.0


def test_a_thin_group_is_untested_and_never_skipped():
    frame = birds(right=dict.fromkeys(RIGHT, 0.96))
    odd = (frame.bird == "water") & (frame.place == "wood") & (frame.split == "test")
    ours = found(frame.drop(frame[odd].index[3:]))
    assert ours.group.thin == ({"bird": "water", "place": "wood"},)
    assert ours.grade == "untested"
    assert ours.thin("worst")
    assert "fewer than 10 tested rows: bird=water, place=wood" in ours.verdict
    ours = found(frame.drop(frame[odd].index))
    assert ours.group.missing == 1
    assert ours.grade == "untested"
    assert "1 more group has none" in ours.verdict


def test_it_is_saved_and_drawn(tmp_path):
    ours = found(birds())
    assert Evaluation.load(ours.save(tmp_path / "saved")) == ours
    page = ours.page(tmp_path / "groups.html").read_text()
    assert "of the answers in the worst group are right" in page


def test_a_number_makes_no_groups_and_other_verbs_still_refuse():
    with pytest.raises(SettingError, match="both a factor and a number"):
        found(birds(), target_kind="number")
    with pytest.raises(SettingError, match="both a factor and the target"):
        recombine.audit(birds(), factors=["bird", "place"], target="bird")
