"""Training: `fit` against loops written by hand, and 32 seeds of a small network as one against one after another.

Times are processor seconds of one thread, between two steps of each training: reading, drawing and evaluating are no
part of either side. Subjects take turns, and the ratio of a round is of neighbours; told is the median of the rounds.
The loops written by hand use torch's fastest optimiser on a processor (`fused=True`), as `fit` does, and pick their
batches by index out of a set that is at hand.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import measure

BATCH, SAMPLES, SEEDS = 64, 2048, 32
STEPS = {"mlp 3 x 64": 400, "mlp 1000": 200, "cnn": 40, "lstm_seq2seq": 40}
WIDTHS = ((8, 32), (16, 32), (32, 32), (32, 64), (64, 64), (128, 64))


def picture_task() -> Any:
    """Two bars on a small canvas, as an image; the target is their distance."""
    from dataclasses import dataclass

    import torch

    from recombine.data.space import Space
    from recombine_lab.tasks.task import Batch, DiscreteTask, Shapes

    @dataclass(frozen=True)
    class Bars(DiscreteTask):
        size: int = 20

        @property
        def space(self) -> Any:
            return Space.of({"x": list(range(self.size)), "y": list(range(self.size))})

        @property
        def shapes(self) -> Any:
            return Shapes(inputs=(1, self.size, self.size), outputs=(1,), kind="values")

        def render(self, latents: Any, *, seed: int, part: str) -> Any:  # noqa: ARG002 - nothing is left to chance
            places = torch.arange(self.size)
            image = (places == latents[:, :1]).float()[:, None] + (places == latents[:, 1:2]).float()[:, :, None]
            return Batch(image[:, None], (latents[:, :1] - latents[:, 1:2]).abs().float() / self.size)

        def truth(self, combinations: Any) -> Any:
            return abs(combinations[:, 0] - combinations[:, 1])

    return Bars()


def subjects() -> dict[str, tuple[Any, Any]]:
    """A task and a model for each kind of network."""
    from recombine_lab.models.catalogue import MODELS
    from recombine_lab.tasks.catalogue import TASKS

    return {
        "mlp 3 x 64": (TASKS.build("addition"), MODELS.build({"name": "mlp", "hidden": [64, 64]})),
        "mlp 1000": (TASKS.build("addition"), MODELS.build({"name": "mlp", "hidden": [1000]})),
        "cnn": (picture_task(), MODELS.build("cnn")),
        "lstm_seq2seq": (TASKS.build("scan"), MODELS.build("lstm_seq2seq")),
    }


def by_fit(
    task: Any, model: Any, steps: int, *, seeds: int = 1, times: int = 1, together: str = "never", **more: Any
) -> float:
    """Seconds a step, of all seeds; or `times` that, for runs one after another."""
    from recombine_lab.training.fit import fit

    warm, marks = max(3, steps // 5), []

    def watch(event: Any) -> None:
        if event.step in (warm, steps - 1):
            marks.append(time.process_time())

    recipe = {"steps": steps, "batch": BATCH, "samples": SAMPLES, "evaluations": 1, "test_samples": 2} | more
    recipe |= {"together": together}
    fit(task, "everything", model, recipe, seeds=range(seeds), callbacks=[watch], progress=None)
    spent = sum(end - begin for begin, end in zip(marks[::2], marks[1::2], strict=True))
    return times * spent / (steps - 1 - warm)


def by_hand(task: Any, model: Any, steps: int) -> float:
    """Seconds a step, of a loop as a researcher writes it."""
    import torch
    from torch.nn import functional

    module, shapes = model.start(task.shapes, seed=0), task.shapes
    chance = torch.Generator().manual_seed(0)
    every = torch.from_numpy(task.every())
    data = task.render(every[torch.randint(len(every), (SAMPLES,), generator=chance)], seed=0, part="train")
    inputs = data.inputs
    targets = data.targets if shapes.kind == "values" else data.targets.long()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3, fused=True)
    warm, per_epoch = max(3, steps // 5), SAMPLES // BATCH
    begin = 0.0
    for step in range(steps - 1):
        if step == warm:
            begin = time.process_time()
        if step % per_epoch == 0:
            order = torch.randperm(SAMPLES, generator=chance)
        rows = order[(step % per_epoch) * BATCH : (step % per_epoch + 1) * BATCH]
        x, y = inputs[rows], targets[rows]
        optimiser.zero_grad()
        if shapes.kind == "tokens":
            loss = functional.cross_entropy(module(x, y).flatten(0, 1), y.flatten(), ignore_index=0)
        else:
            loss = functional.mse_loss(module(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        loss.item()
    return (time.process_time() - begin) / (steps - 1 - warm)


def in_turns(one: Callable[[], float], other: Callable[[], float], rounds: int) -> tuple[float, float, float]:
    """The median time of each, and the median of the rounds' ratios."""
    pairs = [(one(), other()) if turn % 2 else (other(), one())[::-1] for turn in range(rounds)]
    firsts, seconds = zip(*pairs, strict=True)
    return statistics.median(firsts), statistics.median(seconds), statistics.median(a / b for a, b in pairs)


def against_hand(rounds: int, smoke: bool) -> list[dict[str, Any]]:
    """`fit` of one seed against the loop by hand."""
    import torch

    lines, figures = [], []
    for name, (task, model) in subjects().items():
        steps = 20 if smoke else STEPS[name]
        torch.set_num_threads(1)
        ours, hand, ratio = in_turns(partial(by_fit, task, model, steps), partial(by_hand, task, model, steps), rounds)
        lines.append([name, hand * 1e6, ours * 1e6, ratio])
        figures.append({"network": name, "hand_us": hand * 1e6, "fit_us": ours * 1e6, "ratio": ratio})
    print(f"one seed, batch {BATCH}, microseconds a step")
    measure.table(["network", "by hand", "fit", "ratio"], lines)
    return figures


def many_seeds(rounds: int, smoke: bool) -> list[dict[str, Any]]:
    """32 seeds as one, against 32 one after another, which take 32 times the step of one."""
    from recombine_lab.models.catalogue import MODELS
    from recombine_lab.tasks.catalogue import TASKS

    task, steps = TASKS.build("addition"), 20 if smoke else 200
    lines, figures = [], []
    for width, batch in WIDTHS[:1] if smoke else WIDTHS:
        model = MODELS.build({"name": "mlp", "hidden": [width, width]})
        one, many, ratio = in_turns(
            partial(by_fit, task, model, steps, times=SEEDS, batch=batch),
            partial(by_fit, task, model, steps, batch=batch, seeds=SEEDS, together="always"),
            rounds,
        )
        lines.append([f"{width} wide, batch {batch}", one * 1e6, many * 1e6, ratio])
        figures.append(
            {"width": width, "batch": batch, "one_by_one_us": one * 1e6, "as_one_us": many * 1e6, "ratio": ratio}
        )
    print(f"\n{SEEDS} seeds of a 3-layer MLP, microseconds for one step of all")
    measure.table(["network", "one by one", "as one", "ratio"], lines)
    return figures


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    rounds = 1 if given.smoke else 7
    figures = {"against_hand": against_hand(rounds, given.smoke), "many_seeds": many_seeds(rounds, given.smoke)}
    measure.write("fit", given, figures)


if __name__ == "__main__":
    main()
