"""How options are written on the command line, turned into what the library takes."""

import csv
import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from recombine.base.errors import SettingError, SourceError
from recombine.base.files import read_cells, read_text
from recombine.base.redaction import redacted
from recombine.data.locations import is_model


def names(given: Iterable[str]) -> list[str]:
    """`a,b` and repeated options alike.

    >>> names(["material,garment", "camera"])
    ['material', 'garment', 'camera']
    """
    return [name for part in given for name in _cells(part) if name]


def _cells(written: str) -> list[str]:
    try:
        return next(csv.reader([written], skipinitialspace=True), [])
    except csv.Error as error:
        raise SettingError(
            f"cannot tell the names in {written!r}",
            why="it is not clear where a name with a line break in it ends",
            instead="put such a name in double quotes",
        ) from error


def listed(columns: Iterable[str]) -> str:
    """Names as one option takes them; `names` reads them back.

    >>> listed(["material", "garment, outer"])
    'material,"garment, outer"'
    """
    return ",".join(map(_cell, columns))


def _cell(name: str) -> str:
    plain = name and name == name.strip() and not set(',"\r\n') & set(name)
    return name if plain else '"' + name.replace('"', '""') + '"'


def given(option: str, value: str) -> list[str]:
    """An option and its value as words; one that begins like an option is tied to it.

    >>> given("--target", "label"), given("--target", "-log p")
    (['--target', 'label'], ['--target=-log p'])
    """
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


_PLAIN_NAMES = ("split", "held")


def in_sql(column: str) -> str:
    """A column's name in a condition; quoted, as it may hold a space or be a word of SQL.

    >>> print(in_sql("split"), in_sql("my split"))
    split "my split"
    """
    return column if column in _PLAIN_NAMES else '"' + column.replace('"', '""') + '"'


