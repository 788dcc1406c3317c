"""A recurrent sequence-to-sequence network with attention, as in "Gradient Descent Resists Compositionality"."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from recombine.lab.models.model import Model
from recombine.lab.models.needs import check_positive
from recombine.lab.models.sequences import greedy, in_pieces, shifted, used, vocabularies
from recombine.lab.tasks.task import Shapes
from recombine.lab.tasks.tokens import PADDING

_NEVER = -1e9
"""A score that gives no weight; finite, so that a row without words has no NaN."""


@dataclass(frozen=True, kw_only=True)
class LSTMSeq2Seq(Model):
    """An LSTM that reads, and an LSTM that writes and looks back at what was read.

    The reader is bidirectional with a state of size `encoder` in each direction; the writer's state has size `decoder`.
    The writer starts from the reader's outputs at the first and at the last word, side by side: 4 × `encoder` numbers,
    64 with the sizes given here, which is its state; a linear layer stands between where the sizes differ. Its cell
    starts from the same numbers.

    Attention comes after the writer (Luong's way): its state asks the reader's outputs by a bilinear score, and what
    they answer joins the state before the scores. Nothing of it flows back into the writer, so that a whole target
    sentence is one call of the LSTM.

    >>> from recombine.lab.tasks.task import Shapes
    >>> shapes = Shapes(inputs=(9,), outputs=(49,), kind="tokens", vocabularies=(15, 8))
    >>> module = LSTMSeq2Seq().start(shapes, seed=0)
    >>> module(torch.tensor([[2, 3]]), torch.tensor([[4, 1, 0]])).shape
    torch.Size([1, 3, 8])
    """

    embedding: int = 32
    encoder: int = 16
    decoder: int = 64
    attention: bool = True

    def __post_init__(self) -> None:
        check_positive(self, embedding=self.embedding, encoder=self.encoder, decoder=self.decoder)

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """The network, for a task of tokens."""
        return _Network(self, *vocabularies(self, shapes))


class _Network(nn.Module):
    """Letters: n rows, S words read, T tokens written, E = 2 × encoder, H = decoder."""

    def __init__(self, settings: LSTMSeq2Seq, words: int, tokens: int) -> None:
        super().__init__()
        read, state = 2 * settings.encoder, settings.decoder
        self.words = nn.Embedding(words, settings.embedding)
        self.reader = _Reader(settings.embedding, settings.encoder)
        self.bridge = nn.Identity() if state == 2 * read else nn.Linear(2 * read, state)
        self.tokens = nn.Embedding(tokens, settings.embedding)
        self.writer = nn.LSTM(settings.embedding, state, batch_first=True)
        self.attention = _Attention(read, state) if settings.attention else None
        self.scores = nn.Linear(state, tokens)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The scores of each target token (n, T, tokens), those before it given; zeros where all is padding."""
        memory = self._read(inputs)
        return in_pieces(targets, lambda rows, cut: self._write(memory.rows(rows), cut))

    @torch.no_grad()
    def answer(self, inputs: Tensor, length: int) -> Tensor:
        """The tokens that it says by itself (n, length)."""
        memory = self._read(inputs)
        state = (memory.start, memory.start)

        def next_scores(last: Tensor) -> Tensor:
            nonlocal state
            written, state = self.writer(self.tokens(last[:, None]), state)
            return self._scores(written, memory)[:, 0]

        return greedy(next_scores, rows=len(inputs), length=length, device=inputs.device)

    def _read(self, inputs: Tensor) -> "_Memory":
        inputs = inputs[:, : used(inputs)]
        there = inputs != PADDING
        sizes = there.sum(dim=1).clamp(min=1)
        read = self.reader(self.words(inputs), sizes)
        last = read[torch.arange(len(read), device=read.device), sizes - 1]
        return _Memory(read, there, self.bridge(torch.cat([read[:, 0], last], dim=1))[None])

    def _write(self, memory: "_Memory", targets: Tensor) -> Tensor:
        written, _ = self.writer(self.tokens(shifted(targets)), (memory.start, memory.start))
        return self._scores(written, memory)

    def _scores(self, written: Tensor, memory: "_Memory") -> Tensor:
        if self.attention is not None:
            written = self.attention(written, memory.read, memory.there)
        scores: Tensor = self.scores(written)
        return scores


@dataclass(frozen=True, eq=False)
class _Memory:
    """What was read: the reader's outputs (n, S, E), which of them are words (n, S), the writer's start (1, n, H)."""

    read: Tensor
    there: Tensor
    start: Tensor

    def rows(self, rows: Tensor) -> "_Memory":
        return _Memory(self.read[rows], self.there[rows], self.start[:, rows].contiguous())


class _Reader(nn.Module):
    """A bidirectional LSTM over rows of different lengths.

    The second LSTM reads each row from its last word to its first, padding last: what `nn.LSTM` does with packed rows,
    in a third of its time on a CPU.
    """

    def __init__(self, embedding: int, state: int) -> None:
        super().__init__()
        self.onwards = nn.LSTM(embedding, state, batch_first=True)
        self.backwards = nn.LSTM(embedding, state, batch_first=True)

    def forward(self, words: Tensor, sizes: Tensor) -> Tensor:
        """The outputs of both, word by word (n, S, E)."""
        places = torch.arange(words.shape[1], device=words.device)
        turned = (sizes[:, None] - 1 - places) % len(places)
        rows = torch.arange(len(words), device=words.device)[:, None]
        return torch.cat([self.onwards(words)[0], self.backwards(words[rows, turned])[0][rows, turned]], dim=-1)


class _Attention(nn.Module):
    def __init__(self, read: int, state: int) -> None:
        super().__init__()
        self.ask = nn.Linear(state, read, bias=False)
        self.join = nn.Linear(state + read, state)

    def forward(self, states: Tensor, read: Tensor, there: Tensor) -> Tensor:
        """The writer's states (n, T, H) with what they found among the words that are there (n, S)."""
        match = self.ask(states) @ read.transpose(1, 2)
        found = match.masked_fill(~there[:, None], _NEVER).softmax(dim=-1) @ read
        joined: Tensor = torch.tanh(self.join(torch.cat([states, found], dim=-1)))
        return joined
