"""Kernel theory against networks (Lippl and Stachenfeld, ICLR 2025): are networks sums over what they have seen?"""

from pathlib import Path

from recombine_studies.kernel.claims import CHECKS
from recombine_studies.kernel.figures import figures, remarks
from recombine_studies.kernel.grids import PAPER, SMALL, SMOKE, grids
from recombine_studies.kernel.measures import ANSWERS, NETWORKS
from recombine_studies.study import Study, study_texts

_PRESETS = {"smoke": SMOKE, "small": SMALL, "paper": PAPER}

STUDY = Study(
    name="kernel",
    **study_texts(Path(__file__).with_name("study.toml"), CHECKS, _PRESETS),
    presets=_PRESETS,
    grids=grids,
    steps=(NETWORKS, ANSWERS),
    figures=figures,
    remarks=remarks,
)
