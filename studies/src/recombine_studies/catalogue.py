"""The studies by name. One line a study; listing them loads none."""

from importlib import import_module

from recombine.base.checks import check_listed
from recombine_studies.study import PRESETS, Settings, Study

STUDIES = {
    "supports": "recombine_studies.supports",
    "kernel": "recombine_studies.kernel",
    "rendering": "recombine_studies.rendering",
    "redundancy": "recombine_studies.redundancy",
    "subnetworks": "recombine_studies.subnetworks",
    "across": "recombine_studies.across",
}
"""In the order of the papers; the last one stands on the others."""


def study_of(name: str) -> Study:
    """A study by its name.

    >>> study_of("support")
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: no study 'support'
      why      there are supports, kernel, rendering, redundancy, subnetworks, across
      instead  did you mean 'supports'?
    """
    check_listed(name, STUDIES, f"no study {name!r}", why=f"there are {', '.join(STUDIES)}")
    made: Study = import_module(STUDIES[name]).STUDY
    return made


def settings_of(study: Study, preset: str) -> Settings:
    """What a preset of a study says."""
    check_listed(preset, study.presets, f"no preset {preset!r}", why=f"presets are {', '.join(PRESETS)}")
    return study.presets[preset]
