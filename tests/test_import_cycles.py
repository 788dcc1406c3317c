"""No import cycles, also no lazy ones: an import inside a function hides a cycle from Python, not from a reader."""

import ast
from pathlib import Path

import pytest

import recombine
import recombine_lab
import recombine_studies

ROOTS = [Path(one.__file__).parent for one in (recombine, recombine_lab, recombine_studies)]
SURFACES = {"recombine", "recombine_lab", "recombine_lab.tasks", "recombine_lab.models", "recombine_lab.probes"}
"""They name what is public, load it when it is asked for, and define nothing that is imported from them."""


def modules() -> dict[str, ast.Module]:
    found = {}
    for package, path in ((root, path) for root in ROOTS for path in root.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module, known: set[str]) -> set[str]:
    """The modules that a module imports anywhere, but for the type checker alone."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in known else node.module for name in below}
    return names & known


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One cycle for each module that is found to lead back to itself."""
    found, done = [], set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return found


@pytest.mark.slow
@pytest.mark.canary
def test_there_are_no_cycles():
    trees = modules()
    known = set(trees) - SURFACES
    assert len(known) > 100
    assert cycles({name: imported(trees[name], known) for name in known}) == []


def test_a_cycle_would_be_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c", "b"]]
    lazy = ast.parse("def f():\n    from p.store import Store\n\nif TYPE_CHECKING:\n    from p.other import X\n")
    assert imported(lazy, {"p.store", "p.other"}) == {"p.store"}
