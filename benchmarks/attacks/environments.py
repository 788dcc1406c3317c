"""Environments that are not a developer's terminal: strict warnings, old encodings, outputs that take nothing."""

import os

from attacks.case import Case
from attacks.children import CLOSED, Child, Order, forked, fresh
from attacks.command import CODES
from attacks.outputs import NEEDS, TABLE

_ENVIRONMENTS = ("warnings", "ascii", "latin-1", "full", "closed", "warnings+ascii")
_VERBS = (*NEEDS, "demo", "--help", "--version", "runs list", "refused")


def attack(case: Case) -> None:
    """One verb in one environment; every twelfth in an interpreter of its own, where loading counts too."""
    environment = _ENVIRONMENTS[case.number % len(_ENVIRONMENTS)]
    verb = _VERBS[(case.number // len(_ENVIRONMENTS) + case.number) % len(_VERBS)]
    place = case.folder / "place"
    place.mkdir()
    # the first value needs more than ASCII, in the table and in what is said of it
    (place / "t.csv").write_text(TABLE.replace("v,", "é€,"), encoding="utf-8")
    words = _words(verb, as_json=case.chance(0.3))
    alone = case.number % 12 == 0
    child = _fresh(case, words, environment) if alone else _forked(case, words, environment)
    said = f"{' '.join(words)} with {environment}{' in a fresh interpreter' if alone else ''}"
    case.expect("Traceback" not in child.err, f"{said}: traceback, {child.err[-200:]}")
    case.expect("Exception ignored" not in child.err, f"{said}: {child.err[-160:]}")
    wrong = child.signal or (environment not in ("full", "closed") and child.code not in CODES)
    case.expect(not wrong, f"{said}: exit code {child.code}, {child.err[-160:]}")
    if environment == "full" and verb not in ("refused",):
        case.expect(child.code != 0, f"{said}: nothing could be said, and it ended with 0")
    if verb == "refused" and environment not in ("full", "closed"):
        case.expect(child.code == 2 and "why" in child.err, f"{said}: refused without a word, {child.err[:160]}")


def _words(verb: str, *, as_json: bool) -> list[str]:
    if verb == "demo":
        return ["demo", "made.csv"]
    if verb == "runs list":
        return ["runs", "list", "nowhere"]
    if verb == "refused":
        return ["audit", "t.csv", "-f", "é€,b"]
    if verb.startswith("--"):
        return [verb]
    more = ["--out", "held.csv"] if verb == "split" else []
    return [verb, "t.csv", "-f", "a,b", *NEEDS[verb], *more, *(["--json"] if as_json else [])]


def _forked(case: Case, words: list[str], environment: str) -> Child:
    encoding = next((name for name in ("ascii", "latin-1") if name in environment), "utf-8")
    order = Order(
        words=tuple(words),
        folder=str(case.folder / "place"),
        encoding=encoding,
        strict_warnings="warnings" in environment,
        out={"full": "/dev/full", "closed": CLOSED}.get(environment, ""),
        plant=os.environ.get("SIEGE_PLANT", ""),
    )
    return forked(order)[0]


def _fresh(case: Case, words: list[str], environment: str) -> Child:
    settings = {"PYTHONWARNINGS": "error"} if "warnings" in environment else {}
    encoding = next((name for name in ("ascii", "latin-1") if name in environment), "")
    settings |= {"PYTHONIOENCODING": encoding} if encoding else {}
    out = {"full": "/dev/full", "closed": CLOSED}.get(environment, "")
    return fresh(words, folder=case.folder / "place", environment=settings, out=out)
