"""Logs of evaluations: those that inspect_ai and lm-evaluation-harness wrote themselves, and odd ones made by hand."""

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from urllib.parse import urlparse
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import recombine
from recombine import RecombineError
from recombine.cli.app import app
from recombine.data.evaluation_logs import READER
from recombine.data.readers import added_reader, dataset_of

TOPICS, TONGUES = ["art", "sport", "law"], ["en", "de", "fr"]
ASKED = [(topic, tongue, copy) for topic in TOPICS for tongue in TONGUES for copy in range(4)]


def samples(file) -> pa.Table:
    return dataset_of(Path(file), READER, None)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["eval", "json"])
def test_a_log_of_inspect_ai(tmp_path, ending):
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: PLC0415
    from inspect_ai.scorer import match  # noqa: PLC0415

    rows = [
        Sample(
            input=f"{topic} {tongue} {copy}?",
            target="yes",
            metadata={"topic": topic, "user": {"tongue": tongue}, "tools": [topic, "search"]},
        )
        for topic, tongue, copy in ASKED
    ]
    right = [not (topic == "law" and tongue == "fr") for topic, tongue, _ in ASKED]
    said = [ModelOutput.from_content("mockllm/model", "yes" if good else "no") for good in right]
    for one in said:  # tokens that are not counted here are counted by a tokenizer, which is downloaded
        one.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=rows, scorer=match()),
        model=get_model("mockllm/model", custom_outputs=said),
        log_dir=str(tmp_path),
        log_format=ending,
        display="none",
        max_samples=1,
    )
    file = urlparse(log.location).path
    table = samples(file)
    assert len(table) == len(ASKED)
    assert set(table["model"].to_pylist()) == {"mockllm/model"}
    assert table["tools"][0].as_py() == ["art", "search"]
    found = recombine.evaluate(file, factors=["topic", "user.tongue"], score="match", causes=False)
    assert found.side("all").score == pytest.approx(sum(right) / len(right))
    assert found.worst[0].combination == {"topic": "law", "user.tongue": "fr"}
    by_answer = recombine.evaluate(
        file, factors=["topic", "user.tongue"], target="target", prediction="answer.match", causes=False
    )
    assert by_answer.side("all").score == found.side("all").score


TASK = """
task: toy_questions
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["yes", "no"]
doc_to_target: truth
metric_list:
  - metric: acc
"""


@pytest.mark.process
def test_samples_of_the_harness(tmp_path):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed, so its samples were not written")
    rows = [{"question": f"{a} {b} {c}?", "topic": a, "tongue": b, "truth": c % 2} for a, b, c in ASKED]
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "toy.yaml").write_text(TASK.format(data=tmp_path / "rows.json"))
    asked = ["--model", "dummy", "--tasks", "toy_questions", "--include_path", str(tmp_path / "tasks")]
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *asked, "--log_samples", "--output_path", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ | {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (file,) = (tmp_path / "out").rglob("samples_toy_questions_*.jsonl")
    table = samples(file)
    assert set(table["model"].to_pylist()) == {
        file.parent.name
    }  # which the harness makes up for a model without a name
    assert set(table["task"].to_pylist()) == {"toy_questions"}
    found = recombine.evaluate(tmp_path / "out", factors=["topic", "tongue"], score="acc", causes=False)
    assert found.side("all").score == pytest.approx(sum(table["acc"].to_pylist()) / len(rows))
    assert found.side("all").combinations == 9
    agree = [t == a for t, a in zip(table["target"].to_pylist(), table["answer"].to_pylist(), strict=True)]
    assert [float(one) for one in agree] == table["acc"].to_pylist()


def line(**given) -> str:
    return json.dumps(
        {"doc_id": 0, "doc": {"topic": "art"}, "target": "4", "filtered_resps": ["4"], "metrics": ["acc"], "acc": 1.0}
        | given
    )


def test_what_was_generated_is_the_answer(tmp_path):
    (tmp_path / "samples_x.jsonl").write_text(line() + "\n" + line(doc_id=1, filtered_resps=[["5"]], acc=0.0) + "\n")
    assert samples(tmp_path / "samples_x.jsonl")["answer"].to_pylist() == ["4", "5"]


def written(tmp_path, *lines: str, start: bytes = b"") -> Path:
    """The lines as the harness writes them: in UTF-8, with "\\n" after each and every other character as it is."""
    file = tmp_path / "samples_x.jsonl"
    file.write_bytes(start + "".join(f"{one}\n" for one in lines).encode())
    return file


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_sample(tmp_path, mark):
    log = json.dumps(json.loads(line(doc={"topic": f"a{mark}b"})), ensure_ascii=False)
    assert samples(written(tmp_path, log, log))["topic"].to_pylist() == [f"a{mark}b"] * 2


@pytest.mark.parametrize(("start", "end"), [(b"\xef\xbb\xbf", ""), (b"", "\r"), (b"\n", "\n \n")])
def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path, start, end):
    assert samples(written(tmp_path, line() + end, line() + end, start=start))["topic"].to_pylist() == [
        "art",
        "art",
    ]


