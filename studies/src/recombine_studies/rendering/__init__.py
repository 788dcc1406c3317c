"""Rendering: do decoders that are given each coordinate by itself draw places that they were never shown?"""

from pathlib import Path

from recombine_studies.rendering.claims import CHECKS
from recombine_studies.rendering.figures import figures, remarks
from recombine_studies.rendering.grids import PRESETS, grids
from recombine_studies.rendering.measures import STEPS
from recombine_studies.study import Study, study_texts

STUDY = Study(
    name="rendering",
    **study_texts(Path(__file__).with_name("study.toml"), CHECKS, PRESETS),
    presets=PRESETS,
    grids=grids,
    figures=figures,
    steps=STEPS,
    remarks=remarks,
)
