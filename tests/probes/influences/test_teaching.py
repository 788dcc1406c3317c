"""What seen combinations taught: exact where it can be worked out again, near where networks are trained again."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.nn import functional

from recombine.base.errors import SettingError
from recombine.numerics.rank_correlation import Rank
from recombine_lab.models import MLP
from recombine_lab.probes.influence_probe import training_influence
from recombine_lab.probes.influence_probe.influence_functions import taught
from recombine_lab.probes.influence_probe.influence_summary import Summed
from recombine_lab.probes.influence_probe.module_answers import LOSSES, Network
from recombine_lab.probes.influence_probe.probe_examples import ProbeExamples
from recombine_lab.probes.influence_probe.retraining import left_out
from recombine_lab.probes.influence_probe.training_influence import taught_by_dattri
from recombine_lab.probes.influence_probe.verdict import said_of_teaching
from recombine_lab.tasks import Addition
from tests.probes.flat import influence

RIDGE = 0.05


class Grid:
    """A 4 x 4 table with noisy one-hot inputs and a numeric target; (3, 3) is unseen."""

    def __init__(self, n: int = 150, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.codes = rng.integers(0, 4, (n, 2))
        eye = np.eye(4)
        self.x = np.hstack([eye[self.codes[:, 0]], eye[self.codes[:, 1]]]) + 0.3 * rng.normal(size=(n, 8))
        self.y = self.x @ rng.normal(size=8) + 0.2 * self.codes.prod(1) + 0.3 * rng.normal(size=n)
        self.unseen = (self.codes == 3).all(1)

    def examples(self, rows) -> ProbeExamples:
        table = pa.table({"a": self.codes[rows, 0], "b": self.codes[rows, 1]})
        return ProbeExamples(torch.from_numpy(self.x[rows]), torch.from_numpy(self.y[rows])[:, None], table)

    def solved(self, rows, ridge: float) -> np.ndarray:
        x, y = self.x[rows], self.y[rows]
        return np.linalg.solve(2 * x.T @ x / len(x) + ridge * np.eye(8), 2 * x.T @ y / len(x))

    def module(self, ridge: float) -> nn.Module:
        made = nn.Linear(8, 1, bias=False).double()
        made.weight.data = torch.from_numpy(self.solved(~self.unseen, ridge))[None]
        return made

    def left_out(self, ridge: float, combinations) -> np.ndarray:
        """The loss at the unseen combination after solving again without each seen one, less before."""

        def loss(rows):
            return np.mean((self.x[self.unseen] @ self.solved(rows, ridge) - self.y[self.unseen]) ** 2)

        return np.array([loss(~self.unseen & (self.codes != [c["a"], c["b"]]).any(1)) for c in combinations]) - loss(
            ~self.unseen
        )


@pytest.mark.parametrize("ridge", [0.0, RIDGE, 1.0])
@pytest.mark.parametrize("curvature", ["gauss-newton", "hessian"])
def test_a_linear_model_equals_leaving_out_and_solving_again(ridge, curvature):
    grid = Grid()
    settings = {"weight_decay": ridge, "damping": 0.0, "curvature": curvature}
    found = taught(grid.module(ridge), grid.examples(~grid.unseen), grid.examples(grid.unseen), **settings)
    truth = grid.left_out(ridge, found.seen)
    assert found.influence[0] == pytest.approx(truth, abs=1e-10)
    assert len(found.seen) == 15
    assert np.abs(found.first_order[0] - truth).max() > 1e-3, "the usual influence function forgets the leverage"
    assert spearmanr(found.first_order[0], truth).statistic > 0.9


def test_one_row_each_is_the_known_correction_by_leverage():
    """Without a row least squares predicts y - r / (1 - h) there: the textbook's leave-one-out."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    leverage = np.diag(x @ np.linalg.inv(x.T @ x) @ x.T)
    residual = y - x @ weights
    module = nn.Linear(3, 1, bias=False).double()
    module.weight.data = torch.from_numpy(weights)[None]
    rows = ProbeExamples(torch.from_numpy(x), torch.from_numpy(y)[:, None], pa.table({"row": np.arange(30)}))
    found = taught(module, rows, rows, damping=0.0)
    own = np.diag(found.influence)
    assert own == pytest.approx((residual / (1 - leverage)) ** 2 - residual**2, abs=1e-10)
    first = np.diag(found.first_order)
    assert first == pytest.approx(2 * residual**2 * leverage, abs=1e-10)


