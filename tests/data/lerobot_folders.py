"""LeRobot folders as lerobot writes them: version 3 (0.4.4 and 0.6.1, which name the index of tasks or not) and 2.1."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Json = dict[str, Any]


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, lines: Sequence[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def write_parquet(path: Path, columns: Json | pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)


def info(version: str, tasks: Sequence[str], robot: str | None = "so100_follower") -> Json:
    return {
        "codebase_version": version,
        "robot_type": robot,
        "total_episodes": len(tasks),
        "total_frames": 10 * len(tasks),
        "total_tasks": len(set(tasks)),
        "chunks_size": 1000,
        "fps": 30,
        "splits": {"train": f"0:{len(tasks)}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "features": {},
    }


def version_3(folder: Path, tasks: Sequence[str], *, index: str | None = "task", named: bool = True) -> Path:
    """A dataset of version 3; `index` is what the index of tasks is called, and `named` whether episodes name tasks."""
    texts = list(dict.fromkeys(tasks))
    write_json(folder / "meta/info.json", info("v3.0", tasks))
    numbers = list(range(len(texts)))
    write_parquet(folder / "meta/tasks.parquet", {"task_index": numbers, index or "__index_level_0__": texts})
    half = (len(tasks) + 1) // 2
    for place, part in enumerate((range(half), range(half, len(tasks)))):
        columns: Json = {
            "episode_index": list(part),
            "tasks": [[tasks[k]] for k in part],
            "length": [10 + k for k in part],
            "dataset_from_index": [10 * k for k in part],
            "dataset_to_index": [10 * k + 10 for k in part],
            "data/chunk_index": [0 for _ in part],
            "stats/action/min": [[0.0, 1.0] for _ in part],
        }
        if not named:
            del columns["tasks"]
        write_parquet(folder / f"meta/episodes/chunk-000/file-{place:03}.parquet", columns)
        frames = {
            "episode_index": [k for k in part for _ in range(3)],
            "task_index": [texts.index(tasks[k]) for k in part for _ in range(3)],
            "timestamp": [step / 30 for _ in part for step in range(3)],
        }
        write_parquet(folder / f"data/chunk-000/file-{place:03}.parquet", frames)
    return folder


def version_2(folder: Path, tasks: Sequence[str]) -> Path:
    """A dataset of version 2.1."""
    write_json(folder / "meta/info.json", info("v2.1", tasks))
    texts = list(dict.fromkeys(tasks))
    write_lines(folder / "meta/tasks.jsonl", [{"task_index": k, "task": text} for k, text in enumerate(texts)])
    lines = [{"episode_index": k, "tasks": [task], "length": 10 + k} for k, task in enumerate(tasks)]
    write_lines(folder / "meta/episodes.jsonl", lines)
    return folder


def evaluation(successes: dict[tuple[str, int], list[bool]]) -> Json:
    """What lerobot-eval writes: the successes of each task."""
    return {
        "per_task": [
            {"task_group": group, "task_id": task, "metrics": {"successes": found, "sum_rewards": []}}
            for (group, task), found in successes.items()
        ],
        "per_group": {},
        "overall": {},
    }
