"""What `recombine_lab.probes.influence` is worth: which measure fools whom, and who taught what, beside training again.

    python benchmarks/probe_influence.py            about ten minutes on one core
    python benchmarks/probe_influence.py --smoke    a few seconds

- rules: three rules that training cannot tell apart, networks trained in A and in B, and untrained ones; every measure
  of the redundant input, and what the probe calls them
- pairs: the paper's 2-D toy in A and B, with the same seeds
- linear: ridge regression; the influence of rows and of combinations beside leaving out and solving again; dattri and
  captum on the same model
- networks: small networks beside training again without each combination, in one batched `fit`
- size: time and memory of the exact solution near its limit
- untrained: 200 networks with random weights; how often one of them is said to read the right input

With --pictures the boundaries of the toy, by step and by seed (the paper's figures 5 and 6), are drawn to a file.
"""

import argparse
import importlib.util
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from scipy.stats import spearmanr
from torch import nn

import measure
from recombine.numerics.intervals import wilson
from recombine.numerics.resampling import IntervalSettings
from recombine_lab import fit
from recombine_lab.models import MLP
from recombine_lab.probes import FactorExamples, influence
from recombine_lab.probes.influence_probe.influence_figures import boundaries
from recombine_lab.probes.influence_probe.influence_functions import taught
from recombine_lab.probes.influence_probe.paired_experiment import paired
from recombine_lab.probes.influence_probe.probe_examples import ProbeExamples
from recombine_lab.probes.influence_probe.retraining import left_out
from recombine_lab.probes.influence_probe.training_influence import scores_of
from recombine_lab.tasks import Addition, Toy
from recombine_lab.tasks.conjunction_tasks import ContextDependence
from recombine_lab.training.loop import StepEvent

MEASURED = Path(__file__).parent.parent / "docs" / "measured"
TOY = {"steps": 1024, "lr": 0.1, "optimiser": "sgd", "batch": 10, "evaluations": 12, "test_samples": 1000}
HE = MLP(hidden=(8, 8, 8), initialisation="he")
TRAINING = np.array([(0, 0), (0, 1), (1, 0)])
EVERY = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])


class Rule(nn.Module):
    """Class 1 where a score of the two inputs is above 0."""

    def __init__(self, score: Any) -> None:
        super().__init__()
        self.score, self.weight = score, nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.score(x[:, 0], x[:, 1]) * self.weight
        return torch.stack([-found, found], dim=1)


RULES = {
    "rule x1 > 0": Rule(lambda a, b: a + 0 * b),
    "rule x1 > max(0, x2)": Rule(lambda a, b: torch.minimum(a, a - b)),
    "rule x1 > 0 and x2 < 0": Rule(lambda a, b: torch.minimum(a, -b)),
}


def toy_rows(codes: np.ndarray, count: int, seed: int) -> tuple[torch.Tensor, dict[str, np.ndarray]]:
    """x = y - U[0, 1] for draws of the combinations."""
    rng = np.random.default_rng(seed)
    chosen = codes[rng.integers(0, len(codes), count)]
    return torch.from_numpy(chosen - rng.random((count, 2))).float(), {"y1": chosen[:, 0], "y2": chosen[:, 1]}


def rules(*, smoke: bool) -> list[dict[str, Any]]:
    """Every measure of the redundant input, of networks whose answer is known."""
    recipe = TOY | ({"steps": 16, "evaluations": 2, "test_samples": 100} if smoke else {})
    subjects: dict[str, nn.Module] = dict(RULES)
    for setting in ("A", "B"):
        for run in fit(Toy(setting=setting), "own", HE, recipe, seeds=1 if smoke else 3, progress=None):
            name = (
                f"network, setting {setting}, seed {run.configuration.seed}, unseen {run.metrics['unseen.score']:.2f}"
            )
            subjects[name] = run.module()
    subjects["untrained network"] = HE.start(Toy().shapes, seed=5)
    lines = []
    for rows, codes in (("training rows", TRAINING), ("all four combinations", EVERY))[: 1 if smoke else 2]:
        inputs, table = toy_rows(codes, 200 if smoke else 4000, 0)
        for name, module in subjects.items():
            found = influence(module, examples=exchanged(inputs, table), controls=0 if smoke else 20)
            at = {"where": "y2"}
            lines.append(
                {
                    "who": name,
                    "rows": rows,
                    "swap": found.value("swap", **at),
                    "permutation": found.value("permutation importance", **at),
                    "gradient": found.value("gradient, by column", **at),
                    "information": found.value("information", **at),
                    "given y1": found.value("information given y1", **at),
                    "outcome": found.outcome,
                    "grade": found.grade,
                }
            )
    measure.table(tuple(lines[0]), [tuple(line.values()) for line in lines])
    return lines


