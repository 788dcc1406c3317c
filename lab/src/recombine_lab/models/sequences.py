"""Networks that take sentences: a recurrent one with attention, as in "Gradient Descent Resists Compositionality", and
transformers, those of Hugging Face, built from settings with nothing downloaded.

What those that also answer in sentences share comes first: the vocabularies, what stands before each token, and an
answer without being told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from recombine.base.errors import SettingError
from recombine_lab.models.model import Model, answer_shape, check_attention, check_positive, head, refusal
from recombine_lab.tasks.task import Shapes
from recombine_lab.tasks.tokens import END, PADDING

_PIECES, _FEWEST = 4, 16  # pieces of a batch, and rows of a piece: smaller ones cost more in calls than they save
_NEVER = -1e9  # a score whose softmax is 0; -inf would give NaN where a whole row is padding
"""A score that gives no weight; finite, so that a row without words has no NaN."""


def vocabularies(model: object, shapes: Shapes) -> tuple[int, int]:
    """How many tokens there are on each side, for a model that turns sentences into sentences."""
    if shapes.kind != "tokens" or shapes.vocabularies is None:
        raise refusal(
            model,
            shapes,
            needs="rows of tokens as inputs and as targets, and the sizes of both vocabularies",
            instead="take scan or cogs as the task, or mlp, cnn or transformer as the model",
        )
    return shapes.vocabularies


def shifted(targets: Tensor) -> Tensor:
    """What stands before each target: the end symbol opens, as it closes.

    >>> shifted(torch.tensor([[5, 6, 1, 0]]))
    tensor([[1, 5, 6, 1]])
    """
    opening = torch.full_like(targets[:, :1], END)
    return torch.cat([opening, targets[:, :-1]], dim=1)


def used(tokens: Tensor) -> int:
    """How many columns hold more than padding; at least one."""
    return max(1, int((tokens != PADDING).any(dim=0).sum()))


def in_pieces(targets: Tensor, write: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The scores (n, T, tokens) of targets (n, T), written a few rows at a time.

    Rows of like length go together, without the columns that are padding in all of them: most targets are far shorter
    than the longest, and padding would cost as much as words. `write` takes row numbers and their targets. Where all is
    padding the scores are zero.
    """
    order = (targets != PADDING).sum(dim=1).argsort(stable=True)
    written = []
    for rows in order.tensor_split(max(1, min(_PIECES, len(order) // _FEWEST))):
        cut = targets[rows, : used(targets[rows])]
        written.append(pad(write(rows, cut), (0, 0, 0, targets.shape[1] - cut.shape[1])))
    return torch.cat(written)[order.argsort()]


def greedy(next_scores: Callable[[Tensor], Tensor], *, rows: int, length: int, device: torch.device) -> Tensor:
    """The likeliest token again and again, until every row has ended; what follows an end is padding.

    `next_scores` takes the last tokens (n,) and gives the scores of the next ones (n, tokens); it remembers by itself.
    """
    said = torch.full((rows, length), PADDING, device=device)
    last = torch.full((rows,), END, device=device)
    ended = torch.zeros(rows, dtype=torch.bool, device=device)
    for place in range(length):
        # Padding is no word: a model cannot say it.
        last = next_scores(last)[:, 1:].argmax(dim=-1) + 1
        said[:, place] = last.masked_fill(ended, PADDING)
        ended = ended | (last == END)
        if bool(ended.all()):
            break
    return said


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

    >>> from recombine_lab.tasks.task import Shapes
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

    def build(self, shapes: Shapes) -> nn.Module:
        """The network, for a task of tokens."""
        return _LSTMNetwork(self, *vocabularies(self, shapes))


class _LSTMNetwork(nn.Module):
    """Letters: n rows, S words read, T tokens written, E = 2 × encoder, H = decoder."""

    def __init__(self, settings: LSTMSeq2Seq, words: int, tokens: int) -> None:
        super().__init__()
        read, state = 2 * settings.encoder, settings.decoder
        self.words = nn.Embedding(words, settings.embedding)
        self.reader = _SequenceReader(settings.embedding, settings.encoder)
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

    def _read(self, inputs: Tensor) -> "_ReaderMemory":
        inputs = inputs[:, : used(inputs)]
        there = inputs != PADDING
        sizes = there.sum(dim=1).clamp(min=1)
        read = self.reader(self.words(inputs), sizes)
        last = read[torch.arange(len(read), device=read.device), sizes - 1]
        return _ReaderMemory(read, there, self.bridge(torch.cat([read[:, 0], last], dim=1))[None])

    def _write(self, memory: "_ReaderMemory", targets: Tensor) -> Tensor:
        written, _ = self.writer(self.tokens(shifted(targets)), (memory.start, memory.start))
        return self._scores(written, memory)

    def _scores(self, written: Tensor, memory: "_ReaderMemory") -> Tensor:
        if self.attention is not None:
            written = self.attention(written, memory.read, memory.there)
        scores: Tensor = self.scores(written)
        return scores


@dataclass(frozen=True, eq=False)
class _ReaderMemory:
    """What was read: the reader's outputs (n, S, E), which of them are words (n, S), the writer's start (1, n, H)."""

    read: Tensor
    there: Tensor
    start: Tensor

    def rows(self, rows: Tensor) -> "_ReaderMemory":
        return _ReaderMemory(self.read[rows], self.there[rows], self.start[:, rows].contiguous())


class _SequenceReader(nn.Module):
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


@dataclass(frozen=True, kw_only=True)
class Transformer(Model):
    """An encoder (BERT's) over a row of tokens or of vectors; the answer is read off a class token in front.

    Tokens are inputs (length,) of a task that gives its `vocabularies`; padding is not attended to. Vectors are inputs
    (length, numbers), or one row of numbers that falls into the task's `slots`. `inner` is the hidden width of each
    layer's MLP.

    >>> shapes = Shapes(inputs=(7,), outputs=(4,), kind="classes", vocabularies=(30, 4))
    >>> Transformer(width=16, heads=2, layers=1, inner=32).start(shapes, seed=0)(torch.ones(5, 7).long()).shape
    torch.Size([5, 4])
    """

    width: int = 64
    heads: int = 4
    layers: int = 2
    inner: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        answer = answer_shape(self, shapes)
        if len(shapes.inputs) > 2 or (shapes.vocabularies is None and shapes.inputs[0] % shapes.slots):
            raise refusal(
                self,
                shapes,
                needs="a row of tokens, a row of vectors, or numbers that fall into the task's slots",
                instead="use vit for images, mlp for anything else",
            )
        return Encoder(self, shapes, answer)


@dataclass(frozen=True, kw_only=True)
class TransformerSeq2Seq(Model):
    """An encoder and a decoder (Marian's: sinusoidal positions, layer norms after each sum, as in the first one).

    `layers` counts those of each side; `inner` is the hidden width of each layer's MLP.

    >>> shapes = Shapes(inputs=(9,), outputs=(49,), kind="tokens", vocabularies=(15, 8))
    >>> module = TransformerSeq2Seq(width=16, heads=2, layers=1, inner=32).start(shapes, seed=0)
    >>> module(torch.tensor([[2, 3]]), torch.tensor([[4, 1, 0]])).shape
    torch.Size([1, 3, 8])
    """

    width: int = 64
    heads: int = 4
    layers: int = 2
    inner: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        _check(self)
        if self.width % 2:
            raise SettingError(
                f"TransformerSeq2Seq(width={self.width})",
                why="its positions are written as pairs of a sine and a cosine",
                instead=f"write an even width, for example width={self.width + 1}",
            )

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task of tokens."""
        return _TransformerNetwork(self, shapes, *vocabularies(self, shapes))


class Encoder(nn.Module):
    """BERT's encoder with a class token in front; `words` is how many tokens there are, `body` BERT itself."""

    def __init__(self, settings: Transformer, shapes: Shapes, answer: tuple[int, ...]) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel  # noqa: PLC0415 - heavy, and needed here only

        self.words = shapes.vocabularies[0] if shapes.vocabularies else 0
        length, numbers = _sequence(shapes)
        # The class token is the last of BERT's own embedding; vectors have no other token.
        config = BertConfig(
            vocab_size=self.words + 1,
            pad_token_id=None,
            type_vocab_size=1,
            hidden_size=settings.width,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=settings.inner,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
            max_position_embeddings=length + 1,
        )
        make: Any = BertModel  # its constructor has no type hints
        self.body = make(config, add_pooling_layer=False)
        self.sequence = (length, numbers)
        self.project = None if self.words else nn.Linear(numbers, settings.width)
        self.head = head(settings.width, answer)

    def forward(self, inputs: Tensor) -> Tensor:
        """Tokens (n, length) or vectors as answers."""
        if self.project is None:
            inputs = inputs[:, : used(inputs)]
            row, there = self.body.embeddings.word_embeddings(inputs), inputs != PADDING
        else:
            row = self.project(inputs.reshape(len(inputs), *self.sequence))
            there = torch.ones(row.shape[:2], dtype=torch.bool, device=row.device)
        answers: Tensor = self.head(self.states(row, there)[:, 0])
        return answers

    def states(self, row: Tensor, there: Tensor) -> Tensor:
        """The last layer's states (n, 1 + length, width) of embedded rows (n, length, width), the class token first."""
        first = self.body.embeddings.word_embeddings.weight[self.words].expand(len(row), 1, -1)
        seen = self.body(inputs_embeds=torch.cat([first, row], dim=1), attention_mask=pad(there, (1, 0), value=True))
        states: Tensor = seen.last_hidden_state
        return states


class _TransformerNetwork(nn.Module):
    def __init__(self, settings: TransformerSeq2Seq, shapes: Shapes, words: int, tokens: int) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianModel  # noqa: PLC0415 - heavy, and needed here only

        config = MarianConfig(
            vocab_size=words,
            decoder_vocab_size=tokens,
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=False,
            d_model=settings.width,
            encoder_layers=settings.layers,
            decoder_layers=settings.layers,
            encoder_attention_heads=settings.heads,
            decoder_attention_heads=settings.heads,
            encoder_ffn_dim=settings.inner,
            decoder_ffn_dim=settings.inner,
            dropout=settings.dropout,
            scale_embedding=True,
            max_position_embeddings=max(shapes.inputs[0], shapes.outputs[0]),
            pad_token_id=PADDING,
            eos_token_id=END,
            decoder_start_token_id=END,
        )
        self.body = MarianModel(config)
        self.scores = nn.Linear(settings.width, tokens)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The scores of each target token (n, T, tokens), those before it given; zeros where all is padding."""
        inputs = inputs[:, : used(inputs)]
        read = self.body.encoder(inputs, attention_mask=inputs != PADDING).last_hidden_state

        def write(rows: Tensor, cut: Tensor) -> Tensor:
            written = self._written(shifted(cut), inputs[rows], read[rows], use_cache=False)
            scores: Tensor = self.scores(written.last_hidden_state)
            return scores

        return in_pieces(targets, write)

    @torch.no_grad()
    def answer(self, inputs: Tensor, length: int) -> Tensor:
        """The tokens that it says by itself (n, length)."""
        inputs = inputs[:, : used(inputs)]
        read, past = self.body.encoder(inputs, attention_mask=inputs != PADDING).last_hidden_state, None

        def next_scores(last: Tensor) -> Tensor:
            nonlocal past
            step = self._written(last[:, None], inputs, read, use_cache=True, past_key_values=past)
            past = step.past_key_values
            scores: Tensor = self.scores(step.last_hidden_state[:, -1])
            return scores

        return greedy(next_scores, rows=len(inputs), length=length, device=inputs.device)

    def _written(self, before: Tensor, inputs: Tensor, read: Tensor, **caching: Any) -> Any:
        return self.body.decoder(
            before, encoder_hidden_states=read, encoder_attention_mask=inputs != PADDING, **caching
        )


def _sequence(shapes: Shapes) -> tuple[int, int]:
    """How many tokens or vectors a row has, and how many numbers each."""
    if shapes.vocabularies is not None:
        return shapes.inputs[0], 1
    if len(shapes.inputs) == 2:
        return shapes.inputs[0], shapes.inputs[1]
    return shapes.slots, shapes.inputs[0] // shapes.slots


def _check(model: Transformer | TransformerSeq2Seq) -> None:
    check_positive(model, width=model.width, heads=model.heads, layers=model.layers, inner=model.inner)
    check_attention(model, width=model.width, heads=model.heads, dropout=model.dropout)
