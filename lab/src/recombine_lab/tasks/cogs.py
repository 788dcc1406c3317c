"""COGS, from its files: an English sentence in, its logical form out."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.checks import check_whole
from recombine.base.errors import SettingError
from recombine.data.space import Factor, Space
from recombine_lab.tasks.data_files import open_text
from recombine_lab.tasks.exposure import FiniteSource, Parts
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes
from recombine_lab.tasks.tokens import Vocabulary

_FILES = ("train", "dev", "test", "gen")
_VOICES = ("active", "passive")
_LENGTHS = {"1": 1, "2-5": 5, "6-9": 9, "10-14": 14, "15-22": 22, "23 and more": 10**9}
_SHORTEST = 25


@dataclass(frozen=True, kw_only=True)
class Cogs(DiscreteTask):
    """COGS: 51,155 sentences with their logical forms. Needs its files.

    Factors are `split` (train, dev, test, gen), `type` (the kind of example, in gen the kind of generalisation),
    `length` (words of the sentence, the full stop counted) and `voice` (passive where the sentence has "was"). A
    combination stands for many sentences: its codes alone are rendered as one of them, drawn by the seed; with the
    number of a sentence as one more column they are rendered as that one.

    `own_parts` trains on train, and asks for test (`seen`) and gen (`unseen`); with `by_type` also for each type of gen
    by itself. `longest` leaves out what has more tokens on the target side, the end counted: the longest in train has
    154, the longest in gen 481, and every row is padded to the longest.
    """

    longest: int | None = None
    by_type: bool = False

    def __post_init__(self) -> None:
        if self.longest is not None:
            check_whole(
                "longest",
                self.longest,
                least=_SHORTEST,
                why=f"hardly a sentence has a logical form of fewer than {_SHORTEST} tokens",
                instead="write for example longest=154, the longest that training has",
            )

    @property
    def space(self) -> Space:
        """Splits, types, lengths and voices; what no sentence has is impossible."""
        return self._sentences.space

    @property
    def shapes(self) -> Shapes:
        """Rows of words in, rows of the logical form's tokens with their end out."""
        held = self._sentences
        return Shapes(
            inputs=(held.inputs.shape[1],),
            outputs=(held.targets.shape[1],),
            kind="tokens",
            vocabularies=(len(held.words), len(held.forms)),
        )

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - each split is a factor value
        """Sentences and logical forms as numbers, looked up."""
        held, codes = self._sentences, latents.cpu().numpy()
        if codes.shape[1] > len(self.space.factors):
            rows = codes[:, len(self.space.factors)]
        else:
            rows = held.drawn(codes, np.random.default_rng(seed))
        inputs, targets = held.inputs[rows].long(), held.targets[rows].long()
        return Batch(inputs.to(latents.device), targets.to(latents.device))

    def in_words(self, targets: Tensor) -> list[str]:
        """Rows of target tokens as logical forms."""
        return self._sentences.forms.decode(targets)

    def truth(self, combinations: Codes) -> None:
        """A combination has no answer of its own: its sentences have."""

    def texts(self, latents: Tensor) -> list[tuple[str, str]]:
        """The sentences and logical forms of latents that hold the numbers of sentences."""
        held, rows = self._sentences, latents[:, -1]
        return list(zip(held.words.decode(held.inputs[rows]), held.forms.decode(held.targets[rows]), strict=True))

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the published lines are fixed
        """train to learn from; test and gen to ask about."""
        split, kind = (self._sentences.values(name) for name in ("split", "type"))
        tests = {"seen": self._source(split == "test"), "unseen": self._source(split == "gen")}
        if self.by_type:
            kinds = np.unique(kind[split == "gen"]).tolist()
            tests |= {name: self._source((split == "gen") & (kind == name)) for name in kinds}
        return Parts(self._source(split == "train"), tests)

    def _source(self, held: npt.NDArray[np.bool_]) -> FiniteSource:
        rows = np.flatnonzero(held)
        return FiniteSource(torch.from_numpy(np.column_stack([self._sentences.codes[rows], rows])))

    @cached_property
    def _sentences(self) -> "_CogsSentences":
        return _sentences(self.longest)


@dataclass(frozen=True, eq=False)
class _CogsSentences:
    """The sentences of all files, in order: their codes, and both sides as tokens."""

    space: Space
    codes: Codes
    words: Vocabulary
    forms: Vocabulary
    inputs: Tensor
    targets: Tensor

    def values(self, name: str) -> npt.NDArray[np.str_]:
        """Each sentence's value of a factor."""
        k = self.space.position(name)
        return np.array(self.space.factors[k].labels)[self.codes[:, k]]

    def drawn(self, combinations: Codes, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """A sentence of each combination."""
        cells, order = self._ordered
        wanted = np.ravel_multi_index(tuple(combinations.T), self.space.sizes)
        first, beyond = (np.searchsorted(cells, wanted, side=side) for side in ("left", "right"))
        if (first == beyond).any():
            raise SettingError(
                f"the combination {combinations[int(np.argmax(first == beyond))].tolist()} of COGS",
                why="no sentence has these values together",
                instead="take combinations of task.every()",
            )
        return np.asarray(order[rng.integers(first, beyond)])

    @cached_property
    def _ordered(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        cells = np.ravel_multi_index(tuple(self.codes.T), self.space.sizes)
        order = np.argsort(cells, kind="stable")
        return cells[order], order


@cache
def _sentences(longest: int | None) -> _CogsSentences:
    lines = [(name, *line.split("\t")) for name in _FILES for line in open_text(f"cogs/{name}.tsv")]
    lines = [line for line in lines if longest is None or len(line[2].split()) < longest]
    splits, sentences, forms, kinds = (list(column) for column in zip(*lines, strict=True))
    words, symbols = Vocabulary.of(sentences), Vocabulary.of(forms)
    space, codes = _space_and_codes(splits, kinds, sentences)
    inputs, targets = words.encode(sentences), symbols.encode(forms, end=True)
    return _CogsSentences(space, codes, words, symbols, inputs, targets)


def _space_and_codes(splits: list[str], kinds: list[str], sentences: list[str]) -> tuple[Space, Codes]:
    factors = (
        Factor("split", _FILES, declared=True),
        Factor("type", tuple(dict.fromkeys(kinds)), declared=True),
        Factor("length", tuple(_LENGTHS), declared=True),
        Factor("voice", _VOICES, declared=True),
    )
    lengths = np.searchsorted(list(_LENGTHS.values()), [len(sentence.split()) for sentence in sentences])
    voices = [" was " in sentence for sentence in sentences]
    named = [[factor.code(value) for value in values] for factor, values in ((factors[0], splits), (factors[1], kinds))]
    codes = np.column_stack([*named, lengths, voices]).astype(np.int64)
    grid = np.indices([len(factor.values) for factor in factors]).reshape(len(factors), -1).T
    absent = set(map(tuple, grid.tolist())) - set(map(tuple, codes.tolist()))
    return Space(factors, tuple(sorted(absent))), codes
