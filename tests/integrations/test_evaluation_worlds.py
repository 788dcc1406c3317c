"""Generated logs with a known truth, through the whole door: what is said to fail beyond its parts was planted."""

import json
import random
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from zipfile import ZipFile

import pytest

import recombine

TOOLS = ["browser", "calculator", "code", "files", "search"]
LANGUAGES, LENGTHS, MODELS = ["en", "de", "sw"], ["short", "long"], ["large", "small"]
SAMPLES = 10
"""Of each cell: as few as people have."""


@dataclass(frozen=True)
class World:
    """Two models with some tools: which pair of tools breaks, and which was never given in which language."""

    seed: int
    breaks: bool

    @property
    def drawn(self) -> tuple[list[str], tuple[str, ...], tuple[str, ...], str]:
        rng = random.Random(self.seed)
        tools = rng.sample(TOOLS, 4)
        broken, absent = rng.sample(list(combinations(sorted(tools), 2)), 2)
        return sorted(tools), broken, absent, rng.choice(LANGUAGES)

    def write(self, folder: Path) -> None:
        """A log of inspect_ai for each model: each part costs something, the broken pair nearly all."""
        tools, broken, absent, language = self.drawn
        rng = random.Random(self.seed + 1_000)
        cost = {part: rng.uniform(0, 0.12) for part in (*tools, *LANGUAGES, *LENGTHS, *MODELS)}
        kits = [kit for size in (0, 1, 2) for kit in combinations(tools, size)]
        for model in MODELS:
            with ZipFile(folder / f"{model}.eval", "w") as log:
                said = {"eval_id": model, "task": "t", "model": model}
                log.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": said}))
                cells = product(kits, LANGUAGES, LENGTHS, range(SAMPLES))
                for number, (kit, tongue, length, _) in enumerate(cells):
                    if kit == absent and tongue == language:
                        continue
                    share = 0.95 - sum(cost[part] for part in (*kit, tongue, length, model))
                    share = 0.15 if self.breaks and kit == broken else share
                    sample = {
                        "id": number,
                        "epoch": 1,
                        "target": "done",
                        "scores": {"match": {"value": "C" if rng.random() < share else "I"}},
                        "metadata": {"tools": list(kit), "language": tongue, "length": length},
                    }
                    log.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))

    def is_said_rightly(self, folder: Path) -> bool:
        """Whether exactly the broken pair is named, and exactly the absent cells are said to be untested."""
        _, broken, absent, language = self.drawn
        found = recombine.evaluate(
            str(folder), sets={"tools": "tools"}, factors=["model", "language", "length"], score="match", causes=False
        )
        named = [one.group for one in found.deviations.groups]
        missing = {tuple(sorted(one.combination.items())) for one in found.untested.listed}
        never = {
            (("language", language), ("length", length), ("model", model), ("tools", " + ".join(absent)))
            for length, model in product(LENGTHS, MODELS)
        }
        planted = [{"tools": f"any with {' + '.join(broken)}"}] if self.breaks else []
        return named == planted and missing == never


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [True, False])
def test_what_is_said_of_twenty_generated_evaluations_is_right(tmp_path, breaks):
    right = 0
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        world = World(seed, breaks)
        world.write(folder)
        right += world.is_said_rightly(folder)
    assert right >= 18