@pytest.mark.parametrize(
    ("given", "column", "values"),
    [
        ({"doc": {"hash": 2**64}}, "hash", ["18446744073709551616", None]),
        ({"doc": {"hash": -(2**63) - 1}}, "hash", ["-9223372036854775809", None]),
        ({"doc": {"share": math.inf}}, "share", [math.inf, None]),
        ({"doc_id": 2**63}, "doc_id", ["9223372036854775808", "0"]),
        ({"filtered_resps": []}, "answer", [None, "4"]),
        ({"filtered_resps": [[]]}, "answer", [None, "4"]),
        ({"filtered_resps": [[], []]}, "answer", [None, "4"]),
        ({"filtered_resps": [["-2.5", "False"], ["-1.5", "True"]]}, "answer", ["1", "4"]),
        ({"filtered_resps": [["-2.5", "False"], ["nan", "False"]]}, "answer", [None, "4"]),
        ({"filtered_resps": [["yes"], ["no"]]}, "answer", ["yes", "4"]),
        ({"filtered_resps": [[10**400], [1]]}, "answer", [str(10**400), "4"]),
        ({"target": [["4"], "four"]}, "target", ["[['4'], 'four']", "4"]),
        ({"acc": math.nan}, "acc", [None, 1.0]),
        ({"doc": {"target": "4"}}, "doc.target", ["4", None]),
        ({"doc": {"skills": "a"}}, "skills", ["a", None]),
        ({"doc": {"skills": ["a", "b"]}}, "skills", [["a", "b"], None]),
    ],
)
def test_what_a_sample_may_hold(tmp_path, given, column, values):
    found = samples(written(tmp_path, line(**given), line()))[column].to_pylist()
    assert [None if value != value else value for value in found] == values  # noqa: PLR0124 - NaN


