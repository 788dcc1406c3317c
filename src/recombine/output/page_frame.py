"""What every page shares: one template around it, one policy, one way to write data for its script.

Every text that came from a user's table is escaped, set as text and never as markup; a page's policy
allows exactly the one script that stands in it, and no request at all.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, wraps
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template, UndefinedError
from markupsafe import Markup, escape

from recombine.base.decoding import MalformedError, decoding
from recombine.base.errors import RecordError
from recombine.base.grades import MEANING, MEANINGS
from recombine.base.records import Record
from recombine.output import headline as wording
from recombine.output.first_screen import first_screen
from recombine.output.headline import Headline, headline
from recombine.output.page_lists import PageList

SCRIPTS = ("page.js", "address.js", "save.js", "markdown.js")
"""What every page can do, before what is its own."""
_PACKAGE = "recombine.output"
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_FROM_TO = " → "  # a diff speaks of two
_CONTENTS = "<!--contents-->"
_CODE = re.compile("`([^`]+)`")
_SECTION = re.compile(r'<section id="([a-z]+)" aria-labelledby="\1-title">\s*<h2 id="\1-title">(.*?)</h2>')

Data = Mapping[str, Any]
Draw = Callable[[Record], str]


def page_of(kind: str, *, called: str, command: str) -> Callable[[Draw], Draw]:
    """The page of one kind of record: another kind is refused, and so is a record that does not hold what it should.

    A page is drawn from a record alone, which may have been read from a folder and never seen by the result's class.
    """
    saved = f"`recombine {command} … --out FOLDER`"

    def around(draw: Draw) -> Draw:
        @wraps(draw)
        def page(record: Record) -> str:
            if record.kind != kind:
                raise RecordError(
                    f"a record of kind '{record.kind}' has no {kind} page",
                    why=f"only the record of {called} can be drawn as one",
                    instead=f"give the record that {saved} saved",
                )
            with decoding(f"this record of {called} cannot be drawn", instead=f"make it again with {saved}"):
                return draw(record)

        return page

    return around


def render(
    template: str,
    record: Record,
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    payload: Data,
    lists: Sequence[PageList],
    package: str = _PACKAGE,
    own_headline: Headline | None = None,
    meaning: Mapping[Any, str] | None = None,
    **shown: Any,
) -> str:
    """The complete page: a template around a record, with its styles, its script and the script's data.

    A kind of result that another package adds brings its template in that package's folder `assets`, its headline, and
    what its grades mean.
    """
    script = "".join(_asset(name) for name in (*SCRIPTS, *scripts))
    made = record.provenance
    try:
        page = _template(template, package).render(
            data=record.data,
            kind=record.kind,
            headline=own_headline or headline(record.kind, record.data),
            first=first_screen(record.kind, record.data),
            made=made,
            table=table_name(made.source),
            day=_day(made.created),
            settings=_settings(made.settings),
            lists=lists,
            payload=safe_json({**payload, "lists": [one.payload() for one in lists]}),
            style="".join(_asset(name) for name in styles),
            script=script,
            grades=MEANINGS.get(record.kind, MEANING) if meaning is None else meaning,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **shown,
        )
        return _with_contents(page)
    except UndefinedError as error:  # what the template asks for is not in the record
        raise MalformedError(f"it does not say everything that its page tells: {error}") from error


def part(template: str, **shown: Any) -> str:
    """A template of `assets/` that is no page: a figure that stands by itself."""
    return _template(template).render(style=_asset("plots.css"), **shown)


def _with_contents(page: str) -> str:
    """The page with a list of its sections; what came from a table is escaped, so every heading found is our own."""
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in _SECTION.findall(page))
    return page.replace(_CONTENTS, f'<nav class="contents" aria-label="On this page"><ol>{links}</ol></nav>', 1)


def table_name(source: str) -> str:
    """What to call the table: a file by its name, anything else as it was given.

    >>> table_name("/data/2026/shoes.csv"), table_name("postgresql://host/shop orders")
    ('shoes.csv', 'postgresql://host/shop orders')
    """
    return source if "://" in source or _FROM_TO in source else PurePath(source).name or source


def coded(text: str) -> Markup:
    """A sentence for a page, with what stands between backticks as code.

    >>> str(coded("Ask `recombine plan` <now>."))
    'Ask <code>recombine plan</code> &lt;now&gt;.'
    """
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before it is marked


def safe_json(payload: Any) -> str:
    """JSON that can stand inside a script element whatever its strings hold.

    >>> safe_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, harmless in UNSAFE.items():
        text = text.replace(sign, harmless)
    return text


def _settings(settings: Data) -> list[tuple[str, str]]:
    return [(name, json.dumps(given, ensure_ascii=False, default=str)) for name, given in settings.items()]


def _day(created: str) -> str:
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{moment.day} {moment:%B %Y}"


@cache
def _template(name: str, package: str = _PACKAGE) -> Template:
    folders = dict.fromkeys((package, _PACKAGE))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(folder, "assets") for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for spoken in ("whole", "decimal", "percent", "shorten", "value"):
        environment.filters[spoken] = getattr(wording, spoken)
    environment.filters["table_name"] = table_name
    environment.filters["coded"] = coded
    return environment.get_template(name)


@cache
def _asset(name: str) -> str:
    return (files(_PACKAGE) / "assets" / name).read_text(encoding="utf-8").replace("\r\n", "\n")