def pairs(*, smoke: bool, seeds: int) -> dict[str, Any]:
    """The toy in A and B."""
    recipe = TOY | ({"steps": 16, "evaluations": 2, "test_samples": 100} if smoke else {})
    found = paired(Toy(), model=HE, recipe=recipe, seeds=3 if smoke else seeds)
    print(found.verdict)
    return {"verdict": found.verdict, "outcome": found.outcome, "numbers": dict(found.numbers)}


def linear(*, smoke: bool) -> dict[str, Any]:
    """Ridge regression on a noisy 6 x 6 table, one combination unseen: everybody beside solving again."""
    rng = np.random.default_rng(0)
    side, ridge, count = (4, 0.01, 120) if smoke else (6, 0.01, 720)
    codes = rng.integers(0, side, (count, 2))
    eye = np.eye(side)
    x = np.hstack([eye[codes[:, 0]], eye[codes[:, 1]]]) + 0.3 * rng.normal(size=(count, 2 * side))
    y = x @ rng.normal(size=2 * side) + 0.2 * codes.prod(1) + 0.5 * rng.normal(size=count)
    asked = (codes == side - 1).all(1)
    kept = np.flatnonzero(~asked)

    def solved(rows: np.ndarray) -> np.ndarray:
        a, b = x[rows], y[rows]
        return np.linalg.solve(2 * a.T @ a / len(a) + ridge * np.eye(a.shape[1]), 2 * a.T @ b / len(a))

    def loss(rows: np.ndarray) -> float:
        return float(np.mean((x[asked] @ solved(rows) - y[asked]) ** 2))

    module = nn.Linear(x.shape[1], 1, bias=False).double()
    module.weight.data = torch.from_numpy(solved(kept))[None]
    seen, unseen = (
        ProbeExamples(
            torch.from_numpy(x[rows]),
            torch.from_numpy(y[rows])[:, None],
            pa.table({"a": codes[rows, 0], "b": codes[rows, 1]}),
        )
        for rows in (kept, np.flatnonzero(asked))
    )
    single = ProbeExamples(seen.inputs, seen.targets, pa.table({"row": np.arange(len(kept))}))
    ask_single = ProbeExamples(unseen.inputs, unseen.targets, pa.table({"row": np.full(int(asked.sum()), -1)}))
    base = loss(kept)
    by_row = np.array([loss(np.delete(kept, k)) for k in range(len(kept))]) - base
    ours = taught(module, seen, unseen, weight_decay=ridge, damping=0.0)
    ours_rows = taught(module, single, ask_single, weight_decay=ridge, damping=0.0)
    by_group = np.array([loss(kept[(codes[kept] != [one["a"], one["b"]]).any(1)]) - base for one in ours.seen])
    groups = np.unique(codes[kept], axis=0, return_inverse=True)[1].reshape(-1)
    said: dict[str, tuple[np.ndarray, np.ndarray]] = {
        "recombine, exact": (ours_rows.influence[0], ours.influence[0]),
        "recombine, first order": (ours_rows.first_order[0], ours.first_order[0]),
    }
    for name, peer in (("dattri", _dattri), ("captum", _captum)):
        scores = peer(module, seen, unseen, ridge)
        if scores is not None:
            said[name] = scores, np.bincount(groups, weights=scores)
    found = {
        name: {
            "rows": float(spearmanr(rows, by_row).statistic),
            "combinations": float(spearmanr(combined, by_group).statistic),
            "largest error": float(np.abs(combined - by_group).max() / np.abs(by_group).max()),
        }
        for name, (rows, combined) in said.items()
    }
    measure.table(
        ("beside solving again", "rank, rows", "rank, combinations", "largest error / largest"),
        [(name, *one.values()) for name, one in found.items()],
    )
    return found


def _dattri(module: nn.Module, seen: ProbeExamples, unseen: ProbeExamples, ridge: float) -> np.ndarray | None:
    if importlib.util.find_spec("dattri") is None:
        print("dattri is not installed (pip install --group peers): left out")
        return None
    scores: np.ndarray = scores_of(module, seen, unseen, loss="mse", shift=ridge)
    return scores.mean(axis=1) / len(seen)


