"""Numbers alone, in one flat JSON object: what `dvc metrics` shows and compares, and any other tracker reads."""

import math
from collections.abc import Sequence

from recombine.formats.told import Told
from recombine.words import json_text


def metrics(told: Sequence[Told]) -> str:
    """The numbers of one table; a number that is not known is left out, so that nobody compares with it."""
    (one,) = told
    return json_text({name: value for name, value in one.numbers.items() if not math.isnan(value)}) + "\n"
