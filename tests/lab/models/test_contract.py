"""What holds for every network: shapes, seeds, gradients, specs, and training as one batched network."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap

from recombine.base.errors import SettingError
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.decoders import SlotDecoder
from recombine_lab.models.model import Model
from recombine_lab.tasks.task import Shapes
from tests.lab.models.cases import ALL, TOGETHER, WORDS, Case, inputs

every = pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
together = pytest.mark.parametrize("case", TOGETHER.values(), ids=TOGETHER.keys())


@every
def test_it_gives_what_the_task_asks_for(case: Case) -> None:
    model, shapes = case
    for n in (1, 5):
        answers = model.start(shapes, seed=0).eval()(inputs(shapes, n=n))
        assert answers.shape == (n, *shapes.outputs)
        assert answers.isfinite().all()


@every
def test_weights_depend_on_the_seed_alone(case: Case) -> None:
    model, shapes = case
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, other = (model.start(shapes, seed=seed).state_dict() for seed in (3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)
    again = model.start(shapes, seed=3).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    drawn = [
        name for name in first if first[name].is_floating_point() and first[name].numel() > 1 and first[name].std()
    ]
    assert drawn
    assert not any(torch.equal(first[name], other[name]) for name in drawn)


@every
def test_gradients_reach_every_parameter(case: Case) -> None:
    model, shapes = case
    network = model.start(shapes, seed=0).train()
    network(inputs(shapes)).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@every
def test_examples_do_not_see_each_other(case: Case) -> None:
    model, shapes = case
    network, batch = model.start(shapes, seed=0).eval(), inputs(shapes)
    torch.testing.assert_close(network(batch)[2:3], network(batch[2:3]), atol=1e-5, rtol=1e-4)


@every
def test_a_spec_rebuilds_it(case: Case) -> None:
    model, _ = case
    assert MODELS.build(MODELS.spec(model)) == model


@together
def test_many_as_one_equal_one_by_one(case: Case) -> None:
    model, shapes = case
    networks = [model.start(shapes, seed=seed) for seed in range(3)]
    batches = torch.stack([inputs(shapes, seed=seed) for seed in range(3)])
    parameters, buffers = stack_module_state(networks)
    base = model.start(shapes, seed=0).to("meta")

    def loss(parameters: dict[str, Tensor], buffers: dict[str, Tensor], batch: Tensor) -> Tensor:
        return functional_call(base, (parameters, buffers), (batch,)).square().sum()

    gradients = vmap(grad(loss))(parameters, buffers, batches)
    answers = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)))(parameters, buffers, batches)
    for k, (network, batch) in enumerate(zip(networks, batches, strict=True)):
        alone = network(batch)
        torch.testing.assert_close(answers[k], alone, atol=1e-5, rtol=1e-5)
        assert not torch.allclose(answers[k], networks[k - 1](batch), atol=1e-5)
        alone.square().sum().backward()
        for name, parameter in network.named_parameters():
            largest = float(parameter.grad.abs().max())
            torch.testing.assert_close(gradients[name][k], parameter.grad, atol=1e-5 * max(largest, 1.0), rtol=1e-4)


@every
def test_sentences_are_refused_with_words(case: Case) -> None:
    model, _ = case
    with pytest.raises(SettingError) as caught:
        model.build(WORDS)
    told = str(caught.value)
    assert "cannot serve this task: it gives inputs (9,), outputs (48,), kind 'tokens'" in told
    assert "needs" in told
    assert "use " in told


@pytest.mark.parametrize(
    "name", ["cnn_decoder", "spatial_broadcast", "pixel_transformer", "low_rank_filters", "compositional", "monolithic"]
)
def test_a_decoder_draws_no_classes(name: str) -> None:
    shapes = Shapes(inputs=(10,), outputs=(5,), kind="classes", slots=2)
    with pytest.raises(SettingError, match="needs an image") as caught:
        MODELS.build(name).build(shapes)
    assert "use mlp" in str(caught.value)


@pytest.mark.parametrize("name", ["cnn", "resnet", "vit"])
def test_what_takes_an_image_takes_no_code(name: str) -> None:
    with pytest.raises(SettingError, match="needs an image") as caught:
        MODELS.build(name).build(Shapes(inputs=(10,), outputs=(5,), kind="classes"))
    assert "use mlp" in str(caught.value)


@pytest.mark.parametrize("model", [MODELS.build("cnn_decoder"), MODELS.build("spatial_broadcast"), SlotDecoder()])
def test_what_takes_a_code_takes_no_image(model: Model) -> None:
    with pytest.raises(SettingError, match="needs a code") as caught:
        model.build(Shapes(inputs=(3, 8, 8), outputs=(1, 16, 16), kind="values"))
    assert "one-hot code" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "meant"), [("compositonal", "compositional"), ("MLP", "mlp"), ("resnet18", "resnet"), ("vitt", "vit")]
)
def test_an_unknown_name_suggests_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(SettingError, match=f"did you mean '{meant}'") as caught:
        MODELS.build(wrong)
    assert f"no model '{wrong}'" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"name": "mlp", "hiden": [4]}, "did you mean 'hidden'?"),
        ({"name": "mlp", "activation": "swish"}, "activation"),
        ({"name": "mlp", "hidden": [8, 0]}, "write a number above zero for hidden"),
        ({"name": "mlp", "scale": 0}, "write a number above zero for scale"),
        ({"name": "compositional", "composition": "softocclusion"}, "did you mean 'soft_occlusion'?"),
        ({"name": "compositional", "decoder": "unet"}, "decoder"),
        ({"name": "monolithic", "match": True, "hidden": 8}, "leave out one of the two"),
        ({"name": "cnn", "pool": [3]}, "counted from 1 to 2"),
        ({"name": "resnet", "blocks": [1, 1]}, "as many of the one as of the other"),
        ({"name": "vit", "heads": 6}, "heads=4, or width=258"),
        ({"name": "vit", "dropout": 1.0}, "from 0 to below 1"),
        ({"name": "spatial_broadcast", "width": 3}, "write 4 or more"),
        ({"name": "pixel_transformer", "heads": 5}, "heads=4, or width=130"),
        ({"name": "low_rank_filters", "entropy": -1}, "write 0 to leave a penalty out"),
    ],
)
def test_settings_that_mean_nothing_are_refused(spec: dict[str, object], told: str) -> None:
    with pytest.raises(SettingError) as caught:
        MODELS.build(spec)
    assert told in str(caught.value)


def test_the_tests_above_can_fail() -> None:
    """A network with a weight that no example reaches is found out."""

    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle = nn.Linear(18, 1), nn.Linear(2, 2)

        def forward(self, rows: Tensor) -> Tensor:
            return self.used(rows - rows.mean(0))

    class Faulty(Model):
        def build(self, shapes: Shapes) -> nn.Module:
            return Idle()

    case = (Faulty(), TOGETHER["mlp"][1])
    with pytest.raises(AssertionError, match=r"idle\.weight"):
        test_gradients_reach_every_parameter(case)
    with pytest.raises(AssertionError):
        test_examples_do_not_see_each_other(case)
