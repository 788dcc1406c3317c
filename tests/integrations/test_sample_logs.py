"""Logs that inspect_ai and lm-evaluation-harness wrote themselves, evaluated by more than one grouping key."""

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

import recombine
from recombine import RecombineError
from recombine.integrations import lm_eval

TOPICS, TONGUES = ["art", "sport", "law"], ["en", "de", "fr"]
ASKED = [(topic, tongue, copy) for topic in TOPICS for tongue in TONGUES for copy in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["eval", "json"])
def test_a_log_of_inspect_ai(tmp_path, ending):
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: PLC0415
    from inspect_ai.scorer import match  # noqa: PLC0415

    from recombine.integrations.inspect_ai import samples  # noqa: PLC0415

    rows = [
        Sample(input=f"{topic} {tongue} {copy}?", target="yes", metadata={"topic": topic, "user": {"tongue": tongue}})
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
    table = samples(log.location)
    assert len(table) == len(ASKED)
    found = recombine.evaluate(table, factors=["topic", "user.tongue"], score="match", causes=False)
    assert found.side("all").score == pytest.approx(sum(right) / len(right))
    assert found.worst[0].combination == {"topic": "law", "user.tongue": "fr"}
    by_answer = recombine.evaluate(
        table, factors=["topic", "user.tongue"], target="target", prediction="answer.match", causes=False
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
    table = lm_eval.samples(file)
    found = recombine.evaluate(table, factors=["topic", "tongue"], score="acc", causes=False)
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
    assert lm_eval.samples(tmp_path / "samples_x.jsonl")["answer"].to_pylist() == ["4", "5"]


def written(tmp_path, *lines: str, start: bytes = b"") -> Path:
    """The lines as the harness writes them: in UTF-8, with "\\n" after each and every other character as it is."""
    file = tmp_path / "samples_x.jsonl"
    file.write_bytes(start + "".join(f"{one}\n" for one in lines).encode())
    return file


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_sample(tmp_path, mark):
    log = json.dumps(json.loads(line(doc={"topic": f"a{mark}b"})), ensure_ascii=False)
    assert lm_eval.samples(written(tmp_path, log, log))["topic"].to_pylist() == [f"a{mark}b"] * 2


@pytest.mark.parametrize(("start", "end"), [(b"\xef\xbb\xbf", ""), (b"", "\r"), (b"\n", "\n \n")])
def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path, start, end):
    assert lm_eval.samples(written(tmp_path, line() + end, line() + end, start=start))["topic"].to_pylist() == [
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
    ],
)
def test_what_a_sample_may_hold(tmp_path, given, column, values):
    found = lm_eval.samples(written(tmp_path, line(**given), line()))[column].to_pylist()
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
        (line(doc={"target": "4"}), "line 2|a field 'target'|prefix='doc.'"),
        (line(doc={"a.b": 1, "a": {"b": 2}}), "line 2|a field 'a.b'|rename one of the two"),
        (line(metrics=["acc", "target"], target="0.5"), "line 2|a metric 'target'|another name in the task"),
        (line(metrics=["answer"], answer=0.5), "line 2|a metric 'answer'|another name in the task"),
        (line(metrics=["acc", "acc"]), "line 2|a metric 'acc'"),
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
        lm_eval.samples(written(tmp_path, line(), content))
    assert [part for part in words.split("|") if part not in str(caught.value)] == []
    assert "Traceback" not in str(caught.value)


def test_other_files_are_refused_in_words(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "utf16.jsonl").write_text(line(), encoding="utf-16")
    for name, words in {
        "empty.jsonl": "holds no samples",
        "utf16.jsonl": "line 1 of 'utf16.jsonl'",
        "none.jsonl": "No such file",
        "pipe": "is a pipe",
        ".": "Is a directory",
        "a\0b": "null byte",
    }.items():
        refused(lm_eval.samples, tmp_path / name, words)


