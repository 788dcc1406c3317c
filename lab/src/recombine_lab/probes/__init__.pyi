from .geometry_probe.geometry import geometry as geometry
from .influence_probe.influence import influence as influence
from .influence_probe.questions import FactorExamples as FactorExamples
from .influence_probe.questions import TrainingRows as TrainingRows
from .probe import Probe as Probe
from .subnetwork_probe.subnetworks import subnetworks as subnetworks
from .support_probe.support import support as support

__all__: list[str]
