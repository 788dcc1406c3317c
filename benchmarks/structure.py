"""What the source measures: files, lines, functions, doors, cycles.

    python benchmarks/structure.py [FOLDER]      FOLDER holds src/recombine; this repository unless given

An import cycle is a set of modules that reach each other; lazy ones count imports inside functions too.
"""

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]) / "src"
    files = sorted((root / "recombine").rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    functions = [length for tree in trees.values() for length in _functions(tree)]
    comments = sum(
        line.lstrip().startswith("#") or "  # " in line for path in files for line in path.read_text().splitlines()
    )
    for name, found in {
        "files": len(files),
        "lines": sum(lengths),
        "lines with a comment": comments,
        "file, median / longest": f"{statistics.median(lengths):.0f} / {max(lengths)}",
        "function, median / p90 / longest": (
            f"{statistics.median(functions):.0f} / {np.percentile(functions, 90):.0f} / {max(functions)}"
        ),
        "files under 60 lines": sum(length < 60 for length in lengths),
        "import cycles": len(_cycles(trees, root, lazy=False)),
        "import cycles, lazy ones too": len(_cycles(trees, root, lazy=True)),
    }.items():
        print(f"{name:34}{found:>14}")


def _functions(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _cycles(trees: dict[Path, ast.Module], root: Path, *, lazy: bool) -> list[int]:
    """The sizes of sets of modules that import each other."""
    names = {_module(path, root): place for place, path in enumerate(trees)}
    edges = [
        (place, names[found])
        for place, tree in enumerate(trees.values())
        for found in _imported(tree, lazy=lazy, known=names)
        if names[found] != place
    ]
    if not edges:
        return []
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=True, connection="strong")
    return [int(size) for size in np.bincount(labels) if size > 1]


def _module(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module, *, lazy: bool, known: dict[str, int]) -> Iterator[str]:
    for node in _statements(tree, lazy=lazy):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known and one.name != "recombine")
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            parts = [f"{node.module}.{one.name}" for one in node.names]
            yield from (part if part in known else node.module for part in parts if node.module != "recombine")
            yield from (part for part in parts if node.module == "recombine" and part in known)


def _statements(tree: ast.AST, *, lazy: bool) -> Iterator[ast.AST]:
    """Every statement; without those inside functions unless lazy, and never those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from _statements(node, lazy=lazy)


if __name__ == "__main__":
    main()
