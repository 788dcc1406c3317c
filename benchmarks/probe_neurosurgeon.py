"""Masks of a small BERT: `recombine_lab.probes.subnetworks` beside NeuroSurgeon 0.1.0, same masks, batches and steps.

Continuous sparsification as published: one start, Adam, temperature by epoch, the penalty summed over all masks. Both
take a step in turn; told are processor seconds of one thread, and the median of the ratios of neighbours. Memory is
that of a fresh process: what its resident set grew by from before there were masks to the highest point of three steps.
Without NeuroSurgeon (`pip install --no-deps NeuroSurgeon==0.1.0`) ours is measured alone.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import copy
import gc
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure

SIZES = {"2 x 128": (2, 128), "4 x 512 (BERT-small)": (4, 512)}
BATCH, LENGTH, WORDS, ROWS = 16, 16, 200, 256
START, RATE, PENALTY = 0.05, 1e-2, 1e-8
PEER = importlib.util.find_spec("NeuroSurgeon") is not None
MEASURED = Path(__file__).parent.parent / "docs" / "measured" / "probe_neurosurgeon.json"


def bert(layers: int, width: int) -> Any:
    """A random BERT that tells two classes apart."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    torch.set_num_threads(1)
    make: Any = BertForSequenceClassification  # its constructor has no type hints
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        max_position_embeddings=64,
        num_labels=2,
    )
    return make(config).eval()


def masked_layers(model: Any) -> list[str]:
    """The linear layers of the encoder."""
    import torch

    return [n for n, part in model.named_modules() if isinstance(part, torch.nn.Linear) and ".encoder." in n]


def ours(model: Any, parameters: list[str] | None, steps: int, data: Any, forward: Any = None) -> Any:
    """A mask of ours while it is learned: `step(k, steps)` takes the next step."""
    from recombine_lab.probes.subnetwork_probe.components import Component, ComponentData
    from recombine_lab.probes.subnetwork_probe.mask_learning import MaskJob, MaskLearner, Subject, _Chunk
    from recombine_lab.probes.subnetwork_probe.mask_settings import MaskSearch
    from recombine_lab.probes.subnetwork_probe.masked_network import Asker, layouts_of, score_of, state_of

    grid = {"rates": [RATE], "starts": [START], "penalties": [PENALTY]}
    search = MaskSearch(published=True, **grid, steps=steps, batch_size=BATCH).resolved()
    layouts = layouts_of(model, parameters=parameters, group="weight", heads=None)
    learner = MaskLearner(Asker(model, score_of("accuracy"), forward), layouts, search, 0, 1.0)
    examples = ComponentData(*data)
    subject = Subject(state_of(model), Component("one", examples, examples, examples), ())
    return _Chunk(learner, [MaskJob("model", "one", search.configurations[0], 0)], [subject])


def bert_data() -> tuple[Any, Any]:
    """Random sentences of two classes."""
    import torch

    chance = torch.Generator().manual_seed(1)
    return torch.randint(1, WORDS, (ROWS, LENGTH), generator=chance), torch.randint(0, 2, (ROWS,), generator=chance)


def ours_on_bert(model: Any, steps: int) -> Any:
    """A mask of ours on a BERT."""
    names = [f"{name}.weight" for name in masked_layers(model)]
    return ours(model, names, steps, bert_data(), lambda asked, tokens: asked(tokens).logits)


def peers(model: Any, fused: bool) -> tuple[Any, Any]:
    """NeuroSurgeon's model and its optimiser."""
    import torch
    from NeuroSurgeon.Models.circuit_model import CircuitModel
    from NeuroSurgeon.Models.model_configs import CircuitConfig

    settings = {"ablation": "none", "mask_unit": "weight", "mask_bias": False, "mask_init_value": START}
    config = CircuitConfig(mask_hparams=settings, target_layers=masked_layers(model), l0_lambda=PENALTY)
    circuit = CircuitModel(config, model)
    for name, one in circuit.named_parameters():
        one.requires_grad_("mask_params" in name)
    circuit.train(True)
    wanted = [one for one in circuit.parameters() if one.requires_grad]
    return circuit, torch.optim.Adam(wanted, lr=RATE, fused=fused)