def _captum(module: nn.Module, seen: ProbeExamples, unseen: ProbeExamples, ridge: float) -> np.ndarray | None:
    if importlib.util.find_spec("captum") is None:
        print("captum is not installed (pip install --group peers): left out")
        return None
    from captum.influence import NaiveInfluenceFunction  # noqa: PLC0415 - it is optional

    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/weights.pt"
        torch.save(module.state_dict(), place)
        rows = torch.utils.data.TensorDataset(seen.inputs, seen.targets)
        attributor = NaiveInfluenceFunction(
            module,
            rows,
            place,
            checkpoints_load_func=lambda one, path: one.load_state_dict(torch.load(path, weights_only=True)) and 1.0,
            loss_fn=nn.MSELoss(reduction="none"),
            batch_size=len(seen),
            projection_dim=None,
            hessian_reg=ridge * len(seen),  # its Hessian is a sum over rows, not a mean
        )
        found = attributor.influence((unseen.inputs, unseen.targets))
    return np.asarray(found.detach().double().numpy().mean(axis=0))


def networks(*, smoke: bool) -> list[dict[str, Any]]:
    """Networks beside training again, from several starts: rank correlation over all pairs, mean and range."""
    sgd = {"steps": 50 if smoke else 1500, "lr": 0.05, "optimiser": "sgd"}
    adam = sgd | {"optimiser": "adam", "lr": 0.01}
    cells: list[tuple[str, Any, MLP, dict[str, Any]]] = [
        ("sums 5 x 5, no hidden layer", Addition(values=5, anchors=(-2, 0)), MLP(hidden=(), initialisation="he"), sgd),
        ("sums 5 x 5, 64", Addition(values=5, anchors=(-2, 0)), MLP(hidden=(64,), initialisation="he"), sgd),
        ("sums 5 x 5, 16", Addition(values=5, anchors=(-2, 0)), MLP(hidden=(16,), initialisation="he"), sgd),
        ("sums 5 x 5, 32 and 32", Addition(values=5, anchors=(-2, 0)), MLP(hidden=(32, 32), initialisation="he"), sgd),
        ("sums 5 x 5, 64, Adam", Addition(values=5, anchors=(-2, 0)), MLP(hidden=(64,), initialisation="he"), adam),
        ("context 3, classes, 64", ContextDependence(k=2), MLP(hidden=(64,), initialisation="he"), sgd | {"lr": 0.2}),
    ]
    lines = []
    for name, task, model, recipe in cells[:1] if smoke else cells:
        ranks: dict[str, list[float]] = {"exact": [], "first order": [], "exact, start unknown": []}
        scores = []
        for start in range(1 if smoke else 5):
            again = left_out(task, "own", model, recipe, start=start)
            module = again.run.module()
            settings = {"damping": 1 / (recipe["lr"] * recipe["steps"])} if recipe["optimiser"] == "sgd" else {}
            known = taught(module, again.seen, again.unseen, start=again.start, **settings)
            unknown = taught(module, again.seen, again.unseen, **settings)
            for way, values in zip(ranks, (known.influence, known.first_order, unknown.influence), strict=True):
                ranks[way].append(float(spearmanr(values.ravel(), again.change.ravel()).statistic))
            scores.append(float(again.run.metrics["unseen.score"] or 0.0))
        line: dict[str, Any] = {"network": name, "weights": sum(w.numel() for w in module.parameters())}
        line |= {"unseen score": float(np.mean(scores))}
        for way, values in ranks.items():
            line |= {way: float(np.mean(values)), f"{way}, range": [min(values), max(values)]}
        lines.append(line)
    shown = ("network", "weights", "unseen score", "exact", "first order", "exact, start unknown")
    measure.table(shown, [tuple(line[name] for name in shown) for line in lines])
    return lines


def exchanged(inputs: Any, table: Any) -> FactorExamples:
    """Rows of the toy: the answer is y1, and y2 it should not hang on."""
    return FactorExamples(inputs=inputs, table=table, target="y1", redundant="y2", regions={"y1": 0, "y2": 1})


def untrained(*, smoke: bool) -> dict[str, Any]:
    """Networks that have learnt nothing, asked as if they had: how many are said to read the right input?"""
    inputs, table = toy_rows(EVERY, 300, 0)
    asked: dict[str, Any] = {"examples": exchanged(inputs, table), "controls": 2 if smoke else 20}
    found = [influence(HE.start(Toy().shapes, seed=1000 + k), **asked, seed=k) for k in range(5 if smoke else 200)]
    count = len(found)
    lines = {}
    for name, said in (
        ("called own factor", [one.outcome == "own factor" for one in found]),
        ("graded sound", [one.grade == "sound" for one in found]),
    ):
        share = float(np.mean(said))
        low, high = wilson(np.array([share]), np.array([float(count)]), np.array([count - 1.0]), IntervalSettings())
        lines[name] = {"share": share, "low": float(low[0]), "high": float(high[0]), "networks": count}
    measure.table(
        ("untrained networks", "share", "low", "high", "networks"), [(n, *o.values()) for n, o in lines.items()]
    )
    return lines


