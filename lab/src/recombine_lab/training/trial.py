"""One step of a model on a task before anything is trained or sent to a worker, so that what cannot be ends in words.

The network is built without memory for its weights, and shown shapes alone. Where that works and it is small, or where
that does not work, it is built for real and shown two examples: what a network does with numbers (look them up in a
table, say) is not seen in shapes.
"""

import torch
from torch import Tensor, nn

from recombine.errors import RecombineError, SettingError
from recombine_lab.models.model import Model
from recombine_lab.tasks.exposure import Source
from recombine_lab.tasks.task import Batch, Shapes, Task
from recombine_lab.training.losses import Loss, answers, loss_of
from recombine_lab.training.recipe import Recipe

_SMALL = 20_000_000  # weights, 80 MB: that much is spared on any machine that starts a training
_EXAMPLES = 2


def two_examples(task: Task, source: Source) -> Batch:
    """Two training examples."""
    return task.render(source.draw(_EXAMPLES, seed=0), seed=0, part="train")


def try_model(model: Model, shapes: Shapes, batch: Batch, recipe: Recipe) -> None:
    """Ask a model about a few examples; what does not fit is a `SettingError`."""
    loss = loss_of(recipe, shapes)
    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                small = _asked(model, shapes, Batch(batch.inputs.to("meta"), batch.targets.to("meta")), loss) <= _SMALL
        except RecombineError:
            raise
        except Exception:  # noqa: BLE001 - a network may need numbers, which shapes have not
            small = True
        if small:
            _for_real(model, shapes, batch, loss)


def _for_real(model: Model, shapes: Shapes, batch: Batch, loss: Loss) -> None:
    try:
        _asked(model, shapes, batch, loss)
    except RecombineError:
        raise
    except Exception as error:
        raise SettingError(
            f"{_called(model)} cannot serve this task: it gives inputs {shapes.inputs}, outputs {shapes.outputs},"
            f" kind {shapes.kind!r}",
            why=f"shown two examples, it raised {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
            if str(error).strip()
            else f"shown two examples, it raised {type(error).__name__}",
            instead=f"let it take {_described(batch.inputs)}, and give {_wanted(shapes)}",
        ) from error


def _asked(model: Model, shapes: Shapes, batch: Batch, loss: Loss) -> int:
    """Build and ask; how many weights there are."""
    module = model.start(shapes, seed=0).train()
    said = answers(module, batch, shapes)
    _check_answers(model, module, shapes, said)
    loss(said.float(), batch.targets)
    return sum(weight.numel() for weight in module.parameters())


def _check_answers(model: Model, module: nn.Module, shapes: Shapes, said: Tensor) -> None:
    given = tuple(said.shape[1:])
    if shapes.kind == "classes" and given != shapes.outputs[:1]:
        raise SettingError(
            f"{_called(model)} gives {given} for each example, and this task has {shapes.outputs[0]} classes",
            why="a class is chosen by the largest of its scores, one for each class",
            instead=f"let it give {shapes.outputs[0]} numbers for each example",
        )
    if shapes.kind != "tokens":
        return
    tokens = shapes.vocabularies[1] if shapes.vocabularies else None
    if len(given) != 2 or (tokens is not None and given[1] != tokens):
        raise SettingError(
            f"{_called(model)} gives {given} for each example",
            why=f"each token of an answer is chosen among {tokens} by its score",
            instead=f"called with (inputs, targets), let it give (length of the targets, {tokens}) for each example",
        )
    if not callable(getattr(module, "answer", None)):
        raise SettingError(
            f"{_called(model)} has no method `answer`",
            why="a model of sentences is asked what it would say by itself, without being told the words before",
            instead="write answer(inputs, length), which gives the tokens (n, length)",
        )


def _called(model: Model) -> str:
    named = getattr(model, "adapted", type(model))
    return str(getattr(named, "__qualname__", named))


def _described(inputs: Tensor) -> str:
    kind = "numbers" if inputs.is_floating_point() else "whole numbers (tokens)"
    return f"{kind} of shape (n, {', '.join(map(str, inputs.shape[1:]))})"


def _wanted(shapes: Shapes) -> str:
    if shapes.kind == "classes":
        return f"(n, {shapes.outputs[0]}), a score for each class"
    if shapes.kind == "values":
        return f"(n, {', '.join(map(str, shapes.outputs))})"
    return "the scores of each next token, (n, length, tokens)"
