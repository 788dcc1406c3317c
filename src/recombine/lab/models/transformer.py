"""Transformers: those of Hugging Face transformers, built from settings, with nothing downloaded."""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from recombine.errors import SettingError
from recombine.lab.models.model import Model
from recombine.lab.models.needs import answer_shape, check_attention, check_positive, head, refusal
from recombine.lab.models.sequences import greedy, in_pieces, shifted, used, vocabularies
from recombine.lab.tasks.task import Shapes
from recombine.lab.tasks.tokens import END, PADDING


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

    @final
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
        return _Encoder(self, shapes, answer)


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

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task of tokens."""
        return _Seq2Seq(self, shapes, *vocabularies(self, shapes))


class _Encoder(nn.Module):
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
        embed = self.body.embeddings.word_embeddings
        if self.project is None:
            inputs = inputs[:, : used(inputs)]
            row, there = embed(inputs), inputs != PADDING
        else:
            row = self.project(inputs.reshape(len(inputs), *self.sequence))
            there = torch.ones(row.shape[:2], dtype=torch.bool, device=row.device)
        first = embed.weight[self.words].expand(len(row), 1, -1)
        seen = self.body(inputs_embeds=torch.cat([first, row], dim=1), attention_mask=pad(there, (1, 0), value=True))
        answers: Tensor = self.head(seen.last_hidden_state[:, 0])
        return answers


class _Seq2Seq(nn.Module):
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
