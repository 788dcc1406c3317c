"""Agreement: which of four sentences breaks the rule?

Sentences come from templates: two words of each agree in number or do not, and often a third stands between them. A
template is a text of words and slots. `people:1` is a slot for one of the people, in the number of the first component;
`:2` takes the number of the second component, `:*` a number of its own, which is there to distract, and a slot that
ends in `:` has none. A *frame* is a template in which all is decided but the numbers of the two components.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from recombine.base.checks import check_choice, check_whole
from recombine.base.seeds import derived
from recombine.data.space import Value
from recombine_lab.tasks.task import Part, Shapes
from recombine_lab.tasks.tokens import Vocabulary
from recombine_studies.tasks.odd_one_out import ITEMS, OddOneOutTask, ProblemSet

Pair = Literal["subject_verb", "reflexive"]
Forms = tuple[str, str]
"""The singular and the plural of a word or a phrase; alike where number does not show."""
SINGULAR, PLURAL = 0, 1
_NUMBERS = {"singular": SINGULAR, "plural": PLURAL}
TEMPLATES: Mapping[Pair, Mapping[str, str]] = {
    # first the subject, second the verb
    "subject_verb": {
        "simple_agrmt": "the people:1 do:2",
        "subj_rel": "the people:1 that meet:1 the others:* do:2",
        "obj_rel_across": "the people:1 that the others:* meet:* do:2",
        "obj_rel_no_comp_across": "the people:1 the others:* meet:* do:2",
        "prep_anim": "the people:1 near: the others:* do:2",
        "prep_inanim": "the things:1 of: the others:* are:2",
    },
    # first the pronoun, second its antecedent
    "reflexive": {
        "simple_reflexives": "the people:2 did: pronouns:1",
        "reflexives_across": "the people:2 that the others:* meet:* did: pronouns:1",
    },
}


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

    NUMERICS: ClassVar[int] = 1

    pair: Pair
    number: Literal["singular", "plural"] = "singular"
    set: ProblemSet = "base"
    length: int = 16

    def __post_init__(self) -> None:
        self.check_set()
        for name, given, known in (("pair", self.pair, TEMPLATES), ("number", self.number, _NUMBERS)):
            check_choice(name, given, known, why=f"it can be {' or '.join(known)}")
        words = longest(self.pair)
        why = f"the longest of these sentences has {words} words"
        check_whole("length", self.length, least=words, why=why, instead=f"write length={words} or more")

    @property
    def both_in_base(self) -> bool:
        """A sentence that breaks both agrees again, and is not in the base set."""
        return False

    @property
    def further(self) -> Mapping[str, Sequence[Value]]:
        """The construction of the four sentences."""
        return {"construction": tuple(TEMPLATES[self.pair])}

    @property
    def shapes(self) -> Shapes:
        """Four rows of tokens in, one of four classes out."""
        words = len(vocabulary(self.pair))
        return Shapes(inputs=(ITEMS, self.length), outputs=(ITEMS,), kind="classes", vocabularies=(words, ITEMS))

    def items(self, kept: Tensor, further: Tensor, *, seed: int, part: Part) -> Tensor:
        """Four sentences for each problem, (n, 4, length)."""
        rng = torch.Generator().manual_seed(seed)
        draws = torch.rand(len(kept), ITEMS, generator=rng)
        first, second = torch.where(kept, _NUMBERS[self.number], 1 - _NUMBERS[self.number]).unbind(dim=-1)
        items = torch.zeros(len(kept), ITEMS, self.length, dtype=torch.int64)
        for code, construction in enumerate(TEMPLATES[self.pair]):
            rows = further[:, 0] == code
            found = sentences(self.pair, construction, self.length)
            pool = found.pools[part]
            frames = pool[(draws[rows] * len(pool)).to(torch.int64)]
            items[rows] = found.tokens[frames, first[rows], second[rows]].to(torch.int64)
        return items

    def read(self, inputs: Tensor) -> list[list[str]]:
        """The sentences of problems (n, 4, length) as texts."""
        texts = vocabulary(self.pair).decode(inputs.flatten(0, 1))
        return [texts[start : start + ITEMS] for start in range(0, len(texts), ITEMS)]


def _alike(*words: str) -> tuple[Forms, ...]:
    return tuple((word, word) for word in words)


FORMS: Mapping[str, tuple[Forms, ...]] = {
    "people": (
        ("baker", "bakers"),
        ("judge", "judges"),
        ("sailor", "sailors"),
        ("poet", "poets"),
        ("nurse", "nurses"),
        ("gardener", "gardeners"),
        ("miner", "miners"),
        ("singer", "singers"),
        ("lawyer", "lawyers"),
        ("neighbour", "neighbours"),
    ),
    "others": (
        ("child", "children"),
        ("carpenter", "carpenters"),
        ("student", "students"),
        ("plumber", "plumbers"),
        ("waiter", "waiters"),
        ("bus driver", "bus drivers"),
        ("engineer", "engineers"),
        ("woman", "women"),
        ("librarian", "librarians"),
        ("tailor", "tailors"),
    ),
    "things": (
        ("letter", "letters"),
        ("statue", "statues"),
        ("play", "plays"),
        ("story", "stories"),
        ("cake", "cakes"),
        ("dress", "dresses"),
        ("drawing", "drawings"),
        ("map", "maps"),
        ("bracelet", "bracelets"),
    ),
    "do": (
        ("sings", "sing"),
        ("waits", "wait"),
        ("dances", "dance"),
        ("is hungry", "are hungry"),
        ("is late", "are late"),
        ("knows the way", "know the way"),
        ("was asleep", "were asleep"),
    ),
    "are": (
        ("is expensive", "are expensive"),
        ("is beautiful", "are beautiful"),
        ("is small", "are small"),
        ("was lost", "were lost"),
        ("looks old", "look old"),
        ("costs a lot", "cost a lot"),
        ("pleases everybody", "please everybody"),
    ),
    "meet": (("meets", "meet"), ("trusts", "trust"), ("follows", "follow"), ("calls", "call")),
    "near": _alike("beside", "behind", "far from", "on the left of", "facing", "opposite"),
    "of": _alike("of", "for"),
    "did": _alike("blamed", "praised", "washed", "cut", "introduced", "warned", "surprised"),
    "pronouns": (("himself", "themselves"), ("herself", "themselves")),
}


_TESTED = 0.1


@dataclass(frozen=True, eq=False)
class AgreementSentences:
    """Every sentence of one construction as tokens (frames, 2, 2, length): number of the first × of the second.

    The frames of the test pool are not in the training pool, so that no sentence is in both.
    """

    tokens: Tensor
    pools: Mapping[Part, Tensor]


def frames(template: str) -> Iterator[list[str]]:
    """Each frame as four sentences: (first, second) singular-singular, singular-plural, plural-singular, plural-plural.

    >>> next(frames("the people:1 do:2"))
    ['the baker sings', 'the baker sing', 'the bakers sings', 'the bakers sing']
    """
    slots = [_slot(word) for word in template.split()]
    distracting = (SINGULAR, PLURAL) if any(number == "*" for _, number in slots) else (SINGULAR,)
    for own, words in product(distracting, product(*(forms for forms, _ in slots))):
        yield [
            " ".join(
                forms[{"1": first, "2": second, "*": own}.get(number, SINGULAR)]
                for forms, (_, number) in zip(words, slots, strict=True)
            )
            for first in (SINGULAR, PLURAL)
            for second in (SINGULAR, PLURAL)
        ]


@cache
def vocabulary(pair: Pair) -> Vocabulary:
    """Every word of the templates of a pair of components."""
    used = [_slot(word)[0] for template in TEMPLATES[pair].values() for word in template.split()]
    return Vocabulary.of(form for forms in used for both in forms for form in both)


@cache
def sentences(pair: Pair, construction: str, length: int) -> AgreementSentences:
    """All sentences of a construction, encoded once."""
    texts = [text for frame in frames(TEMPLATES[pair][construction]) for text in frame]
    tokens = vocabulary(pair).encode(texts, length=length).reshape(-1, 2, 2, length)
    # Two by two: the frames of "himself" and "herself" stand side by side, and share the plural "themselves".
    order = np.random.default_rng(derived(0, "pools", pair, construction)).permutation(len(tokens) // 2)
    mixed = torch.from_numpy(order[:, None] * 2 + np.arange(2)).flatten()
    tested = 2 * max(1, round(_TESTED * len(order)))
    return AgreementSentences(tokens, {"test": mixed[:tested], "train": mixed[tested:]})


def longest(pair: Pair) -> int:
    """How many words the longest sentence has.

    >>> longest("subject_verb")
    12
    """
    return max(
        sum(max(len(form.split()) for both in _slot(word)[0] for form in both) for word in template.split())
        for template in TEMPLATES[pair].values()
    )


def _slot(word: str) -> tuple[tuple[Forms, ...], str]:
    """What can stand at a place of a template, and whose number it takes."""
    name, colon, number = word.partition(":")
    return (FORMS[name], number) if colon else (_alike(name), "")