def nested(depth: int) -> str:
    return line(doc={"a": 0}).replace('{"a": 0}', '{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not json", "line 2 of 'samples_x.jsonl' cannot be read|no JSON"),
        ('{"doc_id": 1}', "line 2|has no 'doc'"),
        ("[1, 2]", "line 2|it holds no object"),
        ("17", "line 2|it holds no object"),
        (line(doc={"a.b": 1, "a": {"b": 2}}), "line 2|'a.b' twice|rename one of the two"),
        (line(metrics=["acc", "target"], target="0.5"), "line 2|'target' twice"),
        (line(metrics=["answer"], answer=0.5), "line 2|'answer' twice"),
        (line(metrics=["acc", "acc"]), "line 2|'acc' twice"),
        (line(metrics=["doc"], doc=0.5), "line 2|doc is 0.5, where a mapping should be"),
        (line(metrics="acc"), "line 2|metrics is 'acc', where a list should be"),
        (line(metrics=[{}]), "line 2|metrics[0] is a mapping, where a text should be"),
        (line(filtered_resps="4"), "line 2|filtered_resps is '4', where a list should be"),
        (line(filtered_resps=None), "line 2|filtered_resps is None"),
        (line(doc=["art"]), "line 2|doc is a list, where a mapping should be"),
        (line(doc_id=[1]), "line 2|doc_id is a list"),
        (line(filter=3), "line 2|filter is 3, where a text should be"),
        (line(doc={"topic": "\ud800"}), "line 2|half a character"),
        (line(doc={"topic": 0}).replace("0}", "1" * 5000 + "}"), "line 2|digits"),
        (line().replace('"topic"', '"topic": 1, "topic"'), "line 2|stands there twice"),
        (nested(800), "line 2|nested too deeply"),
        (nested(3_000), "line 2|nested too deeply"),
        (nested(200_000), "line 2|nested too deeply"),
        (line(doc={f"f{number}": 1 for number in range(3_000)}), "3,00|different fields"),
    ],
)
def test_other_lines_are_refused_in_words(tmp_path, content, words):
    with pytest.raises(RecombineError) as caught:
        samples(written(tmp_path, line(), content))
    assert [part for part in words.split("|") if part not in str(caught.value)] == []
    assert "Traceback" not in str(caught.value)


SCORED = {"match": {"value": "C", "answer": "a"}}


def inspect_sample(**given) -> dict:
    return {
        "id": 1,
        "epoch": 1,
        "input": "q",
        "target": "a",
        "messages": [],
        "output": {"model": "m", "choices": []},
        "metadata": {"topic": "art"},
        "scores": SCORED,
        "store": {},
        "events": [],
        "attachments": {},
    } | given


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "t",
        "created": "2026-01-01T00:00:00+00:00",
        "dataset": {},
        "model": "m",
        "config": {},
        "run_id": "r",
        "task_id": "t",
    },
}


