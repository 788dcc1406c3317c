"""How fast to learn at each step, and at which steps to look how it goes."""

import math

from recombine.lab.training.recipe import Recipe


def rate(recipe: Recipe, step: int) -> float:
    """The learning rate of the update that follows `step` others.

    >>> recipe = Recipe(steps=2000, lr=0.01, schedule="staircase", decay=0.96, decay_every=100)
    >>> round(rate(recipe, 2000), 5)
    0.00442
    >>> cosine = Recipe(steps=100, lr=1.0, schedule="cosine", final_lr=0.2, warmup=4)
    >>> [round(rate(cosine, step), 3) for step in (0, 3, 50, 100)]
    [0.25, 0.998, 0.6, 0.2]
    """
    value = recipe.lr
    if recipe.schedule == "cosine":
        share = (1 + math.cos(math.pi * min(step / recipe.steps, 1.0))) / 2
        value = recipe.final_lr + (recipe.lr - recipe.final_lr) * share
    elif recipe.schedule == "staircase":
        value = recipe.lr * recipe.decay ** (step // recipe.decay_every)
    return value * min(1.0, (step + 1) / recipe.warmup) if recipe.warmup else value


def is_constant(recipe: Recipe) -> bool:
    """Whether every step has the same rate."""
    return recipe.schedule == "constant" and not recipe.warmup


def evaluation_steps(steps: int, evaluations: int) -> tuple[int, ...]:
    """Logarithmically spaced steps from 0, before any update, to the last; fewer where they would coincide.

    >>> evaluation_steps(1000, 5)
    (0, 1, 10, 100, 1000)
    >>> evaluation_steps(1000, 1)
    (1000,)
    >>> evaluation_steps(3, 8)
    (0, 1, 2, 3)
    """
    if evaluations == 1:
        return (steps,)
    spaces = max(evaluations - 2, 1)
    spaced = {round(steps ** (place / spaces)) for place in range(evaluations - 1)} if evaluations > 2 else set()
    return tuple(sorted({0, steps} | spaced))
