"""Agreement: which of four sentences breaks the rule?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from recombine.errors import SettingError, nearest
from recombine.lab.tasks.agreement.templates import PLURAL, SINGULAR, TEMPLATES, Pair, longest, sentences, vocabulary
from recombine.lab.tasks.odd_one_out import ITEMS, OddOneOutTask, ProblemSet
from recombine.lab.tasks.task import Part, Shapes
from recombine.tables.space import Value

_NUMBERS = {"singular": SINGULAR, "plural": PLURAL}


@dataclass(frozen=True, kw_only=True)
class Agreement(OddOneOutTask):
    """Odd-one-out of four sentences, in which both components have the rule's number, singular or plural.

    - `subject_verb`: first the subject, second the verb.
    - `reflexive`: first the pronoun (himself, herself, themselves), second its antecedent.

    Where an item breaks one component the sentence is ungrammatical; where it breaks both it agrees, in the other
    number. The base set never breaks both. The four sentences of a problem have the same construction, which is a
    factor; all else about them is drawn apart. A tenth of the frames is kept for the test pool. Inputs are token
    numbers, 0 for padding.

    >>> task = Agreement(pair="subject_verb", number="singular")
    >>> problems = task.tensors([(1, 2, 0)], seed=4)
    >>> problems.inputs.shape, problems.targets
    (torch.Size([1, 4, 16]), tensor([2]))
    >>> task.read(problems.inputs)
    [['the baker knows the way', 'the gardener knows the way', 'the miner were asleep', 'the neighbour is hungry']]
    """

    pair: Pair
    number: Literal["singular", "plural"] = "singular"
    set: ProblemSet = "base"
    length: int = 16

    def __post_init__(self) -> None:
        self.check_set()
        for name, given, known in (("pair", self.pair, TEMPLATES), ("number", self.number, _NUMBERS)):
            if given not in known:
                raise SettingError(
                    f"{name}={given!r}",
                    why=f"it can be {' or '.join(known)}",
                    instead=nearest(str(given), known),
                )
        if self.length < longest(self.pair):
            raise SettingError(
                f"length={self.length!r}",
                why=f"the longest of these sentences has {longest(self.pair)} words",
                instead=f"write length={longest(self.pair)} or more",
            )

    @property
    @final
    def both_in_base(self) -> bool:
        """A sentence that breaks both agrees again, and is not in the base set."""
        return False

    @property
    @final
    def further(self) -> Mapping[str, Sequence[Value]]:
        """The construction of the four sentences."""
        return {"construction": tuple(TEMPLATES[self.pair])}

    @property
    @final
    def shapes(self) -> Shapes:
        """Four rows of tokens in, one of four classes out."""
        words = len(vocabulary(self.pair))
        return Shapes(inputs=(ITEMS, self.length), outputs=(ITEMS,), kind="classes", vocabularies=(words, ITEMS))

    @final
    def items(self, kept: Tensor, further: Tensor, *, seed: int, part: Part) -> Tensor:
        """Four sentences for each problem, (n, 4, length)."""
        chance = torch.Generator().manual_seed(seed)
        draws = torch.rand(len(kept), ITEMS, generator=chance)
        first, second = torch.where(kept, _NUMBERS[self.number], 1 - _NUMBERS[self.number]).unbind(dim=-1)
        items = torch.zeros(len(kept), ITEMS, self.length, dtype=torch.int64)
        for code, construction in enumerate(TEMPLATES[self.pair]):
            rows = further[:, 0] == code
            found = sentences(self.pair, construction, self.length)
            pool = found.pools[part]
            frames = pool[(draws[rows] * len(pool)).to(torch.int64)]
            items[rows] = found.tokens[frames, first[rows], second[rows]].to(torch.int64)
        return items

    @final
    def read(self, inputs: Tensor) -> list[list[str]]:
        """The sentences of problems (n, 4, length) as texts."""
        texts = vocabulary(self.pair).decode(inputs.flatten(0, 1))
        return [texts[start : start + ITEMS] for start in range(0, len(texts), ITEMS)]
