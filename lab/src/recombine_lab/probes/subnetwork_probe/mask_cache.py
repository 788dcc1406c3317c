"""Finished masks in a folder, so that a search that was cut goes on: safetensors and JSON, nothing that is executed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file

from recombine.base.errors import RecordError, SettingError
from recombine.base.files import place_of, write_text
from recombine_lab.probes.subnetwork_probe.components import Component, digest
from recombine_lab.probes.subnetwork_probe.mask_learning import Learned, MaskJob
from recombine_lab.probes.subnetwork_probe.masked_network import ParameterLayout, State

_PLAN = "subnetworks.json"
_CHOSEN = "masks"


@dataclass(frozen=True)
class Keeper:
    """A folder of finished masks; without one nothing is kept."""

    folder: Path | None

    @classmethod
    def open(cls, folder: str | Path | None, plan: Mapping[str, Any]) -> "Keeper":
        """The folder, which must hold masks of the same search or nothing yet."""
        if folder is None:
            return cls(None)
        place = place_of(folder)
        known = place / _PLAN
        asked = json.loads(json.dumps(plan))
        if known.is_file():
            found = _read(known)
            differing = sorted(name for name in {*found, *asked} if found.get(name) != asked.get(name))
            if differing:
                raise SettingError(
                    f"resume={str(folder)!r}",
                    why=f"its masks belong to another search: {', '.join(differing)} differ",
                    instead="name another folder, or ask as it was asked then",
                )
        elif place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise SettingError(
                f"resume={str(folder)!r}",
                why="it holds something else than masks of a search",
                instead="name a new folder",
            )
        else:
            place.mkdir(parents=True, exist_ok=True)
            write_text(known, json.dumps(asked, indent=1))
        return cls(place)

    def get(self, job: MaskJob) -> Learned | None:
        """A mask that was finished before."""
        if self.folder is None or not self._paths(job)[1].is_file():
            return None
        tensors, words = self._paths(job)
        return Learned({name: one.bool() for name, one in _tensors(tensors).items()}, **_read(words))

    def put(self, job: MaskJob, learned: Learned) -> None:
        """Keep a mask; its numbers are written last, and say that it is whole."""
        if self.folder is None:
            return
        tensors, words = self._paths(job)
        save_file({name: mask.contiguous() for name, mask in learned.mask.items()}, tensors)
        numbers = {name: getattr(learned, name) for name in ("density", "held_out", "soft_gap", "undecided")}
        write_text(words, json.dumps(numbers))

    def choose(self, masks: Mapping[str, Mapping[int, Mapping[str, npt.NDArray[np.bool_]]]]) -> None:
        """The final masks, a file for each component and seed, with a boolean for every weight."""
        if self.folder is None:
            return
        (self.folder / _CHOSEN).mkdir(exist_ok=True)
        listed = []
        for k, (component, by_seed) in enumerate(masks.items()):
            for seed, arrays in by_seed.items():
                file = f"{k}-{seed}.safetensors"
                save_file(
                    {n: torch.from_numpy(np.ascontiguousarray(a)) for n, a in arrays.items()},
                    self.folder / _CHOSEN / file,
                )
                listed.append({"component": component, "seed": seed, "file": file})
        write_text(self.folder / _CHOSEN / "masks.json", json.dumps(listed, indent=1))

    def _paths(self, job: MaskJob) -> tuple[Path, Path]:
        assert self.folder is not None  # noqa: S101 - those who call have looked
        name = hashlib.blake2b(job.key.encode(), digest_size=12).hexdigest()
        return self.folder / f"{name}.safetensors", self.folder / f"{name}.json"


def saved_masks(folder: str | Path) -> dict[str, dict[int, dict[str, npt.NDArray[np.bool_]]]]:
    """The final masks of `subnetworks(…, resume=folder)`: component -> mask seed -> parameter -> boolean array."""
    place = place_of(folder) / _CHOSEN
    if not (place / "masks.json").is_file():
        raise RecordError(
            f"no masks in {str(folder)!r}",
            why="no finished search is kept there",
            instead="run recombine_lab.probes.subnetworks(…, resume=folder) to its end",
        )
    found: dict[str, dict[int, dict[str, npt.NDArray[np.bool_]]]] = {}
    for one in _read(place / "masks.json"):
        tensors = _tensors(place / Path(one["file"]).name)
        found.setdefault(one["component"], {})[one["seed"]] = {n: t.bool().numpy() for n, t in tensors.items()}
    return found


def fingerprint(state: State, layouts: Sequence[ParameterLayout], components: Sequence[Component]) -> dict[str, str]:
    """Digests of the weights and of the examples."""
    weights = hashlib.blake2b(digest_size=16)
    for name in sorted(state):
        weights.update(name.encode())
        weights.update(state[name].detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    layout = hashlib.blake2b(repr(layouts).encode(), digest_size=16).hexdigest()
    data = [digest(part) for one in components for part in (one.fit, one.held_out, one.test)]
    return {
        "weights": weights.hexdigest(),
        "masked": layout,
        "data": hashlib.sha256("".join(data).encode()).hexdigest(),
    }


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except Exception as error:  # safetensors has no public class for all of its own
        raise _damaged(path, error) from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RecordError:
    return RecordError(
        f"'{path}' cannot be read",
        why=f"{type(error).__name__}: {error}",
        instead="remove the file: its mask is learned again",
    )
