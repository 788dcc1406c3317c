"""Runs of the lab: asked by themselves, paired in A, B and B-noise, and the toy's known answers."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import recombine_lab
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine_lab import fit
from recombine_lab.models import MLP
from recombine_lab.probes.influence_probe.factor_measures import counted_bits
from recombine_lab.probes.influence_probe.influence_figures import boundaries
from recombine_lab.probes.influence_probe.paired_experiment import _over_seeds, in_setting, paired
from recombine_lab.tasks import Addition, DigitPairs, Toy
from recombine_lab.tasks.conjunction_tasks import PartialExposure
from recombine_lab.tasks.exposure import split_of
from tests.probes.flat import influence
from tests.probes.influences.rules import BOTH, LARGER, OWN, TRAINING, toy

TOY = {"steps": 1024, "lr": 0.1, "optimiser": "sgd", "batch": 10, "evaluations": 4, "test_samples": 500}
HE = MLP(hidden=(8, 8, 8), initialisation="he")


@pytest.mark.slow
def test_the_paper_s_two_orderings_with_twenty_seeds():
    found = paired(Toy(), model=HE, recipe=TOY, seeds=20)
    assert found.value("unseen at the end", where="A") < 0.88
    assert found.value("unseen at the end", where="B") > 0.95
    assert found.value("gap", where="A less B") > 0.1
    assert found.value("gap: pairs that agree", where="A less B") >= 0.9
    assert found.outcome == "shortcut"
    assert found.grade == "failing"
    assert len(found.tables["pairs"]) == 40
    rows = found.tables["pairs"].to_pandas()
    gaps = {name: np.array(one["gap"]) for name, one in rows.groupby("setting")}
    assert found.value("gap", where="A less B") == pytest.approx(np.mean(gaps["A"] - gaps["B"]))


def test_a_pair_of_the_same_setting_is_no_shortcut():
    """The control of the experiment itself: B against B-noise of a task in which nothing is redundant."""
    values = np.array([0.01, -0.01, 0.02, 0.0, -0.02, 0.01])
    low, high = _over_seeds(values, (-1.0, 1.0))
    assert low < 0 < high < 0.05
    assert _over_seeds(values[:4], (-1.0, 1.0)) == (None, None)
    assert _over_seeds(1 - np.abs(values), (0.0, 1.0))[1] <= 1  # a share of right answers is never above 1


def test_any_task_can_be_paired():
    """A task without settings of its own: the redundant factor is randomised, or noise is put in its place."""
    recipe = {"steps": 30, "samples": "every", "batch": None, "evaluations": 3}
    found = paired(PartialExposure(), model={"name": "mlp", "hidden": [8]}, recipe=recipe, redundant="second", seeds=5)
    assert set(found.tables["pairs"]["setting"].to_pylist()) == {"A", "B", "B-noise"}
    assert found.outcome in ("shortcut", "no shortcut", "unclear")


def test_b_randomises_and_b_noise_keeps_pairs_and_spread():
    task = PartialExposure()
    shown = {name: in_setting(task, "own", "second", name) for name in ("A", "B", "B-noise")}
    codes = {}
    for name, (made, split) in shown.items():
        parts = split_of(split, made).parts(made, seed=0)
        latents = parts.train.draw(400, seed=0)
        batch = made.render(latents, seed=0, part="train")
        codes[name] = (made.combinations(latents), batch)
        assert torch.equal(batch.targets, torch.from_numpy(made.truth(codes[name][0])))
    told = {name: counted_bits(one[:, 0], one[:, 1])[0] for name, (one, _) in codes.items()}
    assert told["B"] < 0.2 < told["A"]
    assert np.array_equal(codes["A"][0], codes["B-noise"][0]), "the same pairs"
    plain, noised = codes["A"][1].inputs, codes["B-noise"][1].inputs
    assert torch.equal(plain[:, :2], noised[:, :2])
    assert not torch.equal(plain[:, 2:], noised[:, 2:])
    assert torch.equal(plain.sort(0).values, noised.sort(0).values), "each input keeps its spread"


def test_what_cannot_be_paired_is_refused():
    recipe = {"steps": 2}
    with pytest.raises(SettingError, match="redundant=None"):
        paired("addition", model="mlp", recipe=recipe)
    with pytest.raises(SettingError, match="the right answer depends on it"):
        paired("addition", model="mlp", recipe=recipe, redundant="second", settings=("A", "B"), seeds=1)
    with pytest.raises(SettingError, match="A is held against"):
        paired(Toy(), model="mlp", recipe=recipe, settings=("B",))
    with pytest.raises(SettingError, match="diverged"):
        paired(Toy(), model=HE, recipe=TOY | {"lr": 1e20, "steps": 20}, seeds=2)


@pytest.fixture(scope="module")
def toy_run():
    return fit(Toy(), "own", HE, TOY | {"steps": 256}, seeds=(1,), progress=None)[0]


def test_a_run_alone_says_everything_itself(toy_run):
    found = influence(toy_run, controls=5)
    assert (found.outcome, found.grade) == ("both", "weak")
    assert "training has not taught this one to look at y2" in " ".join(found.reasons), "new weights swap more"
    assert "swapping y2" in found.verdict
    assert found.tables["combinations"].num_rows == 3, "three seen combinations taught it (1, 1)"
    assert "from the start of training" in " ".join(found.reasons)
    assert found.provenance.source == f"run {toy_run.key[:8]}"
    again = influence(toy_run, controls=5)
    assert (again.verdict, again.table) == (found.verdict, found.table), "the same seed, the same numbers"


def test_the_command_takes_a_run_of_a_store(tmp_path):
    run = fit(Toy(), "own", HE, TOY | {"steps": 16}, seeds=(0,), store=tmp_path / "runs", progress=None)[0]
    page = tmp_path / "probe.html"
    arguments = ["probe", "influence", str(tmp_path / "runs"), "--run", run.key[:8], "--report", str(page)]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    assert "y2" in ended.output
    assert "Boundary at the end" in page.read_text(encoding="utf-8")


def test_the_command_takes_a_file(tmp_path):
    spec = tmp_path / "spec.py"
    spec.write_text(SPEC)
    ended = CliRunner().invoke(app, ["probe", "influence", str(spec)])
    assert ended.exit_code == 0, ended.output
    assert "own factor" in ended.output


SPEC = """
import torch
from torch import nn
from typer.testing import CliRunner

