"""Models of sentences: what they give, what they must not depend on, and that they learn."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from recombine.base.errors import SettingError
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model, count_parameters
from recombine_lab.models.sequences import (
    LSTMSeq2Seq,
    Transformer,
    TransformerSeq2Seq,
    _SequenceReader,
    greedy,
    in_pieces,
)
from recombine_lab.tasks.scan import Scan
from recombine_lab.tasks.task import Batch, Shapes
from recombine_lab.tasks.tokens import END, PADDING

_SHAPES = Shapes(inputs=(9,), outputs=(49,), kind="tokens", vocabularies=(15, 8))
_SMALL = TransformerSeq2Seq(width=32, heads=2, layers=1, inner=64)
_SEQ2SEQ = [LSTMSeq2Seq(), LSTMSeq2Seq(decoder=24, attention=False), _SMALL]
_CLASSES = Shapes(inputs=(7,), outputs=(4,), kind="classes", vocabularies=(30, 4))
_ENCODER = Transformer(width=16, heads=2, layers=1, inner=32)

each = pytest.mark.parametrize("model", _SEQ2SEQ, ids=["lstm", "lstm, no attention", "transformer"])


@pytest.fixture(scope="module")
def commands() -> Batch:
    task = Scan()
    return task.tensors(task.every()[:: 20_910 // 70], seed=0)


def _step(module, batch: Batch) -> torch.Tensor:
    scores = module(batch.inputs, batch.targets)
    return cross_entropy(scores.flatten(0, 1), batch.targets.flatten(), ignore_index=PADDING)


@each
def test_it_gives_a_score_for_each_token_and_an_answer_of_the_length_asked(model: Model, commands) -> None:
    module = model.start(_SHAPES, seed=0)
    assert module(commands.inputs, commands.targets).shape == (len(commands), 49, 8)
    said = module.answer(commands.inputs, 5)
    assert said.shape == (len(commands), 5)
    assert said.dtype == torch.int64
    for row in said.tolist():
        closed = row.index(END) if END in row else len(row)
        assert PADDING not in row[:closed]
        assert set(row[closed + 1 :]) <= {PADDING}


@each
def test_weights_depend_on_the_seed_alone(model: Model) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (model.start(_SHAPES, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@each
def test_a_step_reaches_every_weight_and_gives_the_same_bits_twice(model: Model, commands) -> None:
    gradients = []
    for _ in range(2):
        module = model.start(_SHAPES, seed=0)
        _step(module, commands).backward()
        gradients.append({name: weight.grad for name, weight in module.named_parameters() if weight.requires_grad})
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients[0].values())
    assert all(torch.equal(gradients[0][name], gradients[1][name]) for name in gradients[0])


@each
def test_padding_changes_nothing(model: Model, commands) -> None:
    module = model.start(_SHAPES, seed=0).eval()
    short = commands[(commands.inputs[:, 6:] == PADDING).all(dim=1) & (commands.targets[:, 20:] == PADDING).all(dim=1)]
    assert len(short) > 10
    cut = Batch(short.inputs[:, :6], short.targets[:, :20])
    wide, narrow = module(short.inputs, short.targets)[:, :20], module(cut.inputs, cut.targets)
    said = cut.targets != PADDING
    torch.testing.assert_close(wide[said], narrow[said])
    assert torch.equal(module.answer(short.inputs, 20), module.answer(cut.inputs, 20))
    # A row's scores do not depend on the rows beside it, which may be longer.
    alone = torch.cat([module(cut.inputs[k : k + 1], cut.targets[k : k + 1]) for k in range(len(cut))])
    torch.testing.assert_close(alone[said], narrow[said], rtol=1e-4, atol=1e-5)


@each
def test_telling_it_its_own_answer_gives_the_scores_that_the_answer_came_from(model: Model, commands) -> None:
    module = model.start(_SHAPES, seed=3).eval()
    said = module.answer(commands.inputs, 12)
    scores = module(commands.inputs, said)
    likeliest = scores[:, :, 1:].argmax(dim=-1) + 1
    assert torch.equal(likeliest[said != PADDING], said[said != PADDING])


@each
def test_a_token_does_not_depend_on_those_after_it(model: Model, commands) -> None:
    module = model.start(_SHAPES, seed=0).eval()
    long = commands[(commands.targets != PADDING).sum(dim=1) > 12]
    changed = long.targets.clone()
    changed[:, 8:12] = 2
    before, after = module(long.inputs, long.targets), module(long.inputs, changed)
    torch.testing.assert_close(before[:, :9], after[:, :9])
    assert not torch.allclose(before[:, 9:12], after[:, 9:12])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "lr", "steps"), [(LSTMSeq2Seq(), 0.02, 240), (_SMALL, 0.01, 120)], ids=["lstm", "transformer"]
)
def test_it_learns_eight_commands_by_heart(model: Model, lr, steps, commands) -> None:
    module, few = model.start(_SHAPES, seed=0), commands[commands.targets[:, 20] == PADDING][::4][:8]
    optimiser = torch.optim.Adam(module.parameters(), lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        _step(module, few).backward()
        optimiser.step()
    assert torch.equal(module.eval().answer(few.inputs, 49), few.targets)


def test_the_recurrent_network_has_the_sizes_of_document_4() -> None:
    module = LSTMSeq2Seq().start(_SHAPES, seed=0)
    reader = 2 * 4 * (16 * (32 + 16) + 2 * 16)
    writer = 4 * (64 * (32 + 64) + 2 * 64)
    attention = 64 * 32 + (64 + 32) * 64 + 64
    assert count_parameters(module) == (15 + 8) * 32 + reader + writer + attention + 64 * 8 + 8 == 41_000
    # 2 places × 2 directions × 16 = 64: the writer's start needs no layer of its own.
    assert not list(module.bridge.parameters())
    assert list(LSTMSeq2Seq(decoder=24).start(_SHAPES, seed=0).bridge.parameters())


def test_the_reader_is_a_bidirectional_lstm_over_packed_rows() -> None:
    rng = torch.Generator().manual_seed(0)
    words, sizes = torch.randn(5, 6, 4, generator=rng), torch.tensor([6, 1, 3, 5, 2])
    reader, twin = _SequenceReader(4, 3), torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)
    for name, weight in (*reader.onwards.named_parameters(), *reader.backwards.named_parameters("x", recurse=False)):
        backwards = name.startswith("x.")
        getattr(twin, name.removeprefix("x.") + "_reverse" * backwards).data.copy_(weight)
    packed = torch.nn.utils.rnn.pack_padded_sequence(words, sizes, batch_first=True, enforce_sorted=False)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(twin(packed)[0], batch_first=True)
    there = torch.arange(6) < sizes[:, None]
    torch.testing.assert_close(reader(words, sizes)[there], expected[there])


def test_pieces_come_back_in_order() -> None:
    rng = torch.Generator().manual_seed(0)
    sizes = torch.randint(0, 7, (70, 1), generator=rng)
    targets = torch.where(torch.arange(6) < sizes, 5, PADDING)
    called = []

    def write(rows: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        called.append(cut.shape)
        return (rows[:, None] * 10 + torch.arange(cut.shape[1]))[:, :, None].float()

    scores = in_pieces(targets, write)[:, :, 0]
    expected = torch.arange(70)[:, None] * 10.0 + torch.arange(6)
    assert torch.equal(scores[targets != PADDING], expected[targets != PADDING])
    assert len(called) == 4
    assert called[0][1] < called[-1][1] == 6


def test_decoding_stops_when_all_have_ended() -> None:
    asked = []

    def next_scores(last: torch.Tensor) -> torch.Tensor:
        asked.append(last.tolist())
        scores = torch.zeros(2, 4)
        scores[:, PADDING] = 9.0  # what it may not say
        scores[0, END] = 1.0
        scores[1, 3 if len(asked) < 3 else END] = 1.0
        return scores

    said = greedy(next_scores, rows=2, length=10, device=torch.device("cpu"))
    assert said.tolist() == [[1] + [0] * 9, [3, 3, 1] + [0] * 7]
    assert len(asked) == 3
    assert asked[0] == [END, END]


def test_rows_without_a_word_give_numbers() -> None:
    for model in _SEQ2SEQ:
        module = model.start(_SHAPES, seed=0)
        assert module(torch.zeros(2, 9).long(), torch.tensor([[1, 0], [2, 1]])).isfinite().all()


def test_the_encoder_serves_tokens_vectors_and_slots() -> None:
    rng = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 30, (5, 7), generator=rng)
    module = _ENCODER.start(_CLASSES, seed=0).eval()
    assert module(tokens).shape == (5, 4)
    for shapes, answer in (
        (Shapes(inputs=(6, 3), outputs=(2,), kind="values"), (2,)),
        (Shapes(inputs=(8,), outputs=(10,), kind="classes", slots=2), (10,)),
        (replace(_CLASSES, kind="values", outputs=(3, 2)), (3, 2)),
    ):
        inputs = tokens if shapes.vocabularies else torch.randn(5, *shapes.inputs, generator=rng)
        built = _ENCODER.start(shapes, seed=0)
        given = built(inputs)
        assert given.shape == (5, *answer)
        given.square().sum().backward()
        assert all(weight.grad is not None for weight in built.parameters() if weight.requires_grad)


def test_the_encoder_does_not_attend_to_padding_and_knows_the_order() -> None:
    module = _ENCODER.start(_CLASSES, seed=0).eval()
    row = torch.tensor([[5, 6, 7, 0, 0, 0, 0]])
    mixed = torch.cat([row, torch.full((1, 7), 9)])
    torch.testing.assert_close(module(row), module(mixed)[:1])
    torch.testing.assert_close(module(row), module(row[:, :3]))
    assert not torch.allclose(module(row), module(row[:, [1, 0, 2, 3, 4, 5, 6]]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LSTMSeq2Seq(encoder=0), r"LSTMSeq2Seq\(encoder=0\)"),
        (
            lambda: LSTMSeq2Seq().build(_CLASSES),
            "LSTMSeq2Seq cannot serve this task.*\n.*rows of tokens.*\n.*scan or cogs",
        ),
        (lambda: _SMALL.build(_CLASSES), "TransformerSeq2Seq cannot serve this task"),
        (lambda: Transformer().build(_SHAPES), "(?s)Transformer cannot serve this task.*lstm_seq2seq"),
        (
            lambda: Transformer().build(Shapes(inputs=(3, 8, 8), outputs=(2,), kind="values")),
            "(?s)row of tokens.*use vit",
        ),
        (lambda: Transformer(width=10, heads=4), r"(?s)width=10, heads=4.*width=12"),
        (lambda: TransformerSeq2Seq(width=9, heads=3), "(?s)sine and a cosine.*width=10"),
        (lambda: Transformer(dropout=1.0), r"(?s)dropout=1.0.*share of activations"),
        (lambda: MODELS.build("lstm_seqseq"), "(?s)no model 'lstm_seqseq'.*did you mean 'lstm_seq2seq'"),
    ],
)
def test_what_cannot_be_built_is_told(make, words) -> None:
    with pytest.raises(SettingError, match=words):
        make()


def test_the_catalogue_makes_them_of_their_specs() -> None:
    for model in (*_SEQ2SEQ, _ENCODER):
        assert MODELS.build(MODELS.spec(model)) == model
