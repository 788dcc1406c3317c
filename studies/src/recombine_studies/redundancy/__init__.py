"""*Gradient Descent Resists Compositionality*, run again: what a redundant input gives, and what it costs."""

from pathlib import Path

from recombine_studies.redundancy.claims import CHECKS
from recombine_studies.redundancy.figures import figures, remarks
from recombine_studies.redundancy.grids import PRESETS, grids
from recombine_studies.redundancy.measures import MEASURED
from recombine_studies.study import Study, study_texts

STUDY = Study(
    name="redundancy",
    **study_texts(Path(__file__).with_name("study.toml"), CHECKS, PRESETS),
    presets=PRESETS,
    grids=grids,
    steps=MEASURED,
    figures=figures,
    trial={"rows": 40, "digit_rows": 100, "followed": 10, "side": 9},
    remarks=remarks,
)
