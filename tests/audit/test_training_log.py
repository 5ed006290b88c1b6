"""The training log: perplexity where the log does not give it."""

import math

import pytest

from clinaudit.audit.assembly.inputs import read_training_log


@pytest.mark.parametrize(
    ("row", "perplexity"),
    [
        ('{"epoch": 1, "validation_loss": 0.4089}', math.exp(0.4089)),
        ('{"epoch": 1, "validation_loss": 0.4089, "perplexity": 1.7}', 1.7),
        ('{"epoch": 1, "train_loss": 0.2}', None),
        ('{"epoch": 1, "validation_loss": 1e9}', None),
        ('{"epoch": 1, "validation_loss": -0.1}', None),
    ],
)
def test_it_is_the_exponential_of_the_validation_loss(tmp_path, row, perplexity):
    log = tmp_path / "log.jsonl"
    log.write_text(row + "\n")
    (read,) = read_training_log(log)
    assert read.perplexity == pytest.approx(perplexity)
