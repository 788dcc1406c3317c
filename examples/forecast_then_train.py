"""A forecast first, then the training that it spoke of, in front of the reader.

    python examples/forecast_then_train.py           a few minutes; writes the page's figures and its picture
    python examples/forecast_then_train.py --smoke   fewer rows and steps; nothing is written

Pairs of MNIST digits. The table has rows of seen combinations with their answers, and rows of unseen ones without; what
the answer should be is known, since the factors tell it. Kernel machines look at the pictures and say what score to
expect on the unseen combinations (`recombine.predict` with `inputs=`). Only then networks are trained on the same
rows, and asked.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import recombine
import recombine_lab
from recombine.base.seeds import derived
from recombine_lab.models import CNN, MLP
from recombine_lab.models.model import Model
from recombine_lab.tasks import Addition, DigitPairs, Own, TableTask, Task

MEASURED = Path(__file__).resolve().parents[1] / "docs" / "measured"
FACTORS = ("first", "second")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Cell:
    """What is asked, and what is trained."""

    name: str
    task: Task
    model: Model
    steps: int

    @property
    def number(self) -> bool:
        """Whether the answer is a number."""
        return self.task.shapes.kind == "values"


def cells() -> list[Cell]:
    """Two tasks of pictures that a theory over combinations gets wrong: it takes both for easy."""
    mlp, cnn = MLP(hidden=(128, 128)), CNN(channels=(8, 16), pool=(1, 2), dense=(64,))
    pairs, sums = DigitPairs(), Addition(anchors=(-4, 4), code="images", images="mnist")
    return [
        Cell("two digits, the second redundant; MLP", pairs, mlp, 1000),
        Cell("two digits, the second redundant; CNN", pairs, cnn, 350),
        Cell("addition of pictures from -4 and 4; CNN", sums, cnn, 350),
    ]


def rows_of(task: Task, seen: int, unseen: int) -> tuple[dict[str, Any], Array]:
    """A table of rows and the picture of each; `split` says which are trained on."""
    parts = Own().parts(task, seed=0)
    table: dict[str, Any] = {name: [] for name in (*FACTORS, "answer", "split")}
    pictures = []
    for side, source, count in (("train", parts.train, seen), ("test", parts.tests["unseen"], unseen)):
        order = np.random.default_rng(derived(0, "rows", side)).permutation(len(source.every()))
        latents = source.every()[torch.from_numpy(np.resize(order, count))]
        batch = task.render(latents, seed=derived(0, "pictures", side), part=side)
        codes = task.combinations(latents)
        for k, name in enumerate(FACTORS):
            table[name] += [task.space.factors[k].values[code] for code in codes[:, k]]
        table["answer"] += batch.targets.flatten().tolist()
        table["split"] += [side] * count
        pictures.append(batch.inputs.numpy())
    return table, np.concatenate(pictures)


def forecast(cell: Cell, table: dict[str, Any], pictures: Array) -> recombine.Prediction:
    """What is to be expected, from the pictures; of unseen combinations the answers are only scored against."""
    train = [side == "train" for side in table["split"]]
    shown = {name: table[name] for name in FACTORS}
    shown["answer"] = [answer if own else None for answer, own in zip(table["answer"], train, strict=True)]
    return recombine.predict(
        shown,
        factors=list(FACTORS),
        target="answer",
        target_kind="number" if cell.number else "label",
        examples=recombine.Examples(inputs=pictures.reshape(len(pictures), -1)),
        truth={name: [value for value, own in zip(table[name], train, strict=True) if not own] for name in shown},
    )


def trained(cell: Cell, table: dict[str, Any], pictures: Array, *, steps: int, seeds: int) -> list[float]:
    """The score of each network on the rows of unseen combinations."""
    form = "values" if cell.number else "classes"
    task = TableTask(source=table, inputs=pictures, factors=FACTORS, target="answer", split="split", form=form)
    recipe = recombine_lab.Recipe(
        steps=steps, lr=2e-3, batch=64, samples="every", evaluations=1, test_samples=10**6, together="never"
    )
    runs = recombine_lab.fit(task, Own(), cell.model, recipe, seeds=seeds, progress=None)
    return [_score(run.metrics["unseen.error"], cell, table) for run in runs]


def _score(error: float, cell: Cell, table: dict[str, Any]) -> float:
    """The share of right answers; of numbers R² beside the mean of what was seen, as the forecast has it."""
    if not cell.number:
        return 1 - error
    answers, test = np.array(table["answer"]), np.array(table["split"]) == "test"
    return 1 - error / float(np.square(answers[test] - answers[~test].mean()).mean())


def shown(cell: Cell, *, smoke: bool) -> dict[str, Any]:
    """Forecast, say so, train, say so."""
    table, pictures = rows_of(cell.task, *((300, 150) if smoke else (2000, 800)))
    began = time.perf_counter()
    found = forecast(cell, table, pictures)
    seconds = time.perf_counter() - began
    said = found.expected
    print(f"\n{cell.name}\n  forecast in {seconds:.0f} s: {_told(said)}\n  {found.verdict}", flush=True)
    began = time.perf_counter()
    scores = trained(cell, table, pictures, steps=40 if smoke else cell.steps, seeds=1 if smoke else 3)
    training = (time.perf_counter() - began) / len(scores)
    inside = said.low is not None and said.low <= np.mean(scores) <= said.high
    where = "inside" if inside else "OUTSIDE"
    each = ", ".join(f"{score:.2f}" for score in scores)
    print(f"  measured, {training:.0f} s a network: {each}: {where} the interval", flush=True)
    return {
        "score": said.score,
        "forecast": said.value,
        "low": said.low,
        "high": said.high,
        "baseline": said.baseline,
        "grade": found.grade,
        "measured": scores,
        "forecast seconds": round(seconds, 1),
        "training seconds": round(training, 1),
    }


def _told(said: Any) -> str:
    if said.value is None:
        return f"none, because {said.reason}"
    return f"{said.score} {said.value:.2f} ({said.low:.2f} to {said.high:.2f})"


def picture(found: dict[str, dict[str, Any]]) -> str:
    """Each cell as a line: the interval, the forecast, and the networks that were trained afterwards."""
    least = min(-0.1, *(min(one["low"], *one["measured"]) for one in found.values()))

    def x(score: float) -> float:
        return 20 + 560 * (score - least) / (1 - least)

    parts = []
    for place, (name, one) in enumerate(found.items()):
        y = 40 + 64 * place
        parts.append(f'<text x="20" y="{y - 12}">{name} ({one["score"]})</text>')
        parts.append(f'<line x1="{x(one["low"]):.1f}" x2="{x(one["high"]):.1f}" y1="{y}" y2="{y}" class="interval"/>')
        parts.append(f'<circle cx="{x(one["forecast"]):.1f}" cy="{y}" r="6" class="forecast"/>')
        parts += [f'<path d="M{x(score):.1f} {y - 9}v18" class="measured"/>' for score in one["measured"]]
    bottom = 40 + 64 * len(found)
    ticks = [tick for tick in (-2, -1, -0.5, 0, 0.25, 0.5, 0.75, 1) if tick >= least]
    parts += [
        f'<text x="{x(tick):.1f}" y="{bottom}" text-anchor="middle" class="tick">{tick:g}</text>' for tick in ticks
    ]
    style = (
        "text{font:14px sans-serif;fill:#333}.tick{fill:#777;font-size:12px}.interval{stroke:#9db7e0;stroke-width:8;"
        "stroke-linecap:round}.forecast{fill:#1f4e9c}.measured{stroke:#d1495b;stroke-width:3}"
    )
    label = "Forecast scores with their intervals, and the scores of networks that were trained afterwards"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 {bottom + 14}" role="img" aria-label="{label}">'
        f'<rect width="600" height="{bottom + 14}" fill="#fff"/><style>{style}</style>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="fewer rows and steps, nothing is written")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    found = {cell.name: shown(cell, smoke=smoke) for cell in (cells()[1:] if smoke else cells())}
    drawn = picture(found)
    if not smoke:
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (MEASURED / "forecast_then_train.json").write_text(text + "\n", encoding="utf-8")
        (MEASURED / "forecast_then_train.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
