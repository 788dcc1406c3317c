"""Which of a few items is the odd one: the one that is least like the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import normalize

from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model, check_positive, refusal
from recombine_lab.tasks.task import Shapes


@dataclass(frozen=True, kw_only=True)
class OddOneOut(Model):
    """A backbone gives each item `width` numbers, scaled to length one: z. The score of item i is −Σ ⟨z_i, z_j⟩, j ≠ i.

    The backbone is a model of the catalogue, as a name or as a mapping with its settings; it is built for one item.
    Any order of the items gives the same scores in that order.

    >>> import torch
    >>> shapes = Shapes(inputs=(4, 2), outputs=(4,), kind="classes")
    >>> module = OddOneOut(backbone={"name": "mlp", "hidden": [8]}, width=3).start(shapes, seed=0)
    >>> module(torch.tensor([[[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]])).argmax(dim=1)
    tensor([2])
    """

    NUMERICS: ClassVar[int] = 1

    backbone: str | Mapping[str, Any] = field(default_factory=lambda: {"name": "cnn"})
    width: int = 128

    def __post_init__(self) -> None:
        check_positive(self, width=self.width)
        MODELS.build(self.backbone)

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        if shapes.kind != "classes" or len(shapes.inputs) < 2 or shapes.inputs[:1] != shapes.outputs:
            raise refusal(
                self,
                shapes,
                needs="items as the inputs' first axis, and one class for each of them",
                instead="take relations or agreement as the task, or mlp, cnn or transformer as the model",
            )
        words = None if shapes.vocabularies is None else (shapes.vocabularies[0], self.width)
        item = Shapes(inputs=shapes.inputs[1:], outputs=(self.width,), kind="values", vocabularies=words)
        backbone: Model = MODELS.build(self.backbone)
        return _OddOneOutModule(backbone.build(item))


class _OddOneOutModule(nn.Module):
    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, inputs: Tensor) -> Tensor:
        """Items (n, items, …) as one score for each (n, items)."""
        embedded: Tensor = self.backbone(inputs.flatten(0, 1))
        z = normalize(embedded.reshape(*inputs.shape[:2], -1), dim=-1)
        others = z.sum(dim=1, keepdim=True) - z
        return -(z * others).sum(dim=-1)
