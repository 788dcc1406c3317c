"""Networks for the sentence tasks whose parts are planted: two transformers side by side, and one for agreement.

*Apart*: one transformer knows the subject's number, another the verb's, and their answers stand side by side in the
vector of a sentence. Each was trained where the other component is left to chance. Where both are asked they disturb
each other, as the components of an ordinary network can.

*Agreeing*: one transformer that was taught which of four sentences does not agree, whatever their number. It answers
the tests of both components, and holds neither: what it knows is whether the two go together.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from recombine.base.seeds import derived
from recombine_lab.models.catalogue import MODELS
from recombine_lab.tasks.task import Shapes
from recombine_studies.subnetworks.grids import SENTENCES, SMALL, problems
from recombine_studies.tasks.agreement import TEMPLATES, Agreement, vocabulary
from recombine_studies.tasks.odd_one_out import ITEMS

KINDS = ("apart", "agreeing")
PARTS = ("first", "second")
_SHARPNESS = 3.0
"""What scores are multiplied by while these networks are taught; the largest of them is the same."""
_STEPS, _BATCH, _RATE, _PROBLEMS = 600, 32, 3e-3, 4000


def task() -> Agreement:
    """The sentences of the study's small preset."""
    return Agreement(pair=SMALL["pairs"][0], number=SMALL["numbers"][0], length=SMALL["length"])


class SideBySide(nn.Module):
    """One or more networks that give each item some numbers; the odd item is the one that is least like the others."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, inputs: Tensor) -> Tensor:
        """Items (n, items, length) as one score for each (n, items)."""
        numbers = torch.cat([part(inputs.flatten(0, 1)) for part in self.parts], dim=-1)
        z = normalize(numbers.reshape(*inputs.shape[:2], -1), dim=-1)
        return -(z * (z.sum(dim=1, keepdim=True) - z)).sum(dim=-1)


def planted(kind: str, seed: int, steps: int = _STEPS) -> nn.Module:
    """A planted network as wide as the study's, trained in some seconds."""
    width, heads = SMALL["transformer"]["width"], SMALL["transformer"]["heads"]
    if kind == "apart":
        halves = [_reader(width // 2, heads // 2, derived(seed, part)) for part in PARTS]
        for half, part in zip(halves, PARTS, strict=True):
            shown = problems(task(), f"mask_{part}", _PROBLEMS, seed=derived(seed, "shown"), part="train")
            _taught(SideBySide(half), shown, steps, seed)
        return SideBySide(*halves).eval()
    made = SideBySide(_reader(width, heads, derived(seed, kind)))
    _taught(made, _disagreeing(derived(seed, "shown")), 2 * steps, seed)
    return made.eval()


def components(seed: int) -> dict[str, tuple[tuple[Tensor, Tensor], ...]]:
    """What is asked of a planted network, in the numbers of the study's small preset."""
    asked = SMALL["search"][SENTENCES]
    return {
        name: (
            problems(task(), f"mask_{part}", asked["problems"], seed=derived(seed, "asked"), part="train"),
            problems(task(), f"target_{part}", asked["tests"], seed=derived(seed, "asked"), part="test"),
        )
        for name, part in zip(("subject", "verb"), PARTS, strict=True)
    }


def right(network: nn.Module, examples: tuple[Tensor, Tensor]) -> float:
    """The share of problems that a network answers rightly."""
    with torch.no_grad():
        return float((network(examples[0]).argmax(dim=1) == examples[1]).float().mean())


def _reader(width: int, heads: int, seed: int) -> nn.Module:
    words = len(vocabulary(task().pair))
    item = Shapes(inputs=(task().length,), outputs=(width,), kind="values", vocabularies=(words, width))
    layers = SMALL["transformer"]["layers"]
    model = MODELS.build({"name": "transformer", "width": width, "heads": heads, "layers": layers, "inner": 2 * width})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made: nn.Module = model.build(item)
    return made


def _taught(network: nn.Module, shown: tuple[Tensor, Tensor], steps: int, seed: int) -> None:
    chance = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(network.parameters(), lr=_RATE)
    rates = torch.optim.lr_scheduler.OneCycleLR(adam, _RATE, total_steps=steps)
    for _ in range(steps):
        rows = torch.randint(len(shown[0]), (_BATCH,), generator=chance)
        adam.zero_grad()
        cross_entropy(_SHARPNESS * network(shown[0][rows]), shown[1][rows]).backward()
        adam.step()
        rates.step()


def _disagreeing(seed: int) -> tuple[Tensor, Tensor]:
    """Problems in which three sentences agree, each in a number of its own, and one does not."""
    chance = torch.Generator().manual_seed(seed)
    first = torch.rand(_PROBLEMS, ITEMS, generator=chance) < 0.5
    odd = torch.randint(ITEMS, (_PROBLEMS,), generator=chance)
    second = first ^ (odd[:, None] == torch.arange(ITEMS))
    constructions = torch.randint(len(TEMPLATES[task().pair]), (_PROBLEMS, 1), generator=chance)
    items = task().items(torch.stack([first, second], dim=-1), constructions, seed=seed, part="train")
    return items, odd
