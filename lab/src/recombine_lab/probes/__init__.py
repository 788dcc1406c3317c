"""Probes: why a model handles unseen combinations or does not. Each comes with controls that can say no.

Support (what the data fix if the composition is known), geometry (how a layer holds the factors), influence (which
input and which training combination an answer hangs on), subnetworks (whether parts can be taken out one by one). Any
torch module at any named layer, a run of a store, arrays or files; none of them needs a task of ours.

The public names of this room; each is loaded when it is first used, so that listing them loads no torch.

To add a number of a probe: a function of arrays in its folder, a `Measure` with its controls, a twin and the trio
perfect, empty, adversarial in `tests/probes/`. A measure of geometry: its call in `kernel_measures` (dot products) or
`measures` (features), its side in `benchmarks/probe_geometry.py`, so that the table says whom it is fooled by. A
sensitivity: `influence_probe/sensitivity` (its number and its control), its row in `listing`. Of subnetworks:
`component_usage` decides; an estimator of masks is in `mask_settings`, an ablation in `ablation`, a control in
`mask_search`. A probe: a folder that returns a `Probe`, its line here and in `commands/probe`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recombine_lab.probes.geometry_probe.geometry import geometry as geometry
    from recombine_lab.probes.influence_probe.influence import influence as influence
    from recombine_lab.probes.probe import Probe as Probe
    from recombine_lab.probes.subnetwork_probe.subnetworks import subnetworks as subnetworks
    from recombine_lab.probes.support_probe.support import support as support

_HOME = {
    "Probe": "recombine_lab.probes.probe",
    "geometry": "recombine_lab.probes.geometry_probe.geometry",
    "influence": "recombine_lab.probes.influence_probe.influence",
    "subnetworks": "recombine_lab.probes.subnetwork_probe.subnetworks",
    "support": "recombine_lab.probes.support_probe.support",
}

__all__ = ["Probe", "geometry", "influence", "subnetworks", "support"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_lab.probes' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
