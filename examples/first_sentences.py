"""The first sentence of every verb on the seven real tables, as it was and as it is, as a page of the documentation.

    python examples/first_sentences.py [VERB …]     ask these verbs (or all) once more, and write the page

What was said before, and what a reader who had never heard of the tool would do, are kept in the JSON file beside the
other measured things; what is said now is asked for here.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden_verbs import TABLES, VERBS, asked, data_folder  # noqa: E402

import recombine  # noqa: E402 - the root must be known first

FILE = ROOT / "docs" / "measured" / "first_sentences.json"
PAGE = ROOT / "docs" / "first_sentences.md"
TITLES = {"predict": "predict (a number)", "predict_labels": "predict (a label)"}
OPENING = """# First sentences

What every verb says first of the seven real tables: before verdicts were held to what was tested, and now. *Reader* is
what somebody who had never heard of the tool would do after reading the new sentence, in their words.

The targets, the answers and the split are made up for the tables that have none (`tests/golden_verbs.py`): a number
that grows with the logarithm of a combination's count, a label for its upper half, a model that shrinks every effect to
half, a random split. The audits of CelebA and Waterbirds use the tables' own labels. Made by
`python examples/first_sentences.py`.
"""


def said(found: recombine.Result | recombine.RecombineError) -> dict[str, Any]:
    """A verdict and its grade, or the words of a refusal."""
    if isinstance(found, recombine.RecombineError):
        return {"verdict": f"Refused: {str(found).splitlines()[0]}", "grade": None}
    return {"verdict": found.verdict, "grade": found.grade}


def page(told: dict[str, Any]) -> str:
    """The page: a section a table, a part a verb."""
    parts = [OPENING]
    for table in TABLES:
        parts.append(f"## {table.title}\n")
        parts += [_part(verb, told.get(f"{table.name} {verb}", {})) for verb in VERBS]
    return "\n".join(parts)


def _part(verb: str, cell: dict[str, Any]) -> str:
    lines = [f"**{TITLES.get(verb, verb)}**\n"]
    for name in ("before", "after"):
        told = cell.get(name)
        if told:
            lines.append(f"- {'now' if name == 'after' else name}{_grade(told)}: {told['verdict']}")
    if cell.get("reader"):
        lines.append(f"- reader: *{cell['reader']}*")
    return "\n".join(lines) + "\n"


def _grade(told: dict[str, Any]) -> str:
    return f" ({told['grade']})" if told["grade"] else ""


def main() -> None:
    folder = data_folder()
    if folder is None:
        sys.exit("the data sets are not here; set RECOMBINE_DATA to their folder")
    told = json.loads(FILE.read_text(encoding="utf-8"))
    for verb in sys.argv[1:] or VERBS:
        for table in TABLES:
            told.setdefault(f"{table.name} {verb}", {})["after"] = said(asked(table, verb, folder))
            FILE.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(table.name, verb, flush=True)
    PAGE.write_text(page(told), encoding="utf-8")


if __name__ == "__main__":
    main()
