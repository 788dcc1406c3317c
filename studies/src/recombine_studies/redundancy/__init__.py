"""*Gradient Descent Resists Compositionality*, run again: what a redundant input gives, and what it costs."""

from recombine_studies.redundancy.claims import CLAIMS, PAPER
from recombine_studies.redundancy.figures import DIFFERS, figures, remarks
from recombine_studies.redundancy.grids import PRESETS, grids
from recombine_studies.redundancy.measures import MEASURED
from recombine_studies.study import Study

STUDY = Study(
    name="redundancy",
    title="Redundant inputs",
    paper=PAPER,
    question="Does training use an input that it does not need, learn faster for it, and fail where it misleads?",
    presets=PRESETS,
    grids=grids,
    steps=MEASURED,
    claims=CLAIMS,
    figures=figures,
    trial={"rows": 40, "digit_rows": 100, "followed": 10, "side": 9},
    differs=DIFFERS,
    remarks=remarks,
)