def peers_step(circuit: Any, optimiser: Any, heat: float, inputs: Any, targets: Any) -> None:
    """One step as its documentation has it."""
    circuit.temperature = heat
    loss = circuit(input_ids=inputs, labels=targets).loss
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def timed(work: Callable[[], Any]) -> float:
    """Processor seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


def side_by_side(size: str, steps: int, fused: bool) -> dict[str, Any]:
    """Both learn the same masks, step by step in turn: times, and how far the masks are apart in the end."""
    model = bert(*SIZES[size])
    mine, twin = (ours_on_bert(model, steps) for _ in range(2))  # the twin only says which batches these are
    circuit, optimiser = peers(copy.deepcopy(model), fused)
    pairs = []
    for step in range(steps):
        heat = float(twin.heats(step, steps)[0][0])

        def peer_turn(heat: float = heat) -> None:
            batch = next(twin.batches[0])
            peers_step(circuit, optimiser, heat, batch.inputs, batch.targets)

        def own_turn(step: int = step) -> None:
            mine.step(step, steps)

        turns = [own_turn, peer_turn] if step % 2 else [peer_turn, own_turn]
        found = {turn.__name__: timed(turn) for turn in turns}
        pairs.append((found["own_turn"], found["peer_turn"]))
    kept = pairs[2:]  # the first steps fill memory
    return {
        "size": size,
        "optimiser": "fused Adam" if fused else "Adam",
        "masked_weights": sum(one.numel() for one in mine.scores.values()),
        "steps": steps,
        "ours_ms": 1e3 * statistics.median(one for one, _ in kept),
        "neurosurgeon_ms": 1e3 * statistics.median(one for _, one in kept),
        "ratio": statistics.median(one / other for one, other in kept),
    } | apart(mine, circuit, float(mine.heats(steps - 1, steps)[0][0]))


def apart(mine: Any, circuit: Any, heat: float) -> dict[str, Any]:
    """The largest distance of scores and of soft masks, and how many hard ones differ."""
    import torch

    scores, masks, hard = 0.0, 0.0, 0
    with torch.no_grad():
        for name, one in mine.scores.items():
            theirs = circuit.wrapped_model.get_submodule(name.removesuffix(".weight")).weight_mask_params
            scores = max(scores, float((one[0] - theirs).abs().max()))
            masks = max(masks, float((torch.sigmoid(heat * one[0]) - torch.sigmoid(heat * theirs)).abs().max()))
            hard += int(((one[0] > 0) != (theirs > 0)).sum())
    return {"scores_apart": scores, "soft_masks_apart": masks, "hard_masks_that_differ": hard}


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def grown(make: Callable[[], tuple[Callable[[int], None], int]], steps: int = 3) -> Callable[[], dict[str, float]]:
    """What masks add to this process: at the highest point of some steps, and between steps."""

    def work() -> dict[str, float]:
        gc.collect()
        before, started = resident(), time.process_time()
        measure._forget_peak()
        step, weights = make()
        for k in range(steps):
            step(k)
        gc.collect()
        spent = (time.process_time() - started) / steps
        peak = measure._peak_bytes() - before
        return {
            "masked_weights": weights,
            "peak_bytes_per_weight": peak / weights,
            "held_bytes_per_weight": (resident() - before) / weights,
            "process_gib": measure._peak_bytes() / 2**30,
            "seconds_per_step": spent,
        }

    return work


def ours_in_memory(size: str) -> Callable[[], dict[str, float]]:
    """Ours, in a process of its own."""
    model = bert(*SIZES[size])
    model(bert_data()[0][:BATCH], labels=bert_data()[1][:BATCH]).loss.backward()  # what any first step takes
    model.zero_grad()

    def make() -> tuple[Callable[[int], None], int]:
        chunk = ours_on_bert(model, 3)
        return (lambda step: chunk.step(step, 3)), sum(one.numel() for one in chunk.scores.values())

    return grown(make)


def peers_in_memory(size: str) -> Callable[[], dict[str, float]]:
    """NeuroSurgeon, in a process of its own."""
    model = bert(*SIZES[size])
    inputs, targets = bert_data()
    model(inputs[:BATCH], labels=targets[:BATCH]).loss.backward()
    model.zero_grad()

    def make() -> tuple[Callable[[int], None], int]:
        circuit, optimiser = peers(model, fused=False)
        weights = sum(one.numel() for one in circuit.parameters() if one.requires_grad)
        return (lambda _: peers_step(circuit, optimiser, 1.0, inputs[:BATCH], targets[:BATCH])), weights

    return grown(make)


def large(layers: int, width: int) -> Callable[[], dict[str, float]]:
    """Ours on a stack of wide layers: 6 of 4,096 x 4,096 are 10^8 masked weights."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(width, width, bias=False), torch.nn.ReLU())]
    model = torch.nn.Sequential(*parts)
    data = torch.randn(64, width), torch.randint(0, width, (64,))

    def make() -> tuple[Callable[[int], None], int]:
        chunk = ours(model, None, 2, data)
        return (lambda step: chunk.step(step, 2)), sum(one.numel() for one in chunk.scores.values())

    return grown(make, steps=2)


