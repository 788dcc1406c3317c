"""What was written down before the runs: a digest of each study's claims, checks and budgets, and every change since.

Preregistration as the empirical sciences do it: `registered.json` holds the digest, and a study's TOML file a dated
line with the reason below `changes` for each time it moved. `python -m recombine_studies.registration` registers anew
what changed, and refuses to where no line was added. A digest leaves out comments and docstrings.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TypedDict, TypeGuard

from recombine_studies.catalogue import STUDIES, study_of
from recombine_studies.study import Study

PLACE = Path(__file__).with_name("registered.json")


class Registered(TypedDict):
    """What stands in the file of one study: its digest, and how many changes its page told of then."""

    digest: str
    changes: int


def study_digest(study: Study) -> str:
    """A digest of what decides: claims with their thresholds in words, the checks' source, the settings of presets."""
    claims = [[one.name, one.says, one.threshold, one.ours] for one in study.claims]
    modules = sorted({"recombine_studies.claims", *(_module(one.check) for one in study.claims)})
    sources = [_plain_source(Path(str(import_module(name).__file__))) for name in modules]
    plain = json.dumps([claims, sources, study.presets], sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _module(check: object) -> str:
    """Where a check is written; of a partial, where its function is."""
    return str(getattr(check, "func", check).__module__)


def _plain_source(path: Path) -> list[str]:
    """The lines of a file that are code: layout of lines counts, so that all versions of Python agree."""
    source = path.read_text(encoding="utf-8")
    texts = [node for node in ast.walk(ast.parse(source)) if _is_text(node)]
    left_out = {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = enumerate(source.splitlines(), start=1)
    return [line for place, line in lines if place not in left_out and line.strip() and line.lstrip()[0] != "#"]


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """A text that stands alone is a docstring, wherever it stands."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def registered() -> dict[str, Registered]:
    """What was registered of each study."""
    return json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.exists() else {}


def register(studies: Mapping[str, Study], before: Mapping[str, Registered]) -> dict[str, Registered]:
    """The file anew; what moved without a further line below `changes` is refused."""
    found = {}
    for name, study in studies.items():
        now = Registered(digest=study_digest(study), changes=len(study.changes))
        then = before.get(name)
        if then and then["digest"] != now["digest"] and now["changes"] <= then["changes"]:
            raise SystemExit(f"'{name}' changed: add a dated line with the reason below `changes` in its TOML file")
        found[name] = now
    return found


def main() -> None:
    """Register what changed."""
    found = register({name: study_of(name) for name in STUDIES}, registered())
    PLACE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
