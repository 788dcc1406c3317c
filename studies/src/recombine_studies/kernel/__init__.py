"""Kernel theory against networks (Lippl and Stachenfeld, ICLR 2025): are networks sums over what they have seen?"""

from recombine_studies.kernel.claims import CLAIMS
from recombine_studies.kernel.figures import DIFFERS, figures, remarks
from recombine_studies.kernel.grids import PAPER, SMALL, SMOKE, grids
from recombine_studies.kernel.measures import ANSWERS, NETWORKS
from recombine_studies.study import Study

STUDY = Study(
    name="kernel",
    title="Kernel theory against networks",
    paper="Lippl and Stachenfeld (ICLR 2025)",
    question="Do networks add up what they attached to conjunctions that they saw, as a kernel must?",
    presets={"smoke": SMOKE, "small": SMALL, "paper": PAPER},
    grids=grids,
    steps=(NETWORKS, ANSWERS),
    claims=CLAIMS,
    figures=figures,
    differs=DIFFERS,
    remarks=remarks,
)
