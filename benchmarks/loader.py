"""Batches: what `fit` adds to a step beside the model's own work, and what rendering new examples costs.

*bare* is the update of one batch that is at hand, again and again. *fit* is the whole of a step as `fit` does it: the
batch picked, the update, the watch for a loss that is not finite, everything that the loop asks at each step. The
overhead is the difference, as a share of the bare step. *rendering* is what a step costs more where its examples are
new: that is work of the task, not of the loader, and is told apart. Processor seconds of one thread, in turns.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import statistics
import time
from typing import Any

import fit as by
import measure


def bare(task: Any, model: Any, steps: int) -> float:
    """Seconds a step, with one batch at hand."""
    import torch

    from recombine.tasks.exposure import Everything
    from recombine.training.alone import Alone
    from recombine.training.examples import examples_of, feed_of
    from recombine.training.losses import loss_of
    from recombine.training.recipe import Recipe

    recipe = Recipe(steps=steps, samples=by.SAMPLES, batch=by.BATCH)
    shown = Everything().parts(task, seed=0).train
    batch = feed_of([examples_of(task, shown, recipe, seed=0)], stacked=False).at(0)
    module = model.start(task.shapes, seed=0)
    learner = Alone(module, recipe, loss=loss_of(recipe, task.shapes), shapes=task.shapes, seed=0)
    warm = max(3, steps // 5)
    with torch.random.fork_rng(devices=[]):
        for step in range(warm):
            learner.step(batch, step)
        begin = time.process_time()
        for step in range(warm, steps - 1):
            learner.step(batch, step)
    return (time.process_time() - begin) / (steps - 1 - warm)


def main() -> None:
    """Run it."""
    import torch

    given = measure.options(__doc__).parse_args()
    torch.set_num_threads(1)
    rounds = 1 if given.smoke else 7
    lines, figures = [], []
    for name, (task, model) in by.subjects().items():
        steps = 20 if given.smoke else by.STEPS[name]
        found = [
            (bare(task, model, steps), by.by_fit(task, model, steps), by.by_fit(task, model, steps, samples=None))
            for _ in range(rounds)
        ]
        alone, whole, fresh = (statistics.median(times) for times in zip(*found, strict=True))
        overhead = statistics.median(one[1] / one[0] - 1 for one in found)
        rendering = statistics.median(one[2] - one[1] for one in found)
        lines.append([name, alone * 1e6, whole * 1e6, f"{overhead:.1%}", rendering * 1e6])
        figures.append(
            {
                "network": name,
                "bare_us": alone * 1e6,
                "fit_us": whole * 1e6,
                "fresh_us": fresh * 1e6,
                "overhead": overhead,
                "rendering_us": rendering * 1e6,
            }
        )
    print(f"batch {by.BATCH}, microseconds a step; median of {rounds}")
    measure.table(["network", "bare", "fit", "overhead", "rendering new ones"], lines)
    measure.write("loader", given, figures)


if __name__ == "__main__":
    main()
