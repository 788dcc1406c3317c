"""The one scale of grades: how far a verdict can be trusted, in the same five words for every verb.

A grade is earned by evidence and lost by it. Words for single combinations (seen, determined, leak, …) are another
matter: they say why, the grade says how far to trust it.

To add a grade: its word, meaning, colour and exit code here; every page then explains it. Then the verbs that award it:
`auditing/verdict.py`, `theory/wording.py`, `evaluation/wording.py`, `planning/plan.py`, `splits/linting/lint.py`,
`comparing/grading.py` (mypy finds those that must say a sentence for each), and the tables in `docs/results.md`.
"""

from collections.abc import Mapping
from typing import Literal, get_args

Grade = Literal["sound", "plausible", "weak", "failing", "untested"]

MEANING: Mapping[Grade, str] = {
    "sound": "tested on held-out combinations: better than one answer for all, worse than no simple rule beyond "
    "chance, and the low end reaches what was asked",
    "plausible": "better than the best simple rule, but not as good as asked for certain; or it follows if something "
    "holds that could not be tested here, such as that the factors add up",
    "weak": "tested, and not reliably better than a simple rule; or hanging on one or two examples",
    "failing": "tested, and worse than asked or than a simple rule; or not to be had from what was seen",
    "untested": "not enough evidence to say",
}
OF_DIFFS: Mapping[Grade, str] = {
    "sound": "nothing got worse: nothing changed, or a drop of the score by more than 5 points is ruled out",
    "plausible": "nothing got worse as far as can be told: the score's change is within chance, or there is no score",
    "weak": "combinations were lost or single ones got worse, but no grade fell, nor a score by more than chance",
    "failing": "the grade fell, or a score is worse by more than chance",
    "untested": "nothing is known to be worse, but there is not enough evidence that the score is not",
}
"""The same scale where two results are compared: how far it is safe to say that nothing got worse."""
GRADES: tuple[Grade, ...] = get_args(Grade)

COLOURS: Mapping[Grade, str] = {
    "sound": "green",
    "plausible": "green",
    "weak": "yellow",
    "failing": "red",
    "untested": "yellow",
}
"""Of the verdict on a terminal, where the word itself may stand far away."""

EXIT_CODES: Mapping[Grade, int] = {"sound": 0, "plausible": 0, "weak": 3, "failing": 3, "untested": 4}
"""How a command ends that is held to its grade: 0 pass, 3 fail, 4 not enough evidence."""
