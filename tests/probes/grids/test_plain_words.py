"""What is said where a measure cannot tell, where a mean is not sure, and where a layer never sees a factor."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from recombine_lab.probes.geometry_probe.kernel_measures import MeasuredInterval
from recombine_lab.probes.geometry_probe.verdict import _number
from tests.probes.flat import geometry
from tests.probes.grids.worlds import bumps, codes_of, corner, one_hot

N = 8


def of(features, **settings):
    codes = codes_of(N, N)
    return geometry(features, **({"table": {"x": codes[:, 0], "y": codes[:, 1]}, "repeats": 3} | settings))


def vectors(width=6):
    """The truth of few outputs: a vector for each value, side by side."""
    rng, codes = np.random.default_rng(3), codes_of(N, N)
    return np.concatenate([rng.standard_normal((N, width))[codes[:, k]] for k in range(2)], axis=1)


def anything_unseen(truth, seen, size=1.0):
    return np.where(seen[:, None], truth, size * np.random.default_rng(0).standard_normal(truth.shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inputs_that_are_no_numbers_are_refused_in_words(bad):
    given = torch.from_numpy(one_hot(N, N)).float()
    given[3:5, 2] = bad
    with pytest.raises(SettingError, match="NaN or infinity in 2 of 64 rows of the inputs"):
        of(nn.Linear(2 * N, 3), inputs=given)


def test_superposition_says_nothing_where_the_truth_is_one_too():
    """Seen neighbours span all twelve outputs: whatever is answered is a sum of theirs."""
    truth, seen = vectors(), codes_of(N, N).sum(axis=1) % 4 != 0
    found = of(anything_unseen(truth, seen), seen=seen, truth=truth)
    assert "Superposition cannot tell" in found.verdict
    assert "no mere sum" not in found.verdict
    assert (found.outcome, found.grade) == ("mixed", "failing")


def test_wrong_answers_fail_whatever_they_are_made_of():
    truth, seen = bumps(N), corner(N, N // 2)
    found = of(anything_unseen(truth, seen), seen=seen, truth=truth, rest=0.0)
    assert "not surely more, so superposition is not shown" in found.verdict
    assert (found.outcome, found.grade) == ("mixed", "failing")


def test_single_combinations_are_told_where_their_mean_is_not_sure():
    truth, seen = vectors(), corner(N, 5)
    found = of(anything_unseen(truth, seen), seen=seen, truth=truth)
    assert found.outcome == "unclear"
    assert "all 9 unseen combinations are worse than the trivial answer" in found.verdict
    assert "between right and wrong" not in found.verdict


def test_combinations_on_both_sides_stay_between_right_and_wrong():
    truth, seen = vectors(), corner(N, 5)
    answers = anything_unseen(truth, seen)
    answers[-1] = truth[-1]
    assert "between right and wrong" in of(answers, seen=seen, truth=truth).verdict


class Branches(nn.Module):
    """Each factor has a branch of its own, and nobody looks at both before the answer."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(N, 6), nn.Linear(N, 6)

    def forward(self, codes):
        return torch.cat([self.a(codes[:, :N]), self.b(codes[:, N:])], 1)


def test_a_branch_that_never_sees_a_factor_does_not_decide():
    torch.manual_seed(0)
    found = of(Branches(), inputs=torch.from_numpy(one_hot(N, N)).float())
    assert found.verdict.startswith("In the answer")
    assert "Layer 'b' does not vary with x." in found.verdict


def test_the_deepest_layer_that_sees_all_factors_decides():
    found = of({"both": one_hot(N, N), "branch": one_hot(N, N)[:, :N]})
    assert found.outcome == "apart"
    assert found.verdict.startswith("At layer 'both'")
    assert "Layer 'branch' does not vary with y." in found.verdict


def test_one_factor_alone_is_not_apart():
    found = of(one_hot(N, N)[:, :N])
    assert found.outcome == "unclear"
    assert "does not vary with y" in found.verdict


@pytest.mark.parametrize(("unlit", "said"), [(False, False), (True, True)])
def test_outputs_that_are_never_moved_are_told_where_there_are_some(unlit, said):
    truth = np.concatenate([vectors(), np.zeros((N * N, 1))], axis=1) if unlit else vectors()
    reasons = " ".join(of(truth, seen=corner(N, 5), truth=truth).reasons)
    assert ("never moved" in reasons) == said
    assert "in the span of the seen targets" in reasons


def test_what_rounding_leaves_is_said_without_digits():
    assert _number(MeasuredInterval(1.1e-15, 0.0, 3.19e-15)) == "under 0.0001"
    assert _number(MeasuredInterval(1.1e-15, 0.0, 0.2)) == "under 0.0001 (0 to 0.2)"
    assert _number(MeasuredInterval(0.0, 0.0, 0.0)) == "0"
    assert _number(MeasuredInterval(2.58, 1.42, 3.74)) == "2.58 (1.42 to 3.74)"
