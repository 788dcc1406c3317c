"""Settings of tasks that are refused, with words."""

from typing import get_args

from recombine.checks import check_choice, check_number


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
    check_choice(setting, given, get_args(kind), why=f"{setting} has no such value")


def at_least(setting: str, given: int, least: int) -> None:
    """Refuse a number that is too small."""
    check_number(setting, given, least=least, why=f"it is below {least}", instead=f"write {setting}={least} or more")
