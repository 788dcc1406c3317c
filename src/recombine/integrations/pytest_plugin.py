"""Splits held to their claims by pytest: a fixture for tests, and an option for manifests.

pytest loads this file in every project that has recombine installed, so nothing heavy is imported before it is used.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import recombine
from recombine.base.errors import RecombineError
from recombine.base.grades import EXIT_CODES

if TYPE_CHECKING:
    from recombine.verbs.split.lint.lint_result import Lint

_OPTION = "--recombine-split"


@pytest.fixture
def recombine_lint() -> "Callable[..., Lint]":
    """Hold a split to its claim: a function that takes what `recombine.lint` takes, and fails the test in its words.

    Not enough evidence fails too, with a word of its own, unless `allow_thin=True`. What was found is handed back.

        def test_split(recombine_lint):
            recombine_lint("shoes.csv", factors=["material", "type"], split="split", expect="combinations")
    """
    return _lint


def _lint(table: Any = None, *, allow_thin: bool = False, **asked: Any) -> "Lint":
    __tracebackhide__ = True
    try:
        found = recombine.lint(table, **asked)
    except RecombineError as error:
        pytest.fail(f"the split cannot be looked at: {error}", pytrace=False)
    if EXIT_CODES[found.grade] and not (allow_thin and found.grade == "untested"):
        pytest.fail(_words(found), pytrace=False)
    return found


def _words(found: "Lint") -> str:
    """The lint as a failure tells it: the grade, the answer, and the lines that it rests on."""
    lines = [check for check in found.checks if check.verdict in ("fail", "not enough evidence", "warning")]
    told = "\n".join(f"  {check.name}: {check.verdict}. {check.sentence}" for check in lines)
    thin = " (allow_thin=True lets it pass)" if found.grade == "untested" else ""
    return f"{found.grade}{thin}: {found.verdict}\n{told}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option, any number of times."""
    group = parser.getgroup("recombine", "splits that hold out combinations")
    group.addoption(
        _OPTION,
        action="append",
        default=[],
        metavar="FILE",
        help="check that a table is still split as its manifest (table.split.json) says; any number of times",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each manifest is one more test."""
    items.extend(_manifests(session, config.getoption(_OPTION)))


def _manifests(session: pytest.Session, paths: list[str]) -> Iterator[pytest.Item]:
    for path in paths:
        yield ManifestItem.from_parent(
            session, name=f"split {path}", manifest=session.config.invocation_params.dir / path
        )


class ManifestItem(pytest.Item):
    """The check of one manifest: the same combinations on the same sides, and a split whose check passes."""

    def __init__(self, *, manifest: Path, **given: Any) -> None:
        super().__init__(**given)
        self.manifest = manifest

    def runtest(self) -> None:
        """Read the table once more, and compare."""
        from recombine.verbs.split import manifest  # noqa: PLC0415 - heavy, and only for those who ask

        try:
            read = manifest.read(self.manifest)
            changed = manifest.difference(read)
            found = None if read.folds else manifest.lint_again(read)
        except RecombineError as error:
            pytest.fail(f"the split cannot be looked at: {error}", pytrace=False)
        if changed:
            pytest.fail(changed, pytrace=False)
        if found is not None and EXIT_CODES[found.grade]:
            pytest.fail(_words(found), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """How it is called where it is told of."""
        return self.manifest, None, self.name
