"""A model that composes by construction against one that does not, on two sprites in one picture.

    python examples/workshop/sprites.py            about eight minutes on two cores
    python examples/workshop/sprites.py --smoke    a few steps

After Wiedemer et al. (NeurIPS 2023): where the composition is built in, training on a few planes of the latent space
(`orthogonal`) is as good as training on all of it; a monolithic decoder fails beyond the planes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from meeting import asked, audited, evaluated, show, swept

import recombine
import recombine_lab.probes
from recombine_lab.runs.run import Run
from recombine_lab.tasks import Orthogonal, Sprites

FACTORS = ("scale0", "hue0", "scale1", "hue1")
COLOURS = {"compositional": "#2a6f97", "monolithic": "#d1603d"}


def names(run: Run) -> tuple[str, str]:
    """The split and the model of a run."""
    return str(run.configuration.split["name"]), str(run.configuration.model["name"])


def score(run: Run, part: str) -> float:
    """R² of a run at its end."""
    return float(run.metrics[f"{part}.score"])


def brightness(samples: int) -> recombine.Support:
    """One number of each picture, its mean brightness, by the sizes and colours of both sprites, on the planes."""
    task = Sprites(size=32)
    points = Orthogonal().parts(task, seed=0).train.draw(samples, seed=0)
    pictures = task.render(points, seed=0, part="train").targets
    columns = task.table(task.combinations(points)).select(list(FACTORS))
    table = columns.append_column("brightness", pa.array(pictures.mean(dim=(1, 2, 3)).numpy()))
    return recombine.read(table, factors=FACTORS, target="brightness", domain=_domain(task))


def _domain(task: Sprites) -> dict[str, tuple[object, ...]]:
    return {factor.name: factor.values for factor in task.space.factors if factor.name in FACTORS}


def draw(runs: list[Run], path: Path) -> None:
    """Every seed as a dot: on the support, and on the whole space."""
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    groups = list(dict.fromkeys(map(names, runs)))
    for place, group in enumerate(groups):
        mine = [run for run in runs if names(run) == group]
        for shift, part, filled in ((-0.12, "seen", False), (0.12, "all", True)):
            scores = [max(score(run, part), -1.0) for run in mine]
            places = place + shift + np.linspace(-0.05, 0.05, len(scores))
            colour = COLOURS[group[1]]
            axes.scatter(places, scores, s=30, edgecolor=colour, facecolor=colour if filled else "none")
    axes.axhline(0, color="grey", lw=0.8, ls=":")
    axes.set_xticks(range(len(groups)), [f"{model}\non {split}" for split, model in groups], fontsize=9)
    axes.set_ylabel("R²")
    axes.scatter([], [], s=30, edgecolor="black", facecolor="none", label="on the support")
    axes.scatter([], [], s=30, color="black", label="on the whole space")
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(path, dpi=150)


def main() -> None:
    options = asked(__doc__)
    runs = swept("sprites", options, smoke={"seeds": 1, "recipe": {"steps": 6, "samples": 256, "test_samples": 64}})
    lines = [(*names(run), run.configuration.seed, score(run, "seen"), score(run, "all")) for run in runs]
    show("R² of every seed", ("split", "model", "seed", "seen", "all"), lines)
    shown = next(run for run in runs if names(run) == ("orthogonal", "monolithic"))
    forecast = recombine.predict(
        brightness(500 if options.smoke else 5_000), salience="relu:2", fit=recombine.FitSettings(ridge=0.1)
    )
    print(f"\nsupport   {recombine_lab.probes.support(model=shown).verdict}")
    print(f"audit     {audited(shown, FACTORS, domain=_domain(Sprites())).verdict}")
    print(f"predict   {forecast.verdict}")
    print(f"evaluate  {evaluated(shown, FACTORS, score=recombine.Score('error', 'lower'), causes=False).verdict}")
    draw(runs, options.out / "sprites.png")


if __name__ == "__main__":
    main()