def inspect_log(folder: Path, ending: str, *given: dict | str) -> Path:
    """A log of these samples, as it is or as an archive with a file for each."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in given]
    file = folder / f"log.{ending}"
    if ending == "json":
        file.write_text(f'{json.dumps(HEADER)[:-1]}, "samples": [{", ".join(texts)}]}}')
        return file
    with warnings.catch_warnings(), ZipFile(file, "w", ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of one name that stands there twice
        archive.writestr("header.json", json.dumps(HEADER))
        archive.writestr("../../climbing.json", "{}")
        for number, text in enumerate(texts):
            archive.writestr(f"samples/{number // 2}_epoch_1.json", text)
    return file


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize(
    ("given", "column", "value"),
    [
        ({}, "topic", "art"),
        ({"metadata": {"topic": "a\u2028b"}}, "topic", "a\u2028b"),
        ({"metadata": {"hash": 2**64}}, "hash", "18446744073709551616"),
        ({"id": 2**70}, "id", "1180591620717411303424"),
        ({"scores": {"match": {"value": {"a": None, "b": 1}}}}, "match.a", None),
        ({"scores": {"match": {"value": math.inf}}}, "match", math.inf),
        ({"scores": {"target.x": {"value": 1}}}, "target.x", 1.0),
        ({"target": []}, "target", ""),
        ({"metadata": {"target": 1}}, "metadata.target", 1),
        ({"metadata": {"match": 1}}, "metadata.match", 1),
        ({"metadata": {"tools": ["a", 1]}}, "tools", ["a", "1"]),
        ({"metadata": {"tools": []}}, "tools", []),
        ({"scores": {"target": {"value": "I"}}}, "score.target", 0.0),
        ({"scores": {"match": {"value": "P"}}}, "match", 0.5),
        ({"scores": None}, "topic", "art"),
        ({"scores": None, "score": {"value": True}}, "score", 1.0),
    ],
)
def test_what_a_sample_of_inspect_ai_may_hold(tmp_path, ending, given, column, value):
    assert samples(inspect_log(tmp_path, ending, inspect_sample(**given)))[column].to_pylist() == [value]
    assert [file.name for file in tmp_path.parent.rglob("climbing.json")] == []


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"id": None}, "id"),
        ({"metadata": "art"}, "metadata"),
        ({"metadata": {"a.b": 1, "a": {"b": 2}}}, "log.|'a.b' twice|rename one of the two"),
        ({"metadata": {"hash": 2**5000}}, "log.|hash is too large a number"),
        ({"metadata": {"topic": "\ud800"}}, "log."),
        ({"target": "\ud800"}, "log."),
        ({"scores": {"\ud800": {"value": 1}}}, "log."),
        ({"scores": {"a.b": {"value": 1}, "a": {"value": {"b": 2}}}}, "'a.b' twice|rename one of the two"),
        ({"scores": SCORED | {"answer": {"value": {"match": 1}}}}, "'answer.match' twice"),
        ({"scores": {"match": {"value": "1.2.3"}}}, "the score '1.2.3' of 'match' is no number"),
        ({"scores": {"match": {"value": 10**400}}}, "of 'match' is no number"),
        ({"scores": [1]}, "scores"),
        ("[1]", "log."),
        ("[" * 200_000, "log."),
        (json.dumps(inspect_sample()).replace('"art"', '{"a":' * 150 + "1" + "}" * 150), "nested too deeply"),
        (json.dumps(inspect_sample()).replace('"art"', "1" * 5000), "log."),
    ],
)
def test_other_samples_of_inspect_ai_are_refused_in_words(tmp_path, ending, given, words):
    sample = given if isinstance(given, str) else inspect_sample(**given)
    with pytest.raises(RecombineError) as caught:
        samples(inspect_log(tmp_path, ending, sample))
    assert [part for part in words.split("|") if part not in str(caught.value)] == []


def test_damaged_and_strange_logs_are_refused_in_words(tmp_path, monkeypatch):
    whole = inspect_log(tmp_path, "eval", inspect_sample()).read_bytes()
    within = whole.index(b"_epoch_1.json") + 50
    newer = json.dumps(HEADER | {"version": 3, "samples": [inspect_sample()]}).encode()
    bare = json.dumps(HEADER | {"eval": "t", "samples": []}).encode()
    (tmp_path / "plain.zip").write_bytes(b"")
    with ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.writestr("readme.txt", "no log")
    content = {
        "empty.eval": (b"", "not a zip file"),
        "cut.eval": (whole[: len(whole) // 2], "not a zip file"),
        "torn.eval": (whole[:within] + bytes(40) + whole[within + 40 :], "cannot"),
        "other.eval": ((tmp_path / "plain.zip").read_bytes(), "holds no header.json"),
        "empty.json": (b"", "0 bytes"),
        "torn.json": (json.dumps(HEADER).encode()[:-9], "cannot read"),
        "bare.json": (bare, "does not say what was evaluated"),
        "newer.json": (newer, "is version 3 of inspect_ai's format"),
        "none.json": (json.dumps(HEADER | {"samples": None}).encode(), "holds no samples"),
        "list.json": (json.dumps(HEADER | {"samples": [1]}).encode(), "it holds no object"),
        "twice.eval": (inspect_log(tmp_path, "eval", *[inspect_sample()] * 2).read_bytes(), "in the log twice"),
        "empty.jsonl": (b"", "0 bytes"),
        "samples_cut.jsonl": (line().encode()[:-9], "line 1 of 'samples_cut.jsonl'"),
    }
    for name, (given, words) in content.items():
        (tmp_path / name).write_bytes(given)
        refused(tmp_path / name, words)
    refused(tmp_path / "missing.eval", "no file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.eval")
        refused(tmp_path / "pipe.eval", "is a pipe")
    monkeypatch.setattr("recombine.data.evaluation_logs._MOST_BYTES", 10**6)
    refused(inspect_log(tmp_path, "eval", inspect_sample(input=" " * 2 * 10**6)), "would unpack to 2,000,")


def refused(file: Path, words: str) -> None:
    with pytest.raises(RecombineError) as caught:
        recombine.propose(str(file))
    assert words in str(caught.value)


def test_samples_that_are_packed_as_newer_versions_pack_them(tmp_path):
    """Zstandard (method 93), which Python's own zipfile does not know before 3.14: its bytes are put in by hand."""
    texts = {"header.json": json.dumps(HEADER), "samples/1_epoch_1.json": json.dumps(inspect_sample())}
    packed = {name: pa.compress(text.encode(), codec="zstd", asbytes=True) for name, text in texts.items()}
    with ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, content in packed.items():
            archive.writestr(name, content)
        for member in archive.infolist():
            member.compress_type, member.file_size = 93, len(texts[member.filename])
    assert (
        samples(tmp_path / "log.eval").to_pylist()
        == samples(inspect_log(tmp_path, "json", inspect_sample())).to_pylist()
    )


