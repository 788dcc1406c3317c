"""Losses and scores against plain arithmetic, and on known answers: perfect, empty, adversarial."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.data.space import Space
from recombine_lab.tasks.task import Shapes
from recombine_lab.training.batches import ExampleGroups
from recombine_lab.training.fit import fit
from recombine_lab.training.losses import hinge, loss_of, token_cross_entropy
from recombine_lab.training.questions import EvaluationSet, ask
from recombine_lab.training.recipe import Recipe
from tests.lab.training.toys import Echo, Sum


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10**6))
def test_hinge_is_the_best_rivals(n: int, classes: int, seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, classes, generator=rng)
    targets = torch.randint(classes, (n,), generator=rng)
    by_hand = [
        max(0.0, 1 - row[own] + max(row[k] for k in range(classes) if k != own))
        for row, own in zip(scores.tolist(), targets.tolist(), strict=True)
    ]
    assert float(hinge(scores, targets)) == pytest.approx(sum(by_hand) / n, abs=1e-5)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_padding_counts_for_nothing_in_the_loss_of_tokens(n: int, length: int, seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, length, 4, generator=rng)
    targets = torch.randint(4, (n, length), generator=rng)
    targets[0, 0] = 1
    surprise = [
        -math.log(math.exp(s[y]) / sum(map(math.exp, s)))
        for row, wanted in zip(scores.tolist(), targets.tolist(), strict=True)
        for s, y in zip(row, wanted, strict=True)
        if y != 0
    ]
    assert float(token_cross_entropy(scores, targets)) == pytest.approx(sum(surprise) / len(surprise), abs=1e-5)


@pytest.mark.parametrize(
    ("loss", "kind", "words"),
    [
        ("mse", "classes", "cross_entropy or hinge"),
        ("hinge", "tokens", "cross_entropy"),
        ("cross_entropy", "values", "mse"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(loss: Any, kind: Any, words: str) -> None:
    shapes = Shapes(inputs=(2,), outputs=(2,), kind=kind, vocabularies=(4, 4))
    with pytest.raises(SettingError, match=words):
        loss_of(Recipe(steps=1, loss=loss), shapes)


class Says(nn.Module):
    """Answers by a rule of its own."""

    def __init__(self, rule: Any) -> None:
        super().__init__()
        self.rule = rule

    def forward(self, *given: Tensor) -> Tensor:
        answer: Tensor = self.rule(*given)
        return answer


def _asked(task: Any, rule: Any, n: int = 40, **more: Any) -> Any:
    latents = torch.from_numpy(np.random.default_rng(0).integers(task.space.sizes[0], size=(n, 2)))
    question = EvaluationSet("seen", task, latents, 0)
    module = Says(rule)
    for name, value in more.items():
        setattr(module, name, value)
    return question, ask(module, question, loss_of(Recipe(steps=1), task.shapes))


def test_a_perfect_a_constant_and_a_contrary_model() -> None:
    task = Sum(noise=0.0)
    true = lambda x: (x[:, :5] @ torch.arange(5.0) + x[:, 5:] @ torch.arange(5.0))[:, None] / 5  # noqa: E731
    question, perfect = _asked(task, true)
    assert perfect.score == pytest.approx(1.0)
    assert perfect.loss == pytest.approx(0.0, abs=1e-9)
    targets = next(iter(question.chunks())).targets
    _, constant = _asked(task, lambda x: targets.mean().expand(len(x), 1))
    assert constant.score == pytest.approx(0.0, abs=1e-6)
    _, contrary = _asked(task, lambda x: 2 * targets.mean() - true(x))
    assert contrary.score == pytest.approx(1 - 4.0, abs=1e-5)
    _, none = _asked(task, true, n=0)
    assert math.isnan(none.score)
    assert len(none.error) == 0


def test_a_set_of_one_target_has_no_r2() -> None:
    task = Sum(noise=0.0)
    question = EvaluationSet("seen", task, torch.zeros(7, 2, dtype=torch.long), 0)
    assert math.isnan(ask(Says(lambda x: x[:, :1]), question, loss_of(Recipe(steps=1), task.shapes)).score)


def test_r2_is_global_over_outputs() -> None:
    """Document 1's: all squared error over all squared deviation, not the mean of each output's."""

    class Two(Sum):  # two outputs of very different spread
        shapes = Shapes(inputs=(10,), outputs=(2,), kind="values")  # type: ignore[assignment]

        def render(self, latents: Tensor, *, seed: int, part: str) -> Any:
            made = Sum.render(self, latents, seed=seed, part=part)
            return type(made)(made.inputs, torch.cat([made.targets, 100 * made.targets], dim=1))

    question, found = _asked(Two(noise=0.0), lambda x: torch.ones(len(x), 2))
    y = torch.cat([chunk.targets for chunk in question.chunks()]).double()
    by_hand = 1 - float((y - 1).square().sum() / (y - y.mean(0)).square().sum())
    assert found.score == pytest.approx(by_hand, rel=1e-9)


def test_accuracy_of_classes() -> None:
    task = Sum(classes=True, noise=0.0)

    def right(x: Tensor) -> Tensor:
        return nn.functional.one_hot(x[:, :5].argmax(1) + x[:, 5:].argmax(1), 9).float()

    assert _asked(task, right)[1].score == 1.0
    assert _asked(task, lambda x: -right(x))[1].score == 0.0


def test_a_sentence_is_right_as_a_whole() -> None:
    task = Echo()
    scores = lambda x, y: torch.zeros(*y.shape, 5)  # noqa: E731

    def said(change: Any) -> Any:
        def answer(inputs: Tensor, length: int) -> Tensor:
            end = torch.ones(len(inputs), 1, dtype=torch.long)
            return change(torch.cat([inputs, end, 0 * end], dim=1))

        return answer

    def one_wrong(tokens: Tensor) -> Tensor:
        tokens[0, 1] = 1
        return tokens

    def after_the_end(tokens: Tensor) -> Tensor:
        tokens[:, 3] = 4
        return tokens

    assert _asked(task, scores, answer=said(lambda tokens: tokens))[1].score == 1.0
    assert _asked(task, scores, answer=said(one_wrong))[1].score == pytest.approx(1 - 1 / 40)
    assert _asked(task, scores, answer=said(after_the_end))[1].score == 1.0


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), max_size=30), st.booleans())
def test_cells_are_counted_as_by_hand(rows: list[tuple[int, int]], large: bool) -> None:
    space = Space.of({"a": range(3), "b": range(4)})
    if large:  # more combinations than a whole number can tell apart
        space = Space.of({name: range(10**4) for name in "abcdefghijklmnopq"})
        rows = [(*row, *[0] * 15) for row in rows]  # type: ignore[misc]
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(space.factors))
    values = np.arange(len(rows), dtype=float)
    cells = ExampleGroups.of(space, codes)
    assert [tuple(row) for row in cells.codes] == sorted(set(rows))
    for row, count, mean in zip(cells.codes, cells.counts, cells.means(values), strict=True):
        mine = [v for v, other in zip(values, rows, strict=True) if tuple(row) == other]
        assert count == len(mine)
        assert mean == pytest.approx(sum(mine) / len(mine))


def test_a_digit_is_asked_about_as_often_as_asked_for_and_a_symbol_once() -> None:
    """20 pairs of digits look different each time; 17 sums of symbols do not."""
    recipe = {"steps": 1, "test_samples": 100}
    for task, rows in (({"name": "digit_pairs", "images": "synthetic"}, 5), ("addition", 1)):
        (run,) = fit(task, "own", {"name": "mlp", "hidden": [4]}, recipe, progress=None)
        seen = run.tables["combinations"].to_pylist()
        assert {line["count"] for line in seen if line["part"] == "seen"} == {rows}
