"""Modules of every kind are asked, or refused with a reason."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from tests.probes.flat import geometry
from tests.probes.grids.worlds import codes_of, one_hot

N = 6


def asked(module, inputs=None, **settings):
    codes = codes_of(N, N)
    given = torch.from_numpy(one_hot(N, N)).float() if inputs is None else inputs
    return geometry(module, inputs=given, table={"x": codes[:, 0], "y": codes[:, 1]}, repeats=3, **settings)


def places(found):
    return found.tables["layers"]["where"].to_pylist()


def test_bfloat16():
    found = asked(nn.Linear(2 * N, 8).bfloat16(), torch.from_numpy(one_hot(N, N)).bfloat16())
    assert found.value("additivity") == pytest.approx(1, abs=0.01)


def test_batch_norm_is_left_as_it_was():
    module = nn.Sequential(nn.Linear(2 * N, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    before = module[1].running_mean.clone()
    found = asked(module)
    assert torch.equal(module[1].running_mean, before)
    assert "1" in places(found)


def test_tied_weights_stay_tied_before_training():
    module = nn.Sequential(nn.Linear(2 * N, 2 * N), nn.ReLU(), nn.Linear(2 * N, 2 * N))
    module[2].weight = module[0].weight
    found = asked(module)
    assert found.value("additivity", where="answer", who="random network") is not None


def test_an_lstm_gives_the_first_of_what_it_gives():
    tokens = torch.from_numpy(codes_of(N, N) + np.array([0, N]))

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedded = nn.Embedding(2 * N, 5)
            self.reader = nn.LSTM(5, 7, batch_first=True)
            self.out = nn.Linear(7, 3)

        def forward(self, rows):
            return self.out(self.reader(self.embedded(rows))[0][:, -1])

    found = asked(Reader(), tokens)
    assert places(found) == ["embedded", "reader", "answer"]
    assert found.value("additivity", where="embedded") == pytest.approx(1, abs=1e-5)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        return 2 * rows

    @staticmethod
    def backward(ctx, slope):
        return 2 * slope


def test_a_function_of_ones_own():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2 * N, 4)

        def forward(self, rows):
            return Doubled.apply(self.layer(rows))

    assert asked(Own()).value("additivity", where="layer") == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_a_compiled_module():
    compiled = torch.compile(nn.Sequential(nn.Linear(2 * N, 4), nn.ReLU(), nn.Linear(4, 2)), backend="eager")
    found = asked(compiled)
    assert places(found)[-1] == "answer"
    plain = asked(compiled._orig_mod)
    assert found.value("additivity", where="answer") == pytest.approx(
        plain.value("additivity", where="answer"), abs=1e-5
    )


def test_a_module_that_cannot_be_copied_has_no_random_network_and_says_so():
    class Stuck(nn.Linear):
        def __deepcopy__(self, memo):
            raise TypeError("one of a kind")

    found = asked(nn.Sequential(Stuck(2 * N, 4), nn.ReLU(), nn.Linear(4, 2)))
    assert any("one of a kind" in reason for reason in found.reasons)
    assert "random network" not in found.table["who"].to_pylist()


def test_parts_that_give_no_tensors_are_passed_over():
    class Worded(nn.Module):
        def forward(self, rows):
            return {"rows": rows, "said": "nothing"}

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.layer = Worded(), nn.Linear(2 * N, 3)

        def forward(self, rows):
            return self.layer(self.words(rows)["rows"])

    assert places(asked(Whole())) == ["answer"]


def test_a_small_transformer():
    transformers = pytest.importorskip("transformers")
    settings = {"vocab_size": 2 * N, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(**settings, intermediate_size=16, max_position_embeddings=8)
    tokens = torch.from_numpy(codes_of(N, N) + np.array([0, N]))
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    found = asked(transformers.BertModel(config, add_pooling_layer=False), inputs, layers=["encoder.layer.0", "answer"])
    assert places(found) == ["encoder.layer.0", "answer"]
    assert found.outcome in ("inherited", "mixed", "unclear")
    assert len(places(asked(transformers.BertModel(config), inputs))) <= 13


def test_a_module_that_gives_nothing_by_row_is_refused():
    class Lost(nn.Module):
        def forward(self, rows):
            return rows.mean()

    with pytest.raises(SettingError, match="no layer of Lost gives"):
        asked(Lost())


def test_a_module_that_overflows_is_refused():
    class Overflowing(nn.Module):
        def forward(self, rows):
            return rows / 0

    with pytest.raises(Exception, match="NaN or infinity"):
        asked(Overflowing())
