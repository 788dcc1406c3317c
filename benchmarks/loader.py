"""Batches: what `fit` adds to a step beside the model's own work, and what rendering new examples costs.

*bare* is the update by batches that are at hand, sixteen of them in turn. *around* is everything else of a step as
`fit` does it, measured by itself with an update that does nothing: the batch picked, the watch for a loss that is not
finite, what the loop asks at each step. The overhead is told twice: *around* as a share of *bare*, which is steady but
leaves out what fresh batches do to the caches; and *whole*, the step of `fit` over the bare one less 1, the median of
the rounds' own ratios, which leaves out nothing and needs a quiet machine. Believe the larger.

*rendering* is what *around* costs more where the examples are new: that is work of the task, not of the loader, and is
told apart. Processor seconds of one thread; the subjects take turns.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import statistics
import time
from typing import Any

import fit as by
import measure


def member_of(task: Any, model: Any, **recipe: Any) -> Any:
    """A run that is ready to be trained."""
    from recombine_lab.training.configurations import jobs
    from recombine_lab.training.member import Member

    common = {"batch": by.BATCH, "samples": by.SAMPLES, "evaluations": 1, "test_samples": 2}
    member = Member(jobs(task, "everything", model, common | recipe, (0,), named=False)[0])
    assert member.examples
    return member


def bare(task: Any, model: Any, steps: int) -> float:
    """Seconds a step, with batches at hand."""
    import torch

    from recombine_lab.training.batches import feed_of
    from recombine_lab.training.learners import SingleLearner

    member = member_of(task, model, steps=steps)
    feed = feed_of([member.examples], stacked=False)
    batches = [feed.at(step) for step in range(16)]
    learner = SingleLearner(member.start(), member.job.recipe, loss=member.loss, shapes=task.shapes, seed=0)
    warm = max(3, steps // 5)
    with torch.random.fork_rng(devices=[]):
        for step in range(warm):
            learner.step(batches[step % 16], step)
        begin = time.process_time()
        for step in range(warm, steps - 1):
            learner.step(batches[step % 16], step)
    return (time.process_time() - begin) / (steps - 1 - warm)


def loop_seconds(task: Any, model: Any, steps: int, **recipe: Any) -> float:
    """Seconds a step of the loop whose update does nothing."""
    from recombine_lab.training.batches import feed_of
    from recombine_lab.training.loop import Loop, TrainingContext

    member = member_of(task, model, steps=steps, **recipe)
    module = member.start()

    class Idle:
        def step(self, batch: Any, step: int) -> list[float]:  # noqa: ARG002 - that is what it is for
            return [0.0]

        def module(self, run: int) -> Any:  # noqa: ARG002
            return module

        def state(self, run: int) -> Any:  # noqa: ARG002
            return {}

        def load(self, run: int, state: Any, *, step: int) -> None:
            """Nothing to load."""

    marks = []

    def watch(event: Any) -> None:
        if event.step in (1, steps - 1):
            marks.append(time.process_time())

    feed = feed_of([member.examples], stacked=False)
    Loop([member], Idle(), feed, way="alone", context=TrainingContext(callbacks=[watch])).run(0)
    return (marks[1] - marks[0]) / (steps - 2)


def main() -> None:
    """Run it."""
    import torch

    given = measure.options(__doc__).parse_args()
    torch.set_num_threads(1)
    rounds, idle = (1, 50) if given.smoke else (9, 1000)
    lines, figures = [], []
    for name, (task, model) in by.subjects().items():
        steps = 20 if given.smoke else by.STEPS[name]
        found = [
            (
                bare(task, model, steps),
                loop_seconds(task, model, idle),
                by.by_fit(task, model, steps),
                loop_seconds(task, model, idle // 4, samples=None),
            )
            for _ in range(rounds)
        ]
        update, rest, whole, fresh = (statistics.median(times) for times in zip(*found, strict=True))
        ratio = statistics.median(one[2] / one[0] for one in found) - 1
        shares = [f"{rest / update:.1%}", f"{ratio:.1%}"]
        lines.append([name, update * 1e6, rest * 1e6, whole * 1e6, *shares, (fresh - rest) * 1e6])
        microseconds = {"bare": update, "around": rest, "fit": whole, "around_fresh": fresh}
        figures.append(
            {
                "network": name,
                "around": rest / update,
                "whole": ratio,
                **{f"{k}_us": v * 1e6 for k, v in microseconds.items()},
            }
        )
    print(f"batch {by.BATCH}, microseconds a step; median of {rounds}")
    measure.table(["network", "bare", "around", "fit", "around / bare", "whole", "rendering new ones"], lines)
    measure.write("loader", given, figures)


if __name__ == "__main__":
    main()
