"""Supports and composition: which training combinations are enough, if the way they are put together is known.

After Wiedemer, Mayilvahanan, Bethge and Brendel, *Compositional Generalization from First Principles* (NeurIPS 2023).
"""

from recombine_studies.study import Study
from recombine_studies.supports.claims import CLAIMS
from recombine_studies.supports.figures import figures
from recombine_studies.supports.grids import PRESETS, grids
from recombine_studies.supports.measures import STEPS, TRIAL
from recombine_studies.supports.remarks import DIFFERS, remarks

STUDY = Study(
    name="supports",
    title="Supports and composition",
    paper="Wiedemer et al. (2023)",
    question="If the way in which components are put together is known and built into a model, which training"
    " combinations are enough for it to be right on all others?",
    presets=PRESETS,
    grids=grids,
    steps=STEPS,
    trial=TRIAL,
    claims=CLAIMS,
    figures=figures,
    differs=DIFFERS,
    remarks=remarks,
)
