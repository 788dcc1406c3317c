from .geometry_probe.geometry import geometry as geometry
from .geometry_probe.inputs import AnswerKey as AnswerKey
from .influence_probe.influence import influence as influence
from .influence_probe.questions import FactorExamples as FactorExamples
from .influence_probe.questions import TrainingRows as TrainingRows
from .probe import Probe as Probe
from .subnetwork_probe.agreement import EstimatorAgreement as EstimatorAgreement
from .subnetwork_probe.agreement import agreement as agreement
from .subnetwork_probe.mask_settings import MaskedWeights as MaskedWeights
from .subnetwork_probe.mask_settings import MaskEvidence as MaskEvidence
from .subnetwork_probe.mask_settings import MaskSearch as MaskSearch
from .subnetwork_probe.subnetworks import subnetworks as subnetworks
from .support_probe.composition_fit import FamilyFit as FamilyFit
from .support_probe.composition_fit import FittedComposition as FittedComposition
from .support_probe.composition_fit import fit_composition as fit_composition
from .support_probe.support import support as support

__all__: list[str]
