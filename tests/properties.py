"""How many examples Hypothesis draws of a property: all of them each night, a quarter before a change lands.

The profile is chosen by `HYPOTHESIS_PROFILE`. *landing* and *nightly* draw the same examples for everybody: a failure
in CI is a failure at home, whatever the machine's speed. *explore* draws new ones each time.
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_SHARE = {"landing": 0.25, "nightly": 1.0, "explore": 10.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "landing")
_DEFAULT = 100
_LEAST = 10  # of a property that asks for more: fewer would seldom leave the simplest cases


def _scaled(count: int, share: float) -> int:
    return max(min(count, _LEAST), round(count * share))


def examples(count: int, **further: Any) -> settings:
    """The settings of a property that draws `count` examples each night; other settings of Hypothesis may follow."""
    return settings(max_examples=_scaled(count, _SHARE[PROFILE]), **further)


def load_profile() -> None:
    """Let properties that do not ask for a number of their own draw the profile's share of a hundred."""
    for name, share in _SHARE.items():
        settings.register_profile(
            name,
            max_examples=_scaled(_DEFAULT, share),
            deadline=None,
            derandomize=name != "explore",
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(PROFILE)


def write_characters_down() -> None:
    """Hypothesis looks up once which characters there are: three seconds, which are not those of the first test."""
    st.text().validate()
