"""Does a redundant input get used? Two MNIST digits side by side, the first is asked for.

    python examples/workshop/digit_pairs.py            about four minutes on two cores
    python examples/workshop/digit_pairs.py --smoke    a few steps

After "Gradient Descent Resists Compositionality": in A the second digit tells much about the first, in B it tells
nothing, in B-noise the pairs of A are shown with noise in its place. The claims are orderings: in A training goes
faster at first, and the gap between training and test pairs is larger.
"""

from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import numpy as np
from meeting import asked, audited, evaluated, show, swept

import recombine
from recombine_lab.runs.run import Run
from recombine_lab.tasks import DigitPairs

FACTORS = ("first", "second")
COLOURS = {"A": "#d1603d", "B": "#2a6f97", "B-noise": "#5b8c3e"}


def setting(run: Run) -> str:
    """A, B or B-noise."""
    return str(run.configuration.task["setting"])


def curve(run: Run, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps and share of right answers on one set of examples."""
    table = run.tables["curve"]
    mine = np.asarray(table["part"]) == part
    return table["step"].to_numpy()[mine], table["score"].to_numpy()[mine]


def asked_about(run: Run) -> str:
    """The pairs with offsets 2 to 9: unseen in A; in B they have been seen, and the set is called by another name."""
    return next(part for part in ("unseen", "test") if f"{part}.score" in run.metrics)


def gap(run: Run) -> float:
    """How much better a run is on pairs like those of training, at the end."""
    return float(run.metrics["seen.score"]) - float(run.metrics[f"{asked_about(run)}.score"])


def speed(run: Run, step: int) -> float:
    """The share of right answers on training-like pairs at the first evaluation from a step on."""
    steps, scores = curve(run, "seen")
    return float(scores[np.searchsorted(steps, step)])


def forecast() -> recombine.Prediction:
    """What a kernel-like learner would answer on the unseen pairs of A."""
    task = DigitPairs(images="synthetic", setting="A")
    shown = np.unique(task.own_parts(seed=0).train.every().numpy()[:, :2], axis=0)
    support, truth = (
        recombine.read(task.table(codes), factors=FACTORS, target="target", target_kind="label")
        for codes in (shown, None)
    )
    return recombine.predict(support, salience="relu:3", truth=truth)


def draw(runs: list[Run], path: Path) -> None:
    """Every seed as a line: training-like pairs and the pairs asked about, for each setting."""
    names = list(dict.fromkeys(map(setting, runs)))
    figure, axes = plt.subplots(1, len(names), figsize=(9, 3), sharey=True, layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        for run in (run for run in runs if setting(run) == name):
            axis.plot(*curve(run, "seen"), color="grey", lw=1)
            axis.plot(*curve(run, asked_about(run)), color=COLOURS[name], lw=1.4)
        axis.set_title(f"setting {name}", fontsize=10)
        axis.set_xlabel("step")
    axes[0].set_ylabel("right answers")
    axes[-1].plot([], [], color="grey", label="pairs as in training")
    axes[-1].plot([], [], color=COLOURS[names[-1]], label="the pairs asked about, in colour")
    axes[-1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    options = asked(__doc__)
    runs = swept("digit_pairs", options, smoke={"seeds": 1, "recipe": {"steps": 6, "test_samples": 100}})
    early = runs[0].steps // 4
    head = ("setting", "seed", f"seen, step {early}", "seen, end", "asked about, end", "gap")
    lines = [
        (
            setting(run),
            run.configuration.seed,
            speed(run, early),
            run.metrics["seen.score"],
            run.metrics[f"{asked_about(run)}.score"],
            gap(run),
        )
        for run in runs
    ]
    show("Every seed", head, lines)
    gaps = {name: mean(gap(run) for run in runs if setting(run) == name) for name in COLOURS}
    show("Mean gap", tuple(gaps), [tuple(gaps.values())])
    shown = next(run for run in runs if setting(run) == "A")
    print(f"\naudit     {audited(shown, FACTORS).verdict}")
    print(f"predict   {forecast().verdict}")
    print(f"evaluate  {evaluated(shown, FACTORS, target='target', prediction='prediction', theory=forecast()).verdict}")
    draw(runs, options.out / "digit_pairs.png")


if __name__ == "__main__":
    main()
