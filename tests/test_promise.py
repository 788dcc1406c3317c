"""What is promised changes only together with a line in the changelog."""

import json

import pytest

from tests.promise import FILE, changelog, changes, stable, unsaid


def test_what_is_stable_changes_with_a_line_in_the_changelog() -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    missing = unsaid(changes(kept, stable()), changelog())
    assert not missing, f"name in CHANGELOG.md, under [Unreleased], in `code letters`: {missing}"


@pytest.mark.parametrize(
    ("owner", "lost"),
    [("recombine.audit", "factors"), ("recombine audit", "--factors"), ("JSON of kind audit", "grade")],
)
def test_a_change_without_a_line_is_found(owner, lost) -> None:
    before = stable()
    after = before | {owner: [name for name in before[owner] if name != lost]}
    assert unsaid(changes(before, after), "## [Unreleased]\n") == [f"{lost} of {owner}"]
    assert unsaid(changes(before, after), f"## [Unreleased]\n- `{lost}` is gone.\n") == []
    assert unsaid(changes(before, after), f"## [Unreleased]\n\n## [0.1.0]\n- `{lost}` is gone.\n") != []


def test_the_promise_is_more_than_a_few_names() -> None:
    found = stable()
    assert {"target", "weight", "sets"} <= set(found["recombine.audit"])
    assert {"--target", "--set", "--json"} <= set(found["recombine audit"])
    assert found["exit codes"] == ["0", "2", "3", "4", "130"]
    assert {"kind", "format", "verdict", "grade"} <= set(found["JSON of kind prediction"])