def test_from_the_start_of_training_it_equals_gradient_descent_that_fits_every_row():
    """More weights than rows: gradient descent ends at the nearest solution to its start, with every row fitted."""
    rng = np.random.default_rng(1)
    x, y = torch.from_numpy(rng.normal(size=(6, 20))), torch.from_numpy(rng.normal(size=(6, 1)))
    start = nn.Linear(20, 1, bias=False).double()

    def ended(rows):
        made = nn.Linear(20, 1, bias=False).double()
        left = y[rows] - x[rows] @ start.weight.T
        made.weight.data = start.weight.data + (torch.linalg.pinv(x[rows]) @ left).T
        return made

    seen = ProbeExamples(x[:5], y[:5], pa.table({"row": np.arange(5)}))
    asked = ProbeExamples(x[5:], y[5:], pa.table({"row": [5]}))
    found = taught(ended(list(range(5))), seen, asked, start=start, damping=1e-9)
    base = functional.mse_loss(ended(list(range(5)))(x[5:]), y[5:])
    truth = [
        float((functional.mse_loss(ended([k for k in range(5) if k != out])(x[5:]), y[5:]) - base).detach())
        for out in range(5)
    ]
    assert found.influence[0] == pytest.approx(truth, abs=1e-5)
    usual = taught(ended(list(range(5))), seen, asked, damping=1e-9)
    assert np.abs(usual.first_order).max() < 1e-6, "where every row is fitted, the usual one has nothing to go by"


def test_logistic_regression_is_near_what_training_again_gives():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (400, 2))
    x = torch.from_numpy(np.hstack([np.eye(4)[codes[:, 0]], np.eye(4)[codes[:, 1]]]))
    y = torch.from_numpy((codes.sum(1) + rng.normal(size=400) > 3).astype(np.int64))
    unseen = (codes == 2).all(1)

    def trained(rows):
        made = nn.Linear(8, 2).double()
        nn.init.zeros_(made.weight)
        nn.init.zeros_(made.bias)
        best = torch.optim.LBFGS(made.parameters(), max_iter=100, tolerance_grad=1e-10)

        def closure():
            best.zero_grad()
            weights = torch.cat([weight.flatten() for weight in made.parameters()])
            loss = functional.cross_entropy(made(x[rows]), y[rows]) + 0.01 / 2 * weights.square().sum()
            loss.backward()
            return loss

        best.step(closure)
        return made

    rows = np.flatnonzero(~unseen)
    examples = [
        ProbeExamples(x[some], y[some], pa.table({"a": codes[some, 0], "b": codes[some, 1]}))
        for some in (rows, np.flatnonzero(unseen))
    ]
    settings = {"seen": examples[0], "unseen": examples[1], "weight_decay": 0.01, "damping": 0.0}
    found = influence(trained(rows), **settings, train=lambda kept: trained(rows[kept]))
    assert found.value("rank correlation with training again") > 0.97
    assert found.grade in ("sound", "plausible")
    table = found.tables["combinations"].to_pandas()
    known = table.dropna(subset="retrained")
    assert len(known) == 12
    assert (known["influence"] - known["retrained"]).abs().max() < 0.05 * known["retrained"].abs().max() + 1e-3
    assert {"unseen a", "seen b", "shared", "rows", "first_order"} <= set(table.columns)


@pytest.mark.slow
def test_a_small_network_against_training_again_without_each_combination():
    """All networks as one batched `fit`, from one start. Where rows are fitted the usual influence function is lost."""
    task, model = Addition(values=5, anchors=(-2, 0)), MLP(hidden=(48,), initialisation="he")
    again = left_out(task, "own", model, {"steps": 500, "lr": 0.05, "optimiser": "sgd"})
    found, truth = taught(again.run.module(), again.seen, again.unseen, start=again.start), again.change
    exact = spearmanr(truth.ravel(), found.influence.ravel()).statistic
    usual = spearmanr(truth.ravel(), found.first_order.ravel()).statistic
    assert exact > 0.8
    assert exact > usual + 0.2


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_and_curvatures_of_losses_equal_autograd(name):
    torch.manual_seed(0)
    outputs = torch.randn(5, 3, dtype=torch.float64)
    targets = torch.tensor([0, 2, 1, 1, 0]) if name == "cross_entropy" else torch.randn(5, 3, dtype=torch.float64)
    rule = LOSSES[name]
    value = (
        functional.cross_entropy(outputs, targets) if name == "cross_entropy" else functional.mse_loss(outputs, targets)
    )
    assert float(rule.value(outputs, targets).mean()) == pytest.approx(float(value))
    root = rule.root(outputs)
    for k in range(5):
        of_row = lambda one, k=k: rule.value(one[None], targets[k : k + 1])[0]  # noqa: E731
        assert torch.allclose(torch.autograd.functional.jacobian(of_row, outputs[k]), rule.slope(outputs, targets)[k])
        hessian = torch.autograd.functional.hessian(of_row, outputs[k])
        assert torch.allclose(hessian, root[k] @ root[k].T, atol=1e-12)


