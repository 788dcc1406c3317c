"""Lazy and rich networks on symbolic addition, beside what theory says of them before they are trained.

    python examples/workshop/addition.py            about three minutes on two cores
    python examples/workshop/addition.py --smoke    a few steps

Lippl and Stachenfeld (ICLR 2025): a learner whose representation is fixed shrinks unseen sums by a slope that follows
from the training pairs alone. A lazy network is such a learner; a rich one is not.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import numpy as np
from meeting import asked, audited, evaluated, show, swept

import recombine
from recombine_lab.runs.run import Run
from recombine_lab.tasks import Addition

FACTORS = ("first", "second")
LAZY, RICH = 1.0, 0.01


@dataclass(frozen=True)
class Case:
    """One choice of anchors: what theory says, and what networks did."""

    anchors: tuple[int, ...]
    theory: float
    lazy: tuple[float, ...]
    rich: tuple[float, ...]

    @property
    def off(self) -> float:
        """How far the lazy networks' mean slope is from theory's, as a share of it."""
        return mean(self.lazy) / self.theory - 1


def forecast(anchors: tuple[int, ...]) -> recombine.Prediction:
    """What a wide network with one hidden layer would answer, from the seen pairs alone."""
    task = Addition(anchors=anchors)
    seen = task.table(task.own_parts(seed=0).train.every().numpy())
    support = recombine.read(seen, factors=FACTORS, target="target", target_kind="number")
    return recombine.predict(support, salience="relu:1")


def slope(answers: np.ndarray, truth: np.ndarray) -> float:
    """By how much an answer rises where the truth rises by one."""
    return float(np.polyfit(truth, answers, 1)[0])


def predicted_slope(prediction: recombine.Prediction) -> float:
    """The slope of theory over the unseen pairs."""
    table = prediction.table.filter(~prediction.table["seen"].to_numpy())
    truth = sum(table[name].to_numpy().astype(float) for name in FACTORS)
    return slope(table["prediction"].to_numpy(), truth)


def measured_slope(run: Run) -> float:
    """The slope of a network over the unseen pairs."""
    table = run.tables["predictions"]
    table = table.filter(np.asarray(table["part"]) == "unseen")
    return slope(table["prediction"].to_numpy(), table["target"].to_numpy())


def anchors_of(run: Run) -> tuple[int, ...]:
    """The anchors of a run's task."""
    return tuple(int(anchor) for anchor in run.configuration.task["anchors"])


def case(anchors: tuple[int, ...], runs: list[Run]) -> Case:
    """Theory beside measurement for one choice of anchors."""
    mine = [run for run in runs if anchors_of(run) == anchors]
    lazy, rich = (
        tuple(measured_slope(run) for run in mine if run.configuration.model["scale"] == scale)
        for scale in (LAZY, RICH)
    )
    return Case(anchors, predicted_slope(forecast(anchors)), lazy, rich)


def draw(cases: list[Case], path: Path) -> None:
    """Every seed as a dot, theory as a line."""
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for place, one in enumerate(cases):
        axes.plot(
            [place - 0.35, place + 0.35], [one.theory] * 2, color="black", lw=1.5, label="theory" if not place else None
        )
        for shift, slopes, colour, name in ((-0.12, one.lazy, "#2a6f97", "lazy"), (0.12, one.rich, "#d1603d", "rich")):
            places = place + shift + np.linspace(-0.06, 0.06, len(slopes))
            axes.scatter(places, slopes, s=22, color=colour, label=f"{name} network" if not place else None)
    axes.set_xticks(range(len(cases)), [f"anchors {', '.join(map(str, one.anchors))}" for one in cases])
    axes.set_ylabel("slope on unseen pairs")
    axes.axhline(1, color="grey", lw=0.8, ls=":")
    axes.set_ylim(0, 1.08)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    options = asked(__doc__)
    runs = swept("addition", options, smoke={"seeds": 2, "recipe": {"steps": 300}})
    cases = [case(anchors, runs) for anchors in dict.fromkeys(map(anchors_of, runs))]
    head = ("anchors", "theory", "lazy, mean", "off", "lazy, every seed", "rich, every seed")
    lines = [
        (one.anchors, one.theory, mean(one.lazy), f"{one.off:+.1%}", _listed(one.lazy), _listed(one.rich))
        for one in cases
    ]
    show("Slopes on unseen pairs (1 is right)", head, lines)
    last = runs[0]
    print(f"\naudit     {audited(last, FACTORS).verdict}")
    print(f"predict   {forecast(anchors_of(last)).verdict}")
    evaluation = evaluated(
        last, FACTORS, target="target", prediction="prediction", score="mse", theory=forecast(anchors_of(last))
    )
    print(f"evaluate  {evaluation.verdict}")
    draw(cases, options.out / "addition.png")


def _listed(slopes: tuple[float, ...]) -> str:
    return " ".join(f"{slope:.3f}" for slope in sorted(slopes))


if __name__ == "__main__":
    main()
