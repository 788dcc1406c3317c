"""Texts with the user's own tokenizer, to a page: `python text.py FOLDER`."""

import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from recombine_lab import fit
from recombine_lab.tasks import TableTask

folder, file = sys.argv[1], f"{sys.argv[1]}/sentences.csv"
words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
words.train([file], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"]))
mine = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
task = TableTask(source=file, inputs="text", tokenizer=mine, factors=["subject", "verb"], target="mood")
model = {"name": "transformer", "width": 16, "heads": 2, "layers": 1, "inner": 32}
(run,) = fit(task, "hold_out_combinations", model, {"steps": 150, "samples": "every"})
print(run.evaluate().verdict)
run.evaluate().page(f"{folder}/text.html", force=True)
