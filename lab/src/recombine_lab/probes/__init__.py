"""Probes: why a model handles unseen combinations or does not. Each comes with controls that can say no.

Support (what the data fix if the composition is known), geometry (how a layer holds the factors), influence (which
input and which training combination an answer hangs on), subnetworks (whether parts can be taken out one by one). Any
torch module at any named layer, a run of a store, arrays or files; none of them needs a task of ours.

The public names of this room; each is loaded when it is first used, so that listing them loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recombine_lab.probes.grids.geometry import geometry as geometry
    from recombine_lab.probes.influences.influence import influence as influence
    from recombine_lab.probes.masks.subnetworks import subnetworks as subnetworks
    from recombine_lab.probes.probe import Probe as Probe
    from recombine_lab.probes.supports.support import support as support

_HOME = {
    "Probe": "recombine_lab.probes.probe",
    "geometry": "recombine_lab.probes.grids.geometry",
    "influence": "recombine_lab.probes.influences.influence",
    "subnetworks": "recombine_lab.probes.masks.subnetworks",
    "support": "recombine_lab.probes.supports.support",
}

__all__ = ["Probe", "geometry", "influence", "subnetworks", "support"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_lab.probes' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
