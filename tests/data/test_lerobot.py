"""LeRobot folders: both versions, tasks named or looked up, factors beside them, and bad folders in words."""

import json
import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli.app import app
from recombine.data.lerobot import READER
from tests.data import lerobot_written
from tests.data.lerobot_folders import evaluation, version_2, version_3, write_json, write_lines, write_parquet

TASKS = [f"pick the {thing} from the {place}" for thing in ("cup", "ball", "Löffel") for place in ("table", "棚")]


def columns(folder):
    return READER.read(folder, None).to_pydict()


@pytest.mark.parametrize("index", ["task", None])
@pytest.mark.parametrize("named", [True, False])
def test_version_3_has_a_row_for_each_episode_with_its_task(tmp_path, index, named):
    found = columns(version_3(tmp_path / "d", TASKS, index=index, named=named))
    assert found == {
        "episode_index": list(range(6)),
        "length": list(range(10, 16)),
        "task": TASKS,
        "robot_type": ["so100_follower"] * 6,
    }


def test_version_2_reads_the_same(tmp_path):
    assert columns(version_2(tmp_path / "2", TASKS)) == columns(version_3(tmp_path / "3", TASKS))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    with tarfile.open(Path(__file__).with_name("lerobot_written.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("version", ["0.3.3", "0.4.4", "0.6.1"])
def test_what_lerobot_wrote_itself_is_read(written, version):
    found = columns(written / version)
    tasks = lerobot_written.TASKS
    assert {name: found[name] for name in ("episode_index", "length", "task", "robot_type")} == {
        "episode_index": list(range(12)),
        "length": [3 + place % 2 for place in range(12)],
        "task": tasks,
        "robot_type": ["so101_follower"] * 12,
    }


@pytest.mark.parametrize("version", ["0.3.3", "0.4.4", "0.6.1"])
def test_the_frames_that_lerobot_wrote_tell_the_tasks_too(written, version, tmp_path):
    folder = shutil.copytree(written / version, tmp_path / "d")
    lines, parts = folder / "meta/episodes.jsonl", list(folder.glob("meta/episodes/**/*.parquet"))
    for part in parts:
        write_parquet(part, pq.read_table(part).drop_columns(["tasks"]))
    if not parts:
        rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
        write_lines(lines, [{name: row[name] for name in ("episode_index", "length")} for row in rows])
    assert columns(folder)["task"] == lerobot_written.TASKS


def test_a_task_may_hold_what_unicode_calls_the_end_of_a_line(tmp_path):
    tasks = ["pick\u2028up the cup", "put\x85down\u2029the cup"]
    assert columns(version_2(tmp_path / "d", tasks))["task"] == tasks


def test_an_episode_with_several_tasks_keeps_them_as_a_list_too(tmp_path):
    folder = version_2(tmp_path / "d", TASKS[:2])
    lines = [{"episode_index": 0, "tasks": ["pick", "place"]}, {"episode_index": 1, "tasks": ["pick"]}]
    write_lines(folder / "meta/episodes.jsonl", lines)
    found = columns(folder)
    assert found["tasks"] == [["pick", "place"], ["pick"]]
    assert found["task"] == ["pick | place", "pick"]


@pytest.mark.parametrize("name", ["factors.csv", "meta/factors.jsonl", "episodes_factors.parquet"])
def test_a_table_beside_the_dataset_adds_factors_by_the_episode(tmp_path, name):
    folder = version_3(tmp_path / "d", TASKS)
    lines = [{"episode_index": k, "light": "day" if k % 2 else "lamp"} for k in (5, 3, 1, 0, 2)]
    if name.endswith(".csv"):
        (folder / name).write_text("episode_index,light\n" + "".join(f"{a},{b}\n" for a, b in map(dict.values, lines)))
    elif name.endswith(".jsonl"):
        write_lines(folder / name, lines)
    else:
        write_parquet(folder / name, pa.Table.from_pylist(lines))
    assert columns(folder)["light"] == ["lamp", "day", "lamp", "day", None, "day"]


def test_success_comes_from_an_evaluation_of_the_same_episodes(tmp_path):
    folder = version_3(tmp_path / "d", TASKS)
    write_json(folder / "eval_info.json", evaluation({("kitchen", 0): [True, False], ("kitchen", 1): [True] * 4}))
    assert columns(folder)["success"] == [True, False, True, True, True, True]


def test_an_evaluation_alone_is_a_table_of_rollouts(tmp_path):
    write_json(tmp_path / "eval_info.json", evaluation({("spatial", 0): [True, False], ("goal", 3): [True]}))
    found = columns(tmp_path)
    assert found["task_group"] == ["spatial", "spatial", "goal"]
    assert found["success"] == [True, False, True]
    write_json(tmp_path / "eval_info.json", {"per_episode": [{"episode_ix": 4, "success": True}]})
    assert columns(tmp_path) == {"rollout": [4], "success": [True]}


def test_an_audit_without_factors_says_where_they_can_stand(tmp_path):
    folder = version_3(tmp_path / "d", TASKS)
    said = recombine.propose(str(folder)).verdict
    assert said.startswith(
        "A LeRobot dataset of 6 episodes with 6 tasks. Their texts hold factors: --pattern 'pick the {a} from the {b}'"
    )
    assert "a table factors.csv" in said
    printed = CliRunner().invoke(app, ["audit", str(folder)])
    assert printed.exit_code == 2
    assert "A LeRobot dataset of 6 episodes" in " ".join(printed.output.split())


def test_an_ordinary_folder_with_a_folder_meta_is_an_ordinary_folder(tmp_path):
    (tmp_path / "meta").mkdir()
    write_parquet(tmp_path / "a.parquet", {"x": ["a", "b"], "y": ["c", "d"]})
    assert recombine.read(str(tmp_path), factors=["x", "y"]).rows == 2


def _cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def _changed(path, **fields):
    write_json(path, {**json.loads(path.read_text(encoding="utf-8")), **fields})


DAMAGES = {
    "a part of the episodes is cut short": (
        lambda f: _cut(f / "meta/episodes/chunk-000/file-001.parquet"),
        "cut short",
    ),
    "a part of the episodes is missing": (
        lambda f: (f / "meta/episodes/chunk-000/file-001.parquet").unlink(),
        "lists 3 episodes and says that it has 6",
    ),
    "no episodes": (lambda f: shutil.rmtree(f / "meta/episodes"), "no list of its episodes"),
    "no info": (lambda f: (f / "meta/info.json").unlink(), "has no 'meta/info.json'"),
    "info cut short": (lambda f: _cut(f / "meta/info.json"), "cut short"),
    "info is a list": (lambda f: write_json(f / "meta/info.json", []), "no JSON object"),
    "another version": (lambda f: _changed(f / "meta/info.json", codebase_version="v1.6"), "of version v1.6"),
    "no version": (lambda f: write_json(f / "meta/info.json", {}), "without a codebase_version"),
    "no number": (
        lambda f: write_parquet(f / "meta/episodes/chunk-000/file-001.parquet", {"length": [1, 2, 3]}),
        "no episode_index",
    ),
    "one number twice": (
        lambda f: shutil.copy(
            f / "meta/episodes/chunk-000/file-000.parquet", f / "meta/episodes/chunk-000/file-001.parquet"
        ),
        "the same episode_index",
    ),
    "a pointer": (
        lambda f: (f / "meta/info.json").write_text("version https://git-lfs.github.com/spec/v1\n"),
        "git lfs pull",
    ),
    "no episode at all": (
        lambda f: (
            shutil.rmtree(f / "meta/episodes"),
            write_lines(f / "meta/episodes.jsonl", []),
            _changed(f / "meta/info.json", total_episodes=0),
        ),
        "holds no episode",
    ),
    "factors of another dataset": (
        lambda f: (f / "factors.csv").write_text("episode_index,light\n77,day\n"),
        "speaks of episode 77",
    ),
    "factors without a number": (lambda f: (f / "factors.csv").write_text("light\nday\n"), "no column 'episode_index'"),
    "factors twice": (
        lambda f: (f / "factors.csv").write_text("episode_index,light\n1,a\n1,b\n"),
        "names an episode twice",
    ),
    "factors that are there": (lambda f: (f / "factors.csv").write_text("episode_index,task\n1,a\n"), "already"),
    "factors of bytes": (
        lambda f: (f / "factors.csv").write_bytes(b"episode_index,light\n1,\xff\xfe,3\n"),
        "factors.csv",
    ),
    "another number of rollouts": (
        lambda f: write_json(f / "eval_info.json", evaluation({("a", 0): [True]})),
        "tells of 1 rollout, and the dataset has 6 episodes",
    ),
    "an evaluation without successes": (
        lambda f: write_json(f / "eval_info.json", {"per_task": [{"task_group": "a", "task_id": 0, "metrics": {}}]}),
        "it lacks 'successes'",
    ),
    "an evaluation that is a number": (lambda f: write_json(f / "eval_info.json", 3), "not what LeRobot writes"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_bad_folder_ends_in_words(tmp_path, name):
    folder = version_3(tmp_path / "d", TASKS)
    damage, said = DAMAGES[name]
    damage(folder)
    with pytest.raises(RecombineError, match=said):
        recombine.read(str(folder), factors=["task", "robot_type"])
    assert isinstance(CliRunner().invoke(app, ["audit", str(folder)]).exception, RecombineError)


@pytest.mark.parametrize("broken", ["tasks", "frames"])
def test_episodes_without_tasks_say_what_is_wrong_with_the_frames(tmp_path, broken):
    folder = version_3(tmp_path / "d", TASKS, named=False)
    place = "meta/tasks.parquet" if broken == "tasks" else "data/chunk-000/file-000.parquet"
    write_parquet(folder / place, {"other": [1]})
    with pytest.raises(RecombineError, match="not what LeRobot writes"):
        recombine.read(str(folder), factors=["task", "robot_type"])