def in_memory(smoke: bool) -> dict[str, Any]:
    """Bytes a masked weight, each in a fresh process."""
    sizes = [] if smoke else list(SIZES)
    found: dict[str, Any] = {"ours": {size: measure.in_child(ours_in_memory, size).answer for size in sizes}}
    if PEER:
        found["neurosurgeon"] = {size: measure.in_child(peers_in_memory, size).answer for size in sizes}
    found["stack"] = measure.in_child(large, *((2, 512) if smoke else (6, 4096))).answer
    return found


def show(times: list[dict[str, Any]], memory: dict[str, Any]) -> None:
    """Print what was found."""
    columns = ["ours_ms", "neurosurgeon_ms", "ratio", "scores_apart", "soft_masks_apart", "hard_masks_that_differ"]
    if times:
        print("milliseconds a step, and how far masks are apart")
        lines = [[f"{one['size']}, {one['optimiser']}", *(one[name] for name in columns)] for one in times]
        measure.table(["BERT", "ours", "NeuroSurgeon", "ratio", "scores", "soft masks", "hard masks"], lines)
    print("\nbytes a masked weight")
    kinds = [(who, size, one) for who in ("ours", "neurosurgeon") for size, one in memory.get(who, {}).items()]
    names = ("peak_bytes_per_weight", "held_bytes_per_weight", "process_gib", "seconds_per_step")
    lines = [[f"{who}, {size}", *(one[name] for name in names)] for who, size, one in kinds]
    stack = memory["stack"]
    lines.append([f"ours, {int(stack['masked_weights']):,} weights", *(stack[name] for name in names)])
    measure.table(["", "peak", "held", "process GiB", "s/step"], lines)


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/measured/probe_neurosurgeon.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    times = []
    if PEER:
        cases = [("2 x 128", False)] if given.smoke else [(size, fused) for size in SIZES for fused in (False, True)]
        times = [side_by_side(size, 6 if given.smoke else 30 if "128" in size else 8, fused) for size, fused in cases]
    else:
        print("NeuroSurgeon is not here: ours alone")
    memory = in_memory(given.smoke)
    show(times, memory)
    if given.write:
        given.out = MEASURED
    measure.write("probe_neurosurgeon", given, {"times": times, "memory": memory})


if __name__ == "__main__":
    main()
