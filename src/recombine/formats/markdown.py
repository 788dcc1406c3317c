"""Markdown: what one reads in the summary of a job, or in a comment on a change.

Values of a table are somebody else's words. All that means something in Markdown is escaped in them, so that they
stand there as they are: no link, no picture, no heading, no HTML. GitHub makes links and mentions of words that have no
markup around them, escaped or not; a character that takes no room keeps them apart. The page's *Copy as Markdown* does
it in the same way (`markdown.js`).
"""

import re
from collections.abc import Iterable, Sequence

from recombine.formats.told import Check, Rows, Told, one_line

_MEANS_SOMETHING = re.compile(r"([\\`*_{}\[\]<>|~#!&$])")
_LINKED = re.compile(
    r"@(?=\S)|:(?=//)|#(?=[0-9])|www(?=\.)|\bGH-(?=[0-9])|\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b", re.IGNORECASE | re.ASCII
)
"""How mentions, addresses and issues begin; a commit, but no number, which has to stay one when it is pasted."""

_WORD_JOINER = "\u2060"
_FENCE = re.compile(r"`{3,}")


def markdown(told: Sequence[Told]) -> str:
    """One section for each table: the grade and the answer, the checks, a few combinations, what to do next."""
    return "\n".join(map(_section, told))


def _section(told: Told) -> str:
    parts = [f"### recombine {told.verb}: {plain(told.source)}", f"**{told.grade}.** {plain(told.headline)}"]
    checks = [check for check in told.checks if check.outcome != "not asked"]
    if checks:
        parts.append(_table(("check", "outcome", "found"), map(_check, checks)))
    if told.rows is not None and told.rows.lines:
        parts += [_title(told.rows), _table(told.rows.columns, told.rows.lines)]
    if told.next:
        parts += ["Next:", _commands(told.next)]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    r"""A text that Markdown shows as it is.

    >>> print(plain("p_cat | <b>"))
    p\_cat \| \<b\>
    >>> plain("@wool")
    '@\u2060wool'
    """
    return _LINKED.sub(_kept_apart, _MEANS_SOMETHING.sub(r"\\\1", one_line(text)))


def _kept_apart(found: re.Match[str]) -> str:
    """A beginning, kept apart from what follows. Of a commit every six letters: GitHub knows it by seven."""
    return re.sub(".{1,6}", rf"\g<0>{_WORD_JOINER}", found[0])


def _check(check: Check) -> tuple[str, str, str]:
    return check.name, check.outcome, check.sentence


def _title(rows: Rows) -> str:
    return f"{plain(rows.title[:1].upper() + rows.title[1:])}:"


def _table(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(columns)
    return "\n".join([_line(head), _line(["---"] * len(head), bare=True), *map(_line, lines)])


def _line(cells: Iterable[str], *, bare: bool = False) -> str:
    return "| " + " | ".join(cell if bare else plain(cell) for cell in cells) + " |"


def _commands(lines: Iterable[tuple[str, str]]) -> str:
    """Commands to paste, each below its reason, between fences longer than any in them."""
    body = "\n".join(f"# {one_line(why)}\n{command}" for command, why in lines)
    fence = "`" * max(3, *(len(found) + 1 for found in ["", *_FENCE.findall(body)]))
    return f"{fence}sh\n{body}\n{fence}"
