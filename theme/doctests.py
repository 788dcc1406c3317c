"""Examples in docstrings as blocks of code: Markdown would take `>>>` for three quotations within each other."""

import re

import griffe

_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*(?:\n(?=>>> ))?)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts a fence around every doctest of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose examples stand within fences.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2").replace("`", "'"))
    Adds.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    <BLANKLINE>
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