x = torch.rand(300, 2, generator=torch.Generator().manual_seed(0)) - 0.5
target, redundant, regions, controls = "a", "b", {"a": 0, "b": 1}, 2

def model():
    made = nn.Linear(2, 2, bias=False)
    made.weight.data = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    return made

def inputs():
    return x

def table():
    return {"a": (x[:, 0] > 0).numpy(), "b": (x[:, 1] > 0).numpy()}
"""


def test_a_run_of_sums_is_asked_who_taught_it_alone():
    recipe = {"steps": 50, "samples": "every", "batch": None, "lr": 0.01}
    run = fit(Addition(values=5), "own", MLP(hidden=(8,)), recipe, progress=None)[0]
    found = influence(run)
    assert found.outcome in ("neighbours", "elsewhere", "spread", "unclear")
    assert found.tables["combinations"].num_rows == 9 * 16
    wide = fit(Addition(values=5), "own", MLP(hidden=(2000,)), recipe | {"steps": 2}, progress=None)[0]
    with pytest.raises(SettingError, match="no single factor"):
        influence(wide)


def test_pictures_of_a_run_are_followed_by_the_region_that_a_digit_is_in():
    task = DigitPairs(images="synthetic")
    run = fit(task, "own", MLP(hidden=(16,)), {"steps": 5, "test_samples": 100}, progress=None)[0]
    found = influence(run, controls=2)
    assert found.value("gradient, by region", where="first") > 0
    assert found.outcome == "unclear", "five steps teach it nothing"


def test_known_answers_of_the_toy():
    """Information, the first gradient of a logistic model, least squares, and three rules that training cannot tell."""
    codes = np.repeat(TRAINING, 1000, axis=0)
    assert counted_bits(codes[:, 0], codes[:, 1])[0] == pytest.approx(0.251629, abs=1e-6)
    share = np.array([1, 2]) / 3
    assert -(share * np.log2(share)).sum() == pytest.approx(0.918296, abs=1e-6)
    # Moments of x = y - U[0, 1] over the three combinations, exactly.
    pairs = TRAINING.astype(float)
    means = pairs - 0.5
    targets = pairs[:, 0]
    slope = ((0.5 - targets)[:, None] * means).mean(0)
    assert [*slope, (0.5 - targets).mean()] == pytest.approx([-1 / 4, 1 / 12, 1 / 6])
    square = (means[:, :, None] * means[:, None, :]).mean(0) + np.eye(2) / 12
    design = np.block([[np.ones((1, 1)), means.mean(0)[None]], [means.mean(0)[:, None], square]])
    weights = np.linalg.solve(design, [targets.mean(), *(targets[:, None] * means).mean(0)])
    assert weights == pytest.approx([3 / 7, 24 / 35, -4 / 35])
    inputs, _ = toy([(1, 1)], 200_000)
    above = (weights[0] + inputs.numpy() @ weights[1:] > 0.5).mean()
    assert above == pytest.approx(13 / 16, abs=0.005)
    after = (-slope[0] * inputs[:, 0] - slope[1] * inputs[:, 1] - 1 / 6 > 0).float().mean()
    assert float(after) == pytest.approx(1 / 6, abs=0.005)
    for rule, right in ((OWN, 1.0), (LARGER, 0.5), (BOTH, 0.0)):
        assert float((rule(inputs).argmax(1) == 1).float().mean()) == pytest.approx(right, abs=0.005)
        shown, table = toy(TRAINING, 5000)
        assert (rule(shown).argmax(1).numpy() == table["y1"]).all()


def test_the_swap_test_tells_rules_apart_that_training_cannot():
    shown, table = toy(TRAINING, 3000)
    given = {"inputs": shown, "table": table, "target": "y1", "redundant": "y2", "regions": {"y1": 0, "y2": 1}}
    # A swap of x2 brings (1, 1) into being for the third of the rows that are (1, 0), and its donors have y2 = 1.
    changed = [influence(rule, **given, controls=0).value("swap", where="y2") for rule in (OWN, LARGER, BOTH)]
    assert changed == pytest.approx([0.0, 1 / 6, 1 / 3], abs=0.02)


def test_digit_pairs_hold_the_information_that_the_paper_s_task_has():
    task = DigitPairs(images="synthetic")
    codes = task.own_parts(seed=0).train.every().numpy()
    assert counted_bits(codes[:, 0], codes[:, 1])[0] == pytest.approx(math.log2(10) - 1)


def test_boundaries_are_drawn_by_step_and_by_seed(toy_run):
    figures = boundaries({"rule": OWN, "trained": toy_run.module()}, side=21)
    assert figures[0].cells[0] == tuple(float(x > 0) for x in np.linspace(-1, 1, 21))
    top_left, bottom_right = figures[1].cells[0][0], figures[1].cells[-1][-1]
    assert (top_left, bottom_right) == (0.0, 1.0)
    assert boundaries({}, side=3) == ()


def test_a_hugging_face_model_is_asked_by_keyword():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=2
    )
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    tokens = torch.randint(0, 8, (60, 4))
    found = influence(
        model,
        inputs={"input_ids": tokens, "attention_mask": torch.ones_like(tokens)},
        table={"first": (tokens[:, 0] % 2).numpy(), "last": (tokens[:, 3] % 2).numpy()},
        target="first",
        redundant="last",
        regions={"first": 0, "last": 3},
        controls=2,
    )
    assert found.value("gradient, by embedding", where="last") > 0
    assert found.outcome == "unclear"
    assert isinstance(recombine_lab.probes.influence, type(influence))
    assert isinstance(model, nn.Module)