def test_a_single_logit_is_the_same_as_two_scores():
    rng = np.random.default_rng(0)
    x, y = torch.from_numpy(rng.normal(size=(40, 3))), torch.from_numpy(rng.integers(0, 2, 40))
    one, two = nn.Linear(3, 1, bias=False).double(), nn.Linear(3, 2, bias=False).double()
    two.weight.data = torch.cat([-one.weight.data / 2, one.weight.data / 2])
    rows = ProbeExamples(x, y, pa.table({"a": np.arange(40) % 4}))
    # two scores move along (-w, w) only: half the damping is the same pull
    single, double = taught(one, rows, rows, damping=0.02), taught(two, rows, rows, damping=0.04)
    assert single.influence == pytest.approx(double.influence, rel=1e-6, abs=1e-9)


class Squaring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class ByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.second(Squaring.apply(self.first(x)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.read = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.read(self.lstm(x[:, None])[0][:, -1])


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.read = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.read(torch.tanh(self.second(torch.tanh(self.first(x)))))


@pytest.mark.parametrize(
    "made",
    [
        ByHand,
        Recurrent,
        Tied,
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2)),
        lambda: nn.Linear(3, 2).bfloat16(),
    ],
    ids=["autograd by hand", "lstm", "tied", "batch norm and dropout", "bfloat16"],
)
def test_jacobians_of_any_module_equal_small_differences(made):
    torch.manual_seed(0)
    network = Network.of(made())
    inputs = torch.randn(4, 3)
    found = torch.cat([part for _, part in network.jacobians(inputs)])
    base, flat = network.outputs(inputs), network.flat
    for k in range(0, len(flat), 5):
        moved = flat.clone()
        moved[k] += 1e-6
        apart = (network.outputs(inputs, network.shaped(moved)) - base) / 1e-6
        assert torch.allclose(apart, found[:, :, k], atol=1e-4)


def test_a_combination_that_alone_holds_a_weight_is_not_guessed():
    """Without it nothing says what the weight is: not a number, rather than a wrong one."""
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).double()
    rows = ProbeExamples(x, torch.tensor([[1.0], [2.0], [3.0]]).double(), pa.table({"a": [0, 1, 2]}))
    module = nn.Linear(2, 1, bias=False).double()
    module.weight.data = torch.tensor([[1.5, 3.0]]).double()
    found = taught(module, rows, rows, damping=0.0)
    assert np.isnan(found.influence[:, 2]).all()
    assert np.isfinite(found.influence[:, :2]).all()
    assert found.table()["influence"].null_count == 3


def test_neighbours_are_found_where_they_taught_and_only_there():
    """Effects of values, no row in common: only combinations that share a value can have taught it."""
    codes = np.array([(a, b) for a in range(5) for b in range(5)])
    rng = np.random.default_rng(0)
    x = torch.from_numpy(np.hstack([np.eye(5)[codes[:, 0]], np.eye(5)[codes[:, 1]]])).float()
    y = torch.from_numpy(codes.sum(1) + rng.normal(size=25))[:, None].float()
    seen = np.array([k for k in range(25) if codes[k].sum() % 3])
    unseen = np.array([k for k in range(25) if codes[k].sum() % 3 == 0])
    module = nn.Linear(10, 1)
    module.weight.data = torch.linalg.lstsq(x[seen], y[seen] - y[seen].mean(), driver="gelsd").solution.T
    module.bias.data = y[seen].mean(0)
    rows = [(x[some], y[some], {"a": codes[some, 0], "b": codes[some, 1]}) for some in (seen, unseen)]
    found = influence(module, seen=rows[0], unseen=rows[1], weight_decay=0.01)
    assert found.outcome == "neighbours"
    assert found.grade == "weak", "nothing was trained again"
    shuffled = rng.permutation(len(seen))
    mixed = (x[seen], y[seen], {"a": codes[seen[shuffled], 0], "b": codes[seen[shuffled], 1]})
    assert influence(module, seen=mixed, unseen=rows[1], weight_decay=0.01).outcome == "spread"
    assert "worked out and not tried" in " ".join(found.reasons)


