"""What comparisons come to: whole intervals decide, and nothing is decided without one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recombine_studies import registration
from recombine_studies.catalogue import STUDIES, study_of
from recombine_studies.claims import (
    OUTCOMES,
    SHARE,
    UNBOUNDED,
    Comparison,
    exact,
    outcome_of,
    over_seeds,
    supposing,
    told,
    within,
)
from recombine_studies.study import study_texts
from recombine_studies.study_result import grade_of, verdict_of
from tests.studies.made import a_study

finite = st.floats(-1e3, 1e3)


@given(st.lists(finite, min_size=3, max_size=20))
def test_the_interval_is_students(values):
    found = over_seeds("x", values, ">", 0.0, UNBOUNDED)
    mean, spread = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    low, high = stats.t.interval(0.95, len(values) - 1, loc=mean, scale=spread) if spread > 0 else (mean, mean)
    assert (found.value, found.low, found.high) == pytest.approx((mean, low, high), abs=1e-6)
    assert found.n == len(values)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=8), st.sampled_from([">=", ">", "<=", "<"]), st.floats(0.01, 0.99)
)
def test_an_interval_stays_within_the_bounds_of_its_measure_and_decides_as_before(values, rule, threshold):
    free, found = (over_seeds("x", values, rule, threshold, bounds) for bounds in (UNBOUNDED, SHARE))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((max(free.low, 0), min(free.high, 1)))
    assert found.state == free.state


@pytest.mark.parametrize(
    ("rule", "low", "high", "state"),
    [
        (">=", 0.5, 0.7, "passes"),
        (">=", 0.4, 0.7, "open"),
        (">=", 0.3, 0.49, "fails"),
        (">", 0.5, 0.7, "open"),
        (">", 0.4, 0.5, "fails"),
        ("<=", 0.3, 0.5, "passes"),
        ("<=", 0.51, 0.6, "fails"),
        ("<", 0.3, 0.5, "open"),
        ("<", 0.5, 0.6, "fails"),
        ("<", 0.3, 0.49, "passes"),
    ],
)
def test_whole_intervals_decide(rule, low, high, state):
    assert within("x", (low + high) / 2, low, high, rule, 0.5, n=3).state == state


@given(finite, finite, finite, st.sampled_from([">=", ">", "<=", "<"]))
def test_a_comparison_is_never_both(a, b, threshold, rule):
    low, high = sorted((a, b))
    state = within("x", low, low, high, rule, threshold, n=3).state
    truths = {eval(f"{end!r} {rule} {threshold!r}") for end in (low, high)}
    assert state == ("passes" if truths == {True} else "fails" if truths == {False} else "open")


def test_two_seeds_and_unknown_numbers_decide_nothing():
    assert over_seeds("x", [0.9, 0.91], ">", 0.5, SHARE).state == "open"
    assert over_seeds("x", [0.9, float("nan"), 0.91], ">", 0.5, SHARE).n == 2
    assert over_seeds("x", [], ">", 0.5, SHARE).words() == "x not known"
    assert exact("x", None, ">", 0.5).state == "open"


PLAINLY = {
    "passes": exact("x", 1.0, ">", 0.5),
    "fails": exact("x", 0.0, ">", 0.5),
    "open": exact("x", None, ">", 0.5),
    "not applicable": supposing(exact("x", 1.0, ">", 0.5), "seen", [0.1], ">=", 0.9),
}


@given(st.lists(st.sampled_from(list(PLAINLY)), max_size=6))
def test_an_outcome_by_counting(states):
    comparisons = [PLAINLY[state] for state in states]
    assert [one.state for one in comparisons] == states
    held, failed, left = states.count("passes"), states.count("fails"), states.count("not applicable")
    counted = len(states) - left
    if left and not counted:
        expected = "not applicable"
    elif counted and held == counted:
        expected = "holds"
    elif held and failed:
        expected = "mixed"
    elif held and held >= counted / 2:
        expected = "holds in part"
    else:
        expected = "does not hold" if failed else "not enough evidence"
    assert outcome_of(comparisons) == expected


def test_one_pass_among_many_is_held_to_the_number_of_comparisons():
    noise = [over_seeds("noise", [-1.0, 0.2, 0.9, 0.1], ">", 0.0, UNBOUNDED)] * 223
    lucky = over_seeds("cell", [0.5, 0.9, 0.6, 1.0], ">", 0.0, UNBOUNDED)
    assert lucky.state == "passes"
    assert outcome_of([lucky, *noise]) == "not enough evidence", "one cell of 224"


@given(st.lists(finite, min_size=3, max_size=9), st.integers(1, 300))
def test_a_comparison_of_many_has_the_interval_at_their_share_of_the_error(values, many):
    found = over_seeds("x", values, ">", 0.0, UNBOUNDED).as_one_of(many)
    mean, spread = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    low, high = stats.t.interval(1 - 0.05 / many, len(values) - 1, mean, spread) if spread > 0 else (mean, mean)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)


def test_noise_rarely_comes_to_anything_however_many_comparisons_there_are():
    rng = np.random.default_rng(0)
    said = [
        outcome_of([over_seeds("x", row, ">", 0.0, UNBOUNDED) for row in rng.normal(size=(40, 3)).tolist()])
        for _ in range(200)
    ]
    assert np.mean([word != "not enough evidence" for word in said]) <= 0.08, "5 % are promised"


def test_networks_that_did_not_learn_are_no_evidence():
    gap = exact("unseen error", 0.9, ">=", 0.7)
    assert supposing(gap, "seen error", [0.02, 0.03], "<=", 0.1) is gap
    assert supposing(gap, "seen error", [], "<=", 0.1) is gap, "where nothing is known it stands"
    left = supposing(gap, "seen error", [0.6, 0.8], "<=", 0.1)
    assert left.state == "not applicable"
    assert left.words() == "unseen error: not applicable, seen error 0.7 where the claim supposes ≤ 0.1"


def test_what_decides_is_as_it_was_registered():
    """A threshold, a check or a budget that moves needs a dated line below `changes`, and `registration` run anew."""
    before = registration.registered()
    for name in STUDIES:
        study = study_of(name)
        assert before[name] == {"digest": registration.study_digest(study), "changes": len(study.changes)}, name


def test_a_change_without_a_line_is_refused():
    study = study_of("kernel")
    before = registration.registered()
    moved = replace(study, presets={**study.presets, "small": {**study.presets["small"], "lazy": 1}})
    with pytest.raises(SystemExit, match="'kernel' changed: add a dated line"):
        registration.register({"kernel": moved}, before)
    told = replace(moved, changes=(*moved.changes, "2026-12-01: fewer steps. Why: …"))
    assert registration.register({"kernel": told}, before)["kernel"]["changes"] == before["kernel"]["changes"] + 1


def test_the_sentence_counts_every_claim():
    found = a_study()
    assert found.verdict == ("Of 2 claims of Nobody (2026), 1 holds and 1 does not hold (3 runs; none is left out).")
    assert found.grade == "weak"
    assert verdict_of("Nobody", [], runs=0, diverged=0, missing=0).startswith("Of 0 claims")
    assert grade_of(found.findings, missing=1) == "untested", "what is missing could change it"
    assert "2 of which diverged" in verdict_of("Nobody", found.findings, runs=3, diverged=2, missing=0)


def test_many_comparisons_are_counted_and_the_failing_shown():
    shown = [exact(f"cell {k}", float(k), ">", 1.5) for k in range(9)]
    words = told(shown)
    assert words.startswith("of 9 comparisons 7 pass, 2 fail: cell 0 0; cell 1 1")
    assert all(isinstance(one, Comparison) for one in shown)
    assert OUTCOMES[0] == "holds"


def test_a_claim_without_a_check_is_refused_and_words_name_settings(tmp_path):
    words = tmp_path / "study.toml"
    claim = '[[claims]]\nname = "adds up"\nsays = "…"\nsource = "…"\nthreshold = "…"\n'
    words.write_text(f'title = "t"\npaper = "p"\nquestion = "q"\n[differs]\nsmall = ["{{size}} pixels"]\n{claim}')
    found = study_texts(words, {"adds up": lambda evidence: []}, {"small": {"size": 16}})
    assert (found["claims"][0].name, found["differs"]) == ("adds up", {"small": ["16 pixels"]})
    with pytest.raises(ValueError, match="adds down"):
        study_texts(words, {"adds down": lambda evidence: []}, {"small": {"size": 16}})