def test_other_lines_of_samples(tmp_path):
    rows = [
        {"model": "m", "correct": True, "metadata": {"topic": "art", "skills": ["count"]}},
        {"model": "m", "correct": False, "metadata": {"topic": "art", "model": "x"}, "scores": {"judge": {"value": 3}}},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = samples(tmp_path / "log.jsonl")
    assert table["correct"].to_pylist() == [True, False]
    assert table["skills"].to_pylist() == [["count"], None]
    assert table["judge"].to_pylist() == [None, 3.0]
    assert table["metadata.model"].to_pylist() == [None, "x"]
    (tmp_path / "table.jsonl").write_text('{"colour": "red", "target": 1}\n')
    assert added_reader(tmp_path / "table.jsonl") is None


def test_a_folder_of_logs_is_one_table(tmp_path):
    for model in ("small", "large"):
        (tmp_path / "logs" / model).mkdir(parents=True)
        rows = [line(doc_id=number, doc={"topic": topic}) for number, topic in enumerate(TOPICS)]
        (tmp_path / "logs" / model / "samples_t_2026-11-16T10-00-00.1.jsonl").write_text("\n".join(rows))
    (tmp_path / "logs" / "small" / "results_2026-11-16T10-00-00.1.json").write_text('{"model_name": "org/small"}')
    table = samples(tmp_path / "logs")
    assert sorted(set(table["model"].to_pylist())) == ["large", "org/small"]
    assert set(table["task"].to_pylist()) == {"t"}
    assert len(recombine.read(str(tmp_path / "logs"), factors=["model", "topic"])) == 6
    (tmp_path / "logs" / "table.csv").write_text("a,b\n1,2\n")
    assert added_reader(tmp_path / "logs") is None  # it is not clear which of them is the table


def test_one_evaluation_does_not_count_twice(tmp_path, monkeypatch):
    monkeypatch.setitem(HEADER["eval"], "eval_id", "e1")
    inspect_log(tmp_path, "json", inspect_sample())
    inspect_log(tmp_path, "eval", inspect_sample())
    refused(tmp_path, "are the same evaluation")


def test_a_proposal_names_sets_and_the_score(tmp_path):
    rows = [
        inspect_sample(id=number, metadata={"tongue": TONGUES[number % 3], "tools": ["a", "b"][: number % 3]})
        for number in range(12)
    ]
    rows = [row | {"metadata": row["metadata"] | {"choices": [f"{row['id']} yes", "no"]}} for row in rows]
    found = recombine.propose(str(inspect_log(tmp_path, "json", *rows)))
    assert (found.sets, found.factors, found.score) == ({"tools": "tools"}, ("tongue",), "match")
    assert found.column("id").reason == "it tells samples apart"
    assert "tools holds lists, which are read as sets." in found.verdict
    said = CliRunner().invoke(app, ["evaluate", str(tmp_path / "log.json"), "--json"])
    assert said.exit_code == 2  # nothing was evaluated
    assert json.loads(said.stdout)["command"].endswith("--set tools=tools --factors tongue --score match")