def test_a_training_that_says_otherwise_makes_it_unclear():
    """Trained again at random, nothing is confirmed: the probe must not say that neighbours taught it."""
    grid = Grid()
    torch.manual_seed(0)
    found = influence(
        grid.module(RIDGE),
        seen=grid.examples(~grid.unseen),
        unseen=grid.examples(grid.unseen),
        weight_decay=RIDGE,
        train=lambda rows: nn.Linear(8, 1, bias=False),
    )
    assert found.outcome == "unclear"
    assert found.grade == "untested"
    assert found.verdict.startswith("It cannot be told who taught it: trained again without 12 combinations")
    assert "rank correlation" in found.verdict


def summary(share, null, rank=None):
    return Summed("a=1", "a=2", 0.1, 0.2, share, None, null, rank, 12)


def test_less_than_a_point_beyond_chance_is_chance():
    assert said_of_teaching(summary(0.8767, (0.03, 0.8759))).outcome == "spread"
    assert said_of_teaching(summary(0.8959, (0.03, 0.8759))).outcome == "neighbours"
    assert said_of_teaching(summary(0.025, (0.03, 0.8759))).outcome == "spread"
    assert said_of_teaching(summary(0.01, (0.03, 0.8759))).outcome == "elsewhere"


@pytest.mark.parametrize(
    ("found", "start"),
    [
        (summary(0.9, (0.1, 0.5), Rank(0.2, -0.1, 0.5, 12)), "It cannot be told who taught it"),
        (summary(0.9, (0.1, 0.5), Rank(None, None, None, 3)), "It cannot be told who taught it"),
        (summary(None, None), "Whether neighbours taught it more than others cannot be told"),
    ],
)
def test_what_is_unclear_begins_by_saying_so(found, start):
    said = said_of_teaching(found)
    assert said.outcome == "unclear"
    assert said.verdict.startswith(start)
    assert "As worked out, what it says of a=1 hangs most on a=2" in said.verdict


@pytest.mark.slow
def test_beside_dattri_on_the_same_linear_model():
    pytest.importorskip("dattri", reason="dattri is not installed: pip install --group peers")
    grid = Grid()
    module, seen, unseen = grid.module(RIDGE), grid.examples(~grid.unseen), grid.examples(grid.unseen)
    ours = taught(module, seen, unseen, weight_decay=RIDGE, damping=0.0)
    theirs = taught_by_dattri(module, seen, unseen, weight_decay=RIDGE, damping=0.0)
    assert theirs.first_order == pytest.approx(ours.first_order, rel=1e-4, abs=1e-6)
    large = influence(module, seen=seen, unseen=unseen, weight_decay=RIDGE, damping=0.0, method="dattri")
    assert "dattri" in " ".join(large.reasons)


def test_without_dattri_it_is_said_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name="dattri")

    monkeypatch.setattr(training_influence, "import_module", absent)
    grid = Grid()
    with pytest.raises(SettingError, match="pip install dattri"):
        influence(
            grid.module(0.0), seen=grid.examples(~grid.unseen), unseen=grid.examples(grid.unseen), method="dattri"
        )


GRID = Grid()
SEEN, UNSEEN = GRID.examples(~GRID.unseen), GRID.examples(GRID.unseen)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"unseen": None}, "no unseen"),
        ({"seen": None}, "no seen"),
        ({"seen": 3}, "seen=int"),
        ({"seen": (SEEN.inputs, SEEN.targets[:4], SEEN.table)}, "targets with 4 rows"),
        ({"seen": GRID.examples((GRID.codes == 1).all(1))}, "one seen combination"),
        ({"unseen": (UNSEEN.inputs, UNSEEN.targets, {"c": GRID.codes[GRID.unseen, 0]})}, "no factor in common"),
        ({"loss": "hinge"}, "loss='hinge'"),
        ({"damping": -1.0}, "damping=-1.0"),
        ({"model": nn.Linear(8, 2_000), "method": "exact"}, "18,000 weights"),
        ({"start": nn.Linear(8, 2)}, "start with 18 weights"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(given, said):
    with pytest.raises(SettingError, match=said):
        influence(**({"model": GRID.module(0.0), "seen": SEEN, "unseen": UNSEEN} | given))


def test_a_hessian_without_a_minimum_is_refused():
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    with pytest.raises(SettingError, match="without positive curvature"):
        taught(network, SEEN, UNSEEN, curvature="hessian", damping=0.0)
