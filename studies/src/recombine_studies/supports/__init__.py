"""Supports and composition: which training combinations are enough, if the way they are put together is known.

After Wiedemer, Mayilvahanan, Bethge and Brendel, *Compositional Generalization from First Principles* (NeurIPS 2023).
"""

from pathlib import Path

from recombine_studies.study import Study, study_texts
from recombine_studies.supports.claims import CHECKS
from recombine_studies.supports.figures import figures
from recombine_studies.supports.grids import PRESETS, grids
from recombine_studies.supports.measures import STEPS, TRIAL
from recombine_studies.supports.remarks import remarks

STUDY = Study(
    name="supports",
    **study_texts(Path(__file__).with_name("study.toml"), CHECKS, PRESETS),
    presets=PRESETS,
    grids=grids,
    steps=STEPS,
    trial=TRIAL,
    figures=figures,
    remarks=remarks,
)