def check_page(path: Path | None) -> None:
    """A page is written to a page: a slip must not replace the table by its report."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise SettingError(
            f"--report {path}",
            why="a page's name ends in .html",
            instead=f"--report {path.with_suffix('.html') if path.name else 'page.html'}",
        )


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def size(written: str | None) -> int | None:
    """Bytes, as people write them.

    >>> size("2GB"), size("512 MiB"), size(None)
    (2000000000, 536870912, None)
    """
    if written is None:
        return None
    found = _SIZE.fullmatch(written.strip())
    if found is None:
        raise SettingError(
            f"--memory-limit {written}",
            why="it is not an amount of memory",
            instead="write a number and its unit, for example --memory-limit 2GB",
        )
    number, unit, binary = found.groups()
    base = 1024.0 if binary else 1000.0
    return int(float(number) * base ** " KMGT".index(unit.upper() or " "))


_DIGITS = 18
_SET_SIZE = re.compile(r",(smallest|largest)=(\d{1,9})")
_SET_SIZES = re.compile(rf"(?:{_SET_SIZE.pattern})+$")
_EXAMPLES = {
    "--bins": "age=0,18,65",
    "--change-over": "table=600,lamp=10",
    "--control": "drug=DMSO",
    "--domain": "size=S,M,L",
    "--fail-under": "determined=0.95",
    "--prediction": "cat=p_cat,dog=p_dog",
    "--set": "genes=condition:+",
    "--where": "task=sprites",
}


def assignments(option: str, given: Iterable[str]) -> dict[str, str]:
    """`NAME=SOMETHING`, any number of times.

    >>> assignments("--bins", ["age=0,18,65"])
    {'age': '0,18,65'}
    """
    found = {}
    for part in given:
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise SettingError(
                f"{option} {part}",
                why="it is not of the form NAME=SOMETHING",
                instead=f"write for example {option} {_EXAMPLES[option]}",
            )
        found[name] = value
    return found


def control(written: str | None) -> str | dict[str, str] | None:
    """The value that stands for nothing done: of all factors, or of each that is named.

    >>> control("ctrl"), control("drug=DMSO,gene=ctrl"), control(None)
    ('ctrl', {'drug': 'DMSO', 'gene': 'ctrl'}, None)
    """
    return assignments("--control", names([written])) if written and "=" in written else written


def change_over(given: Iterable[str]) -> dict[str, float]:
    """What a change of each factor costs.

    >>> change_over(["table=600,lamp=10"])
    {'table': 600.0, 'lamp': 10.0}
    """
    found = {}
    for name, written in assignments("--change-over", names(given)).items():
        try:
            found[name] = float(written)
        except ValueError as error:
            raise SettingError(
                f"--change-over {name}={written}",
                why="a cost is a number",
                instead=f"write for example --change-over {_EXAMPLES['--change-over']}",
            ) from error
    return found


def bins(given: Iterable[str]) -> dict[str, Any]:
    """Edges, a number of bins, or a word.

    >>> bins(["age=0,18,65", "price=5", "when=month"])
    {'age': [0.0, 18.0, 65.0], 'price': 5, 'when': 'month'}
    """
    return {name: _bin(value) for name, value in assignments("--bins", given).items()}


def _bin(written: str) -> Any:
    if written.isdecimal():
        return whole("--bins …=", written)
    try:
        return [float(edge) for edge in written.split(",")] if "," in written else written
    except ValueError as error:
        raise SettingError(
            f"--bins …={written}",
            why="an edge is not a number",
            instead="write edges as in --bins age=0,18,65",
        ) from error


def whole(option: str, written: str) -> int:
    """A whole number; one of hundreds of digits is a slip of the pen.

    >>> whole("--hold ", "12")
    12
    """
    if len(written) > _DIGITS:
        raise SettingError(
            f"{option}{written[:_DIGITS]}…",
            why=f"a number of {len(written):,} digits counts nothing",
            instead=f"write for example {option}10",
        )
    return int(written)


def domain(given: Iterable[str]) -> dict[str, list[Any]]:
    """`NAME=a,b,c` any number of times, a JSON file that maps names to lists of values, or a PICT model."""
    found: dict[str, list[Any]] = {}
    for part in given:
        if part.endswith(".json"):
            found |= _json_domain(Path(part))
        elif is_model(part):
            found |= {name: list(values) for name, values in _model(part).domain.items()}
        else:
            found |= {name: names([values]) for name, values in assignments("--domain", [part]).items()}
    return found


def sets(given: Iterable[str], exchangeable: Iterable[str] = ()) -> dict[str, Any]:
    """`NAME=column:separator`, `NAME=column` or `NAME=a,b,c`, any number of times; sizes may stand behind.

    Columns that are `exchangeable`, `a,b`, are a set that is called after them.

    >>> sets(["genes=condition:+", "tools=tools", "drugs=drug_a,drug_b"])
    {'genes': 'condition:+', 'tools': 'tools', 'drugs': ['drug_a', 'drug_b']}
    >>> sets(["genes=condition:+,largest=2"])
    {'genes': {'columns': 'condition:+', 'largest': 2}}
    >>> sets([], ["p1,p2"])
    {'p1+p2': {'columns': ['p1', 'p2'], 'marks': False}}
    """
    found: dict[str, Any] = {}
    for name, whole_text in assignments("--set", given).items():
        written = _SET_SIZES.sub("", whole_text)
        several = [] if ":" in written else names([written])
        source = several if len(several) > 1 else written
        sizes = {which: int(size) for which, size in _SET_SIZE.findall(whole_text[len(written) :])}
        found[name] = {"columns": source, **sizes} if sizes else source
    for written in exchangeable:
        columns = names([written])
        if len(set(columns)) < max(len(columns), 2):
            raise SettingError(
                f"--exchangeable {written}",
                why="values change places between two or more columns",
                instead="name each once: --exchangeable p1,p2",
            )
        found["+".join(columns)] = {"columns": columns, "marks": False}
    return found


def read_from_words(factors: Iterable[str], sets: Mapping[str, Any]) -> str:
    """The options by which a command reads the same factors, some of which are sets, as a result's settings tell them.

    >>> read_from_words(["line", "genes"], {"genes": {"columns": ["condition"], "separator": "+"}})
    '--factors line --set genes=condition:+'
    """
    from recombine.data.set_columns import SetColumns  # noqa: PLC0415 - it brings arrays, which help does not need

    plain = [name for name in factors if name not in sets]
    written = [f"--factors {quoted(listed(plain))}"] * bool(plain)
    for name, one in sets.items():
        exchanged = one.get("marks") is False and name == "+".join(one["columns"])
        option = ("--exchangeable", listed(one["columns"])) if exchanged else ("--set", f"{name}={SetColumns(**one)}")
        written.append(" ".join([option[0], quoted(option[1])]))
    return " ".join(written)


def _json_domain(path: Path) -> dict[str, list[Any]]:
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(
            f"cannot read '{path}'", why=why, instead='write {"factor": ["value", "value"]} into it'
        ) from error
    if not isinstance(content, dict) or not all(isinstance(values, list) for values in content.values()):
        raise SettingError(
            f"--domain {path}",
            why="it does not map names to lists",
            instead='write {"factor": ["value", "value"]} into it',
        )
    return content


def is_rule(written: str) -> bool:
    """Whether something is a rule rather than a file's name.

    >>> is_rule('IF os = "iOS" THEN browser = "Safari"'), is_rule("my rules.csv")
    (True, False)
    """
    return any(sign in written for sign in '="<>{') and not Path(written).is_file()


def _model(path: str) -> Any:
    from recombine.data.pict import read_pict  # noqa: PLC0415 - which loads NumPy, and help can do without

    return read_pict(path)


def impossible(given: Iterable[str]) -> list[Any]:
    """Rules as they are; those of a PICT model; and a file's conjunctions."""
    found: list[Any] = []
    for part in given:
        if is_model(part):
            found += _model(part).impossible
        else:
            found += [part] if is_rule(part) else _conjunctions(Path(part))
    return found


