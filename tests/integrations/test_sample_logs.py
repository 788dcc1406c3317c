"""Logs that inspect_ai and lm-evaluation-harness wrote themselves, evaluated by more than one grouping key."""

import json
import os
import subprocess
import sys

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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not json", "cannot be read as samples"),
        ('{"doc_id": 1}', "cannot be read as samples"),
        ("", "holds no samples"),
        (line(doc={"target": "4"}), "prefix='doc.'"),
    ],
)
def test_other_files_are_refused_in_words(tmp_path, content, words):
    (tmp_path / "samples.jsonl").write_text(content)
    with pytest.raises(RecombineError) as caught:
        lm_eval.samples(tmp_path / "samples.jsonl")
    assert words in str(caught.value)