@pytest.fixture(scope="module")
def inspect_samples():
    pytest.importorskip("inspect_ai")
    from recombine.integrations.inspect_ai import samples  # noqa: PLC0415

    return samples


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
    ],
)
def test_what_a_sample_of_inspect_ai_may_hold(inspect_samples, tmp_path, ending, given, column, value):
    assert inspect_samples(inspect_log(tmp_path, ending, inspect_sample(**given)))[column].to_pylist() == [value]
    assert [file.name for file in tmp_path.parent.rglob("climbing.json")] == []


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"id": None}, "id"),
        ({"metadata": "art"}, "metadata"),
        ({"metadata": {"target": 1}}, "the sample 1 (epoch 1)|a field 'target'|prefix='metadata.'"),
        ({"metadata": {"a.b": 1, "a": {"b": 2}}}, "the sample 1 (epoch 1)|a field 'a.b'|rename one of the two"),
        ({"metadata": {"hash": 2**5000}}, "the sample 1 (epoch 1)|hash is too large a number"),
        ({"metadata": {"topic": "\ud800"}}, "log."),
        ({"target": "\ud800"}, "log."),
        ({"scores": {"\ud800": {"value": 1}}}, "log."),
        ({"scores": {"target": {"value": 1}}}, "a score 'target'|sample.scores"),
        ({"scores": {"a.b": {"value": 1}, "a": {"value": {"b": 2}}}}, "a score 'a.b'|rename one of the two"),
        ({"scores": SCORED | {"answer": {"value": {"match": 1}}}}, "a score 'answer.match'"),
        ({"scores": {"match": {"value": "1.2.3"}}}, "the score '1.2.3' of 'match' is no number"),
        ({"scores": {"match": {"value": 10**400}}}, "of 'match' is no number"),
        ({"scores": [1]}, "scores"),
        ("[1]", "log."),
        ("[" * 200_000, "log."),
        (json.dumps(inspect_sample()).replace('"art"', '{"a":' * 150 + "1" + "}" * 150), "nested too deeply"),
        (json.dumps(inspect_sample()).replace('"art"', "1" * 5000), "log."),
    ],
)
def test_other_samples_of_inspect_ai_are_refused_in_words(inspect_samples, tmp_path, ending, given, words):
    sample = given if isinstance(given, str) else inspect_sample(**given)
    with pytest.raises(RecombineError) as caught:
        inspect_samples(inspect_log(tmp_path, ending, sample))
    assert [part for part in words.split("|") if part not in str(caught.value)] == []


def test_other_logs_of_inspect_ai_are_refused_in_words(inspect_samples, tmp_path, monkeypatch):
    whole = inspect_log(tmp_path, "eval", inspect_sample()).read_bytes()
    within = whole.index(b"_epoch_1.json") + 50
    content = {
        "empty.eval": (b"", "not a zip file"),
        "empty.json": (b"", "cannot be read as a log"),
        "cut.eval": (whole[: len(whole) // 2], "not a zip file"),
        "torn.eval": (whole[:within] + bytes(40) + whole[within + 40 :], "cannot be read as a log"),
        "torn.json": (json.dumps(HEADER).encode()[:-9], "cannot be read as a log"),
        "list.json": (b"[1]", "cannot be read as a log"),
        "none.json": (json.dumps(HEADER | {"samples": None}).encode(), "holds no samples"),
        "log.txt": (b"", "cannot be read as a log"),
        "twice.eval": (inspect_log(tmp_path, "eval", *[inspect_sample()] * 2).read_bytes(), "in the log twice"),
    }
    (tmp_path / "folder.eval").mkdir()
    os.mkfifo(tmp_path / "pipe.eval")
    for name, (given, words) in content.items():
        (tmp_path / name).write_bytes(given)
        refused(inspect_samples, tmp_path / name, words)
    refused(inspect_samples, tmp_path / "folder.eval", "Is a directory")
    refused(inspect_samples, tmp_path / "missing.eval", "No such file")
    refused(inspect_samples, tmp_path / "pipe.eval", "is a pipe")
    monkeypatch.setattr(f"{inspect_samples.__module__}._MOST_BYTES", 10**6)
    bomb = inspect_log(tmp_path, "eval", inspect_sample(input=" " * 2 * 10**6))
    refused(inspect_samples, bomb, "would unpack to 2,000,")


def refused(samples, file: Path, words: str) -> None:
    with pytest.raises(RecombineError) as caught:
        samples(file)
    assert words in str(caught.value)
