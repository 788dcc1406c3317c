"""A tiny BERT, trained by the Hugging Face Trainer; three lines bring the scores on unseen combinations."""

import tempfile

from toy import CLASSES, EVAL, TRAIN, WORDS, Rows
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

from recombine.integrations.transformers import Scoreboard, compute_metrics  # added

set_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
model = BertForSequenceClassification(BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, **sizes))
board = Scoreboard(EVAL, factors=["colour", "shape"], target="label", train=TRAIN, classes=CLASSES)  # added
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            folder,
            num_train_epochs=12,
            per_device_train_batch_size=32,
            learning_rate=1e-3,
            eval_strategy="steps",
            eval_steps=48,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=Rows(TRAIN, "sentences"),
        eval_dataset=Rows(EVAL, "sentences"),
        compute_metrics=compute_metrics(board),  # added
    )
    trainer.train()
    found = trainer.evaluate()
print({name: round(found[f"eval_{name}"], 3) for name in ("seen_accuracy", "unseen_accuracy", "gap")})
print(board.evaluation(causes=False).verdict)
