"""Settings of tasks that are refused, with words."""

from typing import get_args

from recombine.errors import SettingError, nearest


def one_of(setting: str, given: object, kind: object) -> None:
    """Refuse what is none of the words of a `Literal`.

    >>> from typing import Literal
    >>> one_of("rule", "summ", Literal["first", "sum"])
    Traceback (most recent call last):
    ...
    recombine.errors.SettingError: rule='summ'
      why      rule has no such value
      instead  did you mean 'sum'?
    """
    words = get_args(kind)
    if given not in words:
        raise SettingError(
            f"{setting}={given!r}", why=f"{setting} has no such value", instead=nearest(str(given), map(str, words))
        )


def at_least(setting: str, given: int, least: int) -> None:
    """Refuse a number that is too small."""
    if given < least:
        raise SettingError(
            f"{setting}={given!r}", why=f"it is below {least}", instead=f"write {setting}={least} or more"
        )
