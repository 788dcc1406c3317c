"""Words as numbers: a vocabulary, and texts as rows of equal length.

0 is padding and 1 is the end of a text, in every vocabulary; words begin at 2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from recombine.base.errors import TableError

PADDING, END = 0, 1
_FIRST = 2


@dataclass(frozen=True)
class Vocabulary:
    """Words and their numbers.

    >>> words = Vocabulary.of(["walk left", "walk"])
    >>> words.words, len(words)
    (('left', 'walk'), 4)
    >>> words.encode(["walk left", "walk"], length=3, end=True)
    tensor([[3, 2, 1],
            [3, 1, 0]], dtype=torch.int16)
    >>> words.decode(words.encode(["walk left"], length=5))
    ['walk left']
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """Every word of some texts, in alphabetical order."""
        return cls(tuple(sorted({word for text in texts for word in text.split()})))

    def __len__(self) -> int:
        """How many numbers there are, padding and end among them."""
        return len(self.words) + _FIRST

    def encode(self, texts: Sequence[str], *, length: int | None = None, end: bool = False) -> Tensor:
        """Texts as rows of numbers (n, length), padded on the right; `end` closes each with the end symbol."""
        split = [text.split() for text in texts]
        sizes = np.array([len(words) for words in split], dtype=np.int64)
        longest = int(sizes.max(initial=0)) + end
        if length is not None and longest > length:
            raise TableError(
                f"a text of {longest} tokens" + (", its end counted" if end else ""),
                why=f"there is room for {length}",
                instead=f"write length={longest}, or leave it out",
            )
        rows = np.full((len(texts), length or longest), PADDING, dtype=np.int16)
        filled = np.arange(rows.shape[1]) < sizes[:, None]
        rows[filled] = [self._number(word) for words in split for word in words]
        if end:
            rows[np.arange(len(rows)), sizes] = END
        return torch.from_numpy(rows)

    def decode(self, rows: Tensor) -> list[str]:
        """Rows of numbers as texts, each up to its end or its padding."""
        names = np.array(["", "", *self.words], dtype=object)
        tokens = rows.cpu().numpy()
        sizes = np.cumprod(tokens >= _FIRST, axis=1).sum(axis=1)
        return [" ".join(names[row[:size]]) for row, size in zip(tokens, sizes, strict=True)]

    def _number(self, word: str) -> int:
        if word not in self._numbers:
            raise TableError(
                f"the word {word!r}",
                why=f"it is not among the {len(self.words)} words of the vocabulary",
                instead="make the vocabulary of all texts: Vocabulary.of(texts)",
            )
        return self._numbers[word]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=_FIRST)}
