"""The lab knows the tasks and networks of the studies by their short names, on which the keys of stored runs depend."""

from recombine_lab.models.catalogue import MODELS
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.training.configurations import numerics
from recombine_studies.tasks.agreement import Agreement
from recombine_studies.tasks.odd_one_out_model import OddOneOut
from recombine_studies.tasks.relations import Relations
from recombine_studies.tasks.two_questions import TwoQuestions


def test_each_is_written_by_its_short_name() -> None:
    tasks = (Agreement(pair="reflexive"), Relations(rule="inside_contact"), TwoQuestions())
    assert [TASKS.spec(task)["name"] for task in tasks] == ["agreement", "relations", "two_questions"]
    assert all(TASKS.build(TASKS.spec(task)) == task for task in tasks)
    assert MODELS.spec(OddOneOut())["name"] == "odd_one_out"


def test_their_numbers_have_a_version_that_is_raised_by_hand() -> None:
    model = {"name": "odd_one_out", "backbone": {"name": "mlp"}}
    assert numerics({"name": "agreement"}, {"name": "own"}, model) == "task 1, split 1, model 1+1, training 1"
