"""The forms by their names, and what each of them needs."""

from collections.abc import Callable, Mapping, Sequence

from recombine.formats.github import github
from recombine.formats.junit import junit
from recombine.formats.markdown import markdown
from recombine.formats.metrics import metrics
from recombine.formats.sarif import sarif
from recombine.formats.told import Told

FORMS: Mapping[str, Callable[[Sequence[Told]], str]] = {
    "markdown": markdown,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "metrics": metrics,
}
NEED_CHECKS = ("junit", "sarif")
"""Reports of nothing but how checks ended: without any, an empty one would look as if all had passed."""
