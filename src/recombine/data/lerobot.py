"""LeRobot datasets, a row for each episode: folders of version 3 and 2.1, read without lerobot.

| | version 3 | version 2 |
|---|---|---|
| episodes | `meta/episodes/chunk-*/file-*.parquet` | `meta/episodes.jsonl` |
| tasks | `meta/tasks.parquet`, the text in its pandas index, named or not | `meta/tasks.jsonl` |

A row has `episode_index`, `length`, `task` (and `tasks`, a list, where an episode has several), `robot_type`, what else
the episodes say in plain columns, and three things that may be there or not:

* episodes that do not name their tasks get them from `task_index` of the frames in `data/`;
* `factors.csv`, `.parquet` or `.jsonl`, in the folder or in `meta/`, adds its columns by `episode_index`, since the
  format itself has no place for an object or a surface;
* `eval_info.json`, which lerobot-eval writes, adds `success`. It alone in a folder is a table of its rollouts.

Frames and videos are not looked at, so the size of the recordings does not matter.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base.errors import SourceError
from recombine.base.words import amount, listing
from recombine.data.engine_errors import first_line
from recombine.data.readers import Convention, Reader
from recombine.data.text_columns import suggest_pattern

_FACTORS = tuple(
    f"{folder}{name}{ending}"
    for folder in ("", "meta/")
    for name in ("factors", "episodes_factors")
    for ending in (".csv", ".parquet", ".jsonl")
)
_INTERNAL = ("dataset_from_index", "dataset_to_index")  # beside these, all names with a slash are the format's own
_EVAL = "eval_info.json"
_SEVERAL = " | "  # between the tasks of an episode that has more than one
_NUMBERED = Path("meta/info.json")

Row = dict[str, Any]


def _holds(path: Path) -> bool:
    meta = path / "meta"
    return path.is_dir() and (
        (path / _NUMBERED).is_file()
        or (meta / "episodes.jsonl").is_file()
        or (meta / "episodes").is_dir()
        or (path / _EVAL).is_file()
    )


def _read(folder: Path, _: Sequence[str] | None) -> pa.Table:
    if not (folder / "meta").is_dir():
        return _as_table(_rollouts(folder / _EVAL), folder)
    info = _info(folder)
    rows = _episodes(folder, info)
    _name_tasks(folder, rows)
    if info.get("robot_type") is not None:
        rows = [row | {"robot_type": str(info["robot_type"])} for row in rows]
    return _as_table(_with_success(folder, _with_factors(folder, rows)), folder)


def _as_table(rows: list[Row], folder: Path) -> pa.Table:
    if not rows:
        raise SourceError(
            f"'{folder}' holds no episode", why="its list of episodes is empty", instead="record some, then audit them"
        )
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _info(folder: Path) -> Row:
    """What `info.json` says; another version than 2 and 3 has other files, and is refused."""
    path = folder / _NUMBERED
    if not path.is_file():
        raise SourceError(
            f"'{folder}' has no '{_NUMBERED}'",
            why="every LeRobot dataset says there which version it is",
            instead="download or copy the folder meta/ again, whole",
        )
    info = _parsed(path)
    if not isinstance(info, dict):
        raise _unlike(path, "it is no JSON object")
    version = str(info.get("codebase_version", ""))
    if version.lstrip("v").partition(".")[0] not in ("2", "3"):
        raise SourceError(
            f"'{folder}' is a LeRobot dataset {'of version ' + version if version else 'without a codebase_version'}",
            why="versions 2 and 3 are read",
            instead="convert it with the version of lerobot that wrote it and the ones after, step by step; or give "
            "a table with a row for each episode",
        )
    return info


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SourceError:
    pointer = path.is_file() and path.open("rb").read(40).startswith(b"version https://git-lfs")
    return SourceError(
        f"cannot read '{path}'",
        why="it is a pointer of Git LFS, not the file" if pointer else f"cut short or damaged ({first_line(error)})",
        instead="git lfs pull" if pointer else "download or copy it again",
    )


def _unlike(path: Path, why: str) -> SourceError:
    return SourceError(
        f"'{path}' is not what LeRobot writes", why=why, instead="compare it with the same file of another dataset"
    )


def _lines(path: Path) -> list[Row]:
    """The objects of a file of JSON lines."""
    try:
        found = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    if not all(isinstance(one, dict) for one in found):
        raise _unlike(path, "a line is no JSON object")
    return found


def _parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        file = pq.ParquetFile(path)
        held = file.schema_arrow.names
        wanted = [name for name in held if "/" not in name and name not in _INTERNAL] if columns is None else columns
        missing = [name for name in wanted if name not in held]
        if missing:
            raise _unlike(path, f"it has no column {missing[0]!r}, but {listing(held[:8])}")
        return file.read(columns=list(wanted))
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _episodes(folder: Path, info: Mapping[str, Any]) -> list[Row]:
    """The episodes in the order of their numbers, each number once."""
    lines, parts = folder / "meta/episodes.jsonl", sorted((folder / "meta/episodes").glob("**/*.parquet"))
    if not parts and not lines.is_file():
        raise SourceError(
            f"'{folder}' has no list of its episodes",
            why=f"version {info['codebase_version']} has neither meta/episodes/chunk-*/file-*.parquet nor "
            "meta/episodes.jsonl",
            instead="download or copy the folder meta/ again, whole",
        )
    where = folder / "meta/episodes" if parts else lines
    rows: list[Row] = [row for part in parts for row in _parquet(part).to_pylist()] if parts else _lines(lines)
    numbers = [row.get("episode_index") for row in rows]
    if not all(isinstance(number, int) for number in numbers):
        raise _unlike(where, "an episode has no episode_index")
    if len(set(numbers)) < len(numbers):
        raise _unlike(where, "two episodes have the same episode_index")
    said = info.get("total_episodes")
    if isinstance(said, int) and said != len(rows):
        raise SourceError(
            f"'{folder}' lists {amount(len(rows), 'episode')} and says that it has {said:,}",
            why="a part of meta/ is missing, or of another state of the dataset",
            instead="download or copy the folder meta/ again, whole",
        )
    return sorted(rows, key=lambda row: row["episode_index"])


def _name_tasks(folder: Path, rows: list[Row]) -> None:
    """Give each episode its `task`; those that name none are looked up among the frames."""
    unnamed = {row["episode_index"] for row in rows if not row.get("tasks")}
    looked_up = _tasks_of_frames(folder, unnamed) if unnamed else {}
    several = False
    for row in rows:
        named = row.pop("tasks", None) or looked_up.get(row["episode_index"], [])
        texts = list(dict.fromkeys(map(str, [named] if isinstance(named, str) else named)))
        several = several or len(texts) > 1
        row |= {"task": _SEVERAL.join(texts) or None, "tasks": texts}
    for row in rows if not several else ():
        del row["tasks"]


def _tasks_of_frames(folder: Path, episodes: set[int]) -> dict[int, list[str]]:
    texts, found = _task_texts(folder), defaultdict[int, list[str]](list)
    for part in sorted((folder / "data").glob("**/*.parquet")) if texts else ():
        pairs = _parquet(part, ["episode_index", "task_index"]).group_by(["episode_index", "task_index"]).aggregate([])
        for episode, task in sorted(zip(*(pairs[k].to_pylist() for k in (0, 1)), strict=True)):
            if episode in episodes and task in texts:
                found[episode].append(texts[task])
    return found


def _task_texts(folder: Path) -> dict[int, str]:
    """The text of each task by its number. pandas calls an index without a name `__index_level_0__`."""
    lines, path = folder / "meta/tasks.jsonl", folder / "meta/tasks.parquet"
    if lines.is_file():
        rows = _lines(lines)
    elif path.is_file():
        rows = _parquet(path).to_pylist()
    else:
        return {}
    found = {row.get("task_index"): row.get("task", row.get("__index_level_0__")) for row in rows}
    if any(number is None or text is None for number, text in found.items()):
        raise _unlike(lines if lines.is_file() else path, "a task has no task_index, or no text")
    return {int(number): str(text) for number, text in found.items() if number is not None}


def _with_factors(folder: Path, rows: list[Row]) -> list[Row]:
    """The columns of a table beside the dataset, by `episode_index`."""
    path = next((folder / name for name in _FACTORS if (folder / name).is_file()), None)
    if path is None:
        return rows
    beside = _side_table(path)
    by_number = {row.pop("episode_index", None): row for row in beside}
    known, clash = {row["episode_index"] for row in rows}, {*beside[0]} & {*rows[0]} if beside else set()
    strange = [number for number in by_number if number not in known]
    why = ""
    if None in by_number:
        why = "it has no column 'episode_index', or a line without one"
    elif len(by_number) < len(beside):
        why = "it names an episode twice"
    elif strange:
        why = f"it speaks of episode {strange[0]}, and there is none of that number; after an edit they have new ones"
    elif clash:
        why = f"{listing(sorted(clash))} stand in the dataset already"
    if why:
        raise SourceError(f"cannot join '{path}' to the episodes", why=why, instead="one line for each episode")
    nothing = dict.fromkeys(beside[0]) if beside else {}
    return [row | by_number.get(row["episode_index"], nothing) for row in rows]


def _side_table(path: Path) -> list[Row]:
    if path.suffix == ".parquet":
        return list(_parquet(path).to_pylist())
    if path.suffix == ".jsonl":
        return _lines(path)
    from pyarrow import csv  # noqa: PLC0415 - only where there is such a file

    try:
        return list(csv.read_csv(path).to_pylist())
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _with_success(folder: Path, rows: list[Row]) -> list[Row]:
    path = folder / _EVAL
    if not path.is_file():
        return rows
    found = _rollouts(path)
    if len(found) != len(rows):
        raise SourceError(
            f"'{path}' tells of {amount(len(found), 'rollout')}, and the dataset has {amount(len(rows), 'episode')}",
            why="they can be joined where each rollout is an episode, in the same order",
            instead="move it into a folder of its own, and audit that folder",
        )
    return [row | {"success": one["success"]} for row, one in zip(rows, found, strict=True)]


def _rollouts(path: Path) -> list[Row]:
    """The rollouts of an evaluation: of several tasks (`per_task`), or of one (`per_episode`)."""
    content = _parsed(path)
    try:
        if "per_task" in content:
            return [
                {"task_group": one["task_group"], "task_id": one["task_id"], "rollout": place, "success": bool(success)}
                for one in content["per_task"]
                for place, success in enumerate(one["metrics"]["successes"])
            ]
        return [
            {"rollout": one.get("episode_ix", place), "success": bool(one["success"])}
            for place, one in enumerate(content["per_episode"])
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise _unlike(path, f"it lacks {first_line(error)}: per_task with metrics, or per_episode") from error


def _recognise(folder: Path) -> Convention | None:
    """A word about where factors come from, where the episodes tell only a text."""
    if not (folder / "meta").is_dir():
        return None
    rows = _read(folder, None)
    tasks = set(rows["task"].to_pylist()) - {None}
    said = f"A LeRobot dataset of {amount(rows.num_rows, 'episode')} with {amount(len(tasks), 'task')}."
    pattern = suggest_pattern(sorted(tasks))
    if pattern is not None:
        said += f" Their texts hold factors: --pattern '{pattern}', with names of yours in the braces."
    elif len(tasks) > 1:
        said += " Factors in their texts can be named by --pattern 'pick the {object} from the {surface}'."
    if not any((folder / name).is_file() for name in _FACTORS):
        said += " Further factors can stand in a table factors.csv beside meta/, by episode_index."
    return Convention({}, said)


READER = Reader("LeRobot", _holds, _read, recognise=_recognise)
