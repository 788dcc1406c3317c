"""Probes: why a model handles unseen combinations or does not. Each comes with controls that can say no.

Support (what the data fix if the composition is known), geometry (how a layer holds the factors), influence (which
input and which training combination an answer hangs on), subnetworks (whether parts can be taken out one by one). Any
torch module at any named layer, a run of a store, arrays or files; none of them needs a task of ours.

The public names of this room; each is loaded when it is first used, so that listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded

if TYPE_CHECKING:
    from recombine.probes.grids.geometry import geometry as geometry
    from recombine.probes.influences.influence import influence as influence
    from recombine.probes.masks.subnetworks import subnetworks as subnetworks
    from recombine.probes.probe import Probe as Probe
    from recombine.probes.supports.support import support as support

_HOME = {
    "Probe": "recombine.probes.probe",
    "geometry": "recombine.probes.grids.geometry",
    "influence": "recombine.probes.influences.influence",
    "subnetworks": "recombine.probes.masks.subnetworks",
    "support": "recombine.probes.supports.support",
}

__all__ = ["Probe", "geometry", "influence", "subnetworks", "support"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.probes' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
