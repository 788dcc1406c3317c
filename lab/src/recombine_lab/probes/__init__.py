"""Probes: why a model handles unseen combinations or does not. Each comes with controls that can say no.

Support (what the data fix if the composition is known), geometry (how a layer holds the factors), influence (which
input and which training combination an answer hangs on), subnetworks (whether parts can be taken out one by one). Any
torch module at any named layer, a run of a store, arrays or files; none of them needs a task of ours.

The public names of this room stand in `__init__.pyi`; each is loaded when it is first used, so that listing them loads
no torch.

To add a number of a probe: a function of arrays in its folder, a `Measure` with its controls, a twin and the trio
perfect, empty, adversarial in `tests/probes/`. A measure of geometry: its call in `kernel_measures` (dot products) or
`measures` (features), its side in `benchmarks/probe_geometry.py`, so that the table says whom it is fooled by. A
sensitivity: `influence_probe/sensitivity` (its number and its control), its row in `influence_figures`. Of subnetworks:
`component_usage` decides; an estimator of masks is in `mask_settings`, an ablation in `ablation`, a control in
`mask_search`. A probe: a folder that returns a `Probe`, its line in `__init__.pyi` and in `commands/probe`.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
