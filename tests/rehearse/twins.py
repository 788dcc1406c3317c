"""Brute-force twins of the rehearsal: loops and textbook formulas, for small tables."""

import math
from itertools import combinations

import numpy as np


def leverage(known, sizes, combination):
    """a (A'A)+ a' of the one-hot design; None where the row lies outside the span of the others."""
    design = np.array([one_hot(row, sizes) for row in known])
    row = one_hot(combination, sizes)
    inverse = np.linalg.pinv(design.T @ design)
    if np.abs(design.T @ design @ inverse @ row - row).max() > 1e-6:
        return None
    return float(row @ inverse @ row)


def one_hot(combination, sizes):
    return np.concatenate([np.eye(size)[value] for size, value in zip(sizes, combination, strict=True)])


def difficulty(known, answers, sizes, combination, *, labels, truth=None):
    """One combination, from lists: known combinations, their answers (a class's place, or a number)."""
    found = {}
    amplified = leverage(known, sizes, combination)
    found["open"] = float(amplified is None)
    found["doubt"] = 1.0 if amplified is None else amplified / (1 + amplified)
    sharing = [sum(other[k] == combination[k] for other in known) for k in range(len(sizes))]
    found["fewest"], found["most"] = math.log2(1 + min(sharing)), math.log2(1 + max(sharing))
    if len(sizes) > 2:
        apart = [sum(a != b for a, b in zip(other, combination, strict=True)) for other in known]
        found["near"] = math.log2(1 + apart.count(1))
        pairs = combinations(range(len(sizes)), 2)
        together = [any(all(other[k] == combination[k] for k in pair) for other in known) for pair in pairs]
        found["strange"] = math.log2(1 + together.count(False))
    middle, spread = np.mean(answers), np.std(answers) or 1.0
    told = []
    for k in range(len(sizes)):
        mine = [answer for other, answer in zip(known, answers, strict=True) if other[k] == combination[k]] or answers
        told.append(
            [np.mean([answer == c for answer in mine]) for c in range(labels)]
            if labels
            else [(np.mean(mine) - middle) / spread]
        )
    distances = [sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p, q in combinations(told, 2)]
    found["conflict"] = max(distances) / 2 if labels else min(max(distances), 3.0)
    if truth is not None:
        right = [one[truth] if labels else math.exp(-((one[0] - (truth - middle) / spread) ** 2) / 2) for one in told]
        found["best"], found["worst"] = max(right), min(right)
    return found


def weights(held, asked):
    total = [0.0] * len(held)
    for point in asked:
        near = [math.exp(-sum((a - b) ** 2 for a, b in zip(point, other, strict=True)) / 2) for other in held]
        for place, one in enumerate(near):
            total[place] += one / sum(near) / len(asked)
    return total


def discrepancy(held, asked):
    def likeness(one, other):
        pairs = [math.exp(-sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) / 2) for p in one for q in other]
        return sum(pairs) / len(pairs)

    return math.sqrt(max(0.0, likeness(held, held) + likeness(asked, asked) - 2 * likeness(held, asked)))