def _conjunctions(path: Path) -> list[dict[str, str]]:
    """A CSV file with factors as columns; each line is a conjunction that cannot occur, and an empty cell means any
    value.
    """
    try:
        _, lines = read_cells(path)
    except (OSError, ValueError, csv.Error) as error:
        raise SourceError(
            f"cannot read '{path}'",
            why=getattr(error, "strerror", None) or str(error),
            instead="give a CSV file with factors as columns, one impossible conjunction a line",
        ) from error
    return [{name: value for name, value in line.items() if name and value} for line in lines]


def gates(given: Iterable[str]) -> dict[str, float]:
    """`determined=0.95`, any number of times."""
    found = {}
    for name, written in assignments("--fail-under", given).items():
        try:
            found[name] = float(written)
        except ValueError:
            found[name] = -1.0
        if not 0 <= found[name] <= 1:
            raise SettingError(
                f"--fail-under {name}={written}",
                why="a share lies between 0 and 1",
                instead=f"write for example --fail-under {name}=0.95",
            )
    return found


def quoted(word: str) -> str:
    """A word as it is pasted into a shell: in double quotes where that reads better than what `shlex` would write.

    >>> print(quoted("split = 'train'"), quoted("my file.csv"), quoted("plain"))
    "split = 'train'" 'my file.csv' plain
    """
    if "'" in word and not set("$`\\!") & set(word):  # which mean something within double quotes
        return '"' + word.replace('"', '\\"') + '"'
    return shlex.quote(word)


def pasted(words: Iterable[str]) -> str:
    """A command of several words, ready to be pasted.

    >>> print(pasted(["recombine", "audit", "table.csv", "--where", "split = 'train'"]))
    recombine audit table.csv --where "split = 'train'"
    """
    return " ".join(map(quoted, words))


def without_forms(command: str) -> str:
    """A command to run next, for a person: without the forms that a job asked for.

    >>> without_forms("recombine lint t.csv --format junit=lint.xml --json --report page.html")
    'recombine lint t.csv --report page.html'
    """
    if "--format" not in command and "--json" not in command:
        return command
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word == "--format":
            next(words, "")
        elif word != "--json" and not word.startswith("--format="):
            kept.append(word)
    return pasted(kept)


def command_line(*, without: Iterable[str] = ()) -> str:
    """What was typed, ready to be pasted, without passwords; and `without` some words, each taken off once."""
    words = sys.argv[1:]
    for word in without:
        if word in words:
            del words[len(words) - 1 - words[::-1].index(word)]  # the last: files stand behind options
    # a name that is no text in any encoding can be given to a command, but not be written into a page
    return pasted(["recombine", *map(redacted, words)]).encode("utf-8", "backslashreplace").decode("utf-8")