def size(*, smoke: bool) -> list[dict[str, float]]:
    """Seconds and memory of the exact solution."""
    lines = []
    for width in (32,) if smoke else (32, 128, 450):
        module = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, 1))
        count = sum(weight.numel() for weight in module.parameters())
        codes = np.array([(a, b) for a in range(10) for b in range(10)])
        x = torch.from_numpy(np.hstack([np.eye(10)[codes[:, 0]], np.eye(10)[codes[:, 1]]])).float()
        y = torch.from_numpy(codes.sum(1).astype(np.float32))[:, None]
        table = pa.table({"a": codes[:, 0], "b": codes[:, 1]})
        rows = [ProbeExamples(x[some], y[some], table.slice(some.start, 50)) for some in (slice(0, 50), slice(50, 100))]
        began, began_cpu = time.perf_counter(), time.process_time()
        taught(module, *rows)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        lines.append({"weights": count, "seconds": seconds, "processor seconds": cpu, "peak GiB": peak})
    measure.table(tuple(lines[0]), [tuple(line.values()) for line in lines])
    return lines


def pictures(file: Path) -> None:
    """The paper's figures 5 and 6: by step for one seed, and after 1,024 steps for several."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only for pictures

    steps, kept = (0, 1, 16, 64, 256, 1024), {}

    def keep(event: StepEvent) -> None:
        if event.step in steps:
            made = HE.start(Toy().shapes, seed=0)
            made.load_state_dict(event.module(0).state_dict())
            kept[f"step {event.step}"] = made

    fit(Toy(), "own", HE, TOY, seeds=(1,), callbacks=[keep], progress=None)
    runs = fit(Toy(), "own", HE, TOY, seeds=6, progress=None)
    seeds = {f"seed {run.configuration.seed}: {run.metrics['unseen.score']:.2f}": run.module() for run in runs}
    inputs, table = toy_rows(TRAINING, 60, 0)
    figure, axes = plt.subplots(2, 6, figsize=(12, 4.4), layout="constrained", sharex=True, sharey=True)
    for row, modules in zip(axes, (kept, seeds), strict=True):
        for axis, field in zip(row, boundaries(modules, side=81), strict=True):
            axis.imshow(field.cells, extent=(-1, 1, -1, 1), cmap="Blues", vmin=-0.3, vmax=1.6)
            axis.scatter(*inputs.T.numpy(), c=table["y1"], s=4, cmap="gray", edgecolors="black", linewidths=0.3)
            axis.set_title(field.title, fontsize=9)
            axis.axhline(0, color="grey", lw=0.4)
            axis.axvline(0, color="grey", lw=0.4)
    figure.supxlabel("x1 (asked for)", fontsize=9)
    figure.supylabel("x2 (redundant)", fontsize=9)
    figure.savefig(file, dpi=110)


def main() -> None:
    torch.set_num_threads(1)
    parser: argparse.ArgumentParser = measure.options(__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="of the paired experiment")
    parser.add_argument("--only", choices=("rules", "pairs", "linear", "networks", "size", "untrained"))
    parser.add_argument("--pictures", type=Path, help="draw the boundaries of the toy to this file, and nothing else")
    given = parser.parse_args()
    if given.pictures:
        pictures(given.pictures)
        return
    parts = {
        "rules": lambda: rules(smoke=given.smoke),
        "pairs": lambda: pairs(smoke=given.smoke, seeds=given.seeds),
        "linear": lambda: linear(smoke=given.smoke),
        "networks": lambda: networks(smoke=given.smoke),
        "size": lambda: size(smoke=given.smoke),
        "untrained": lambda: untrained(smoke=given.smoke),
    }
    figures = {}
    for name, part in parts.items():
        if given.only in (None, name):
            print(f"\n{name}")
            figures[name] = part()
    if given.out is None and not given.smoke:
        given.out = MEASURED / "probe_influence.json"
        if given.only and given.out.exists():  # one part anew, beside the others
            figures = json.loads(given.out.read_text())["figures"] | figures
    measure.write("probe_influence", given, figures)


if __name__ == "__main__":
    main()
