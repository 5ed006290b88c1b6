"""What an audit says that it left out: answers drawn of a model whose weights leave."""

from types import SimpleNamespace

import pytest

from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.runtime.settings import AuditSettings


@pytest.mark.parametrize(
    ("release", "samples", "temperature", "left_out"),
    [
        ("weights", 0, 1.0, True),
        ("weights", 7, 1.0, True),
        ("weights", 8, 1e-300, True),
        ("weights", 8, 1.0, False),
        ("api", 0, 1.0, False),
        (None, 0, 1.0, False),
    ],
)
def test_weights_that_leave_take_eight_draws_at_temperature_one(release, samples, temperature, left_out) -> None:
    settings = AuditSettings.of(
        model="m", corpus=".", out=".", release=release, samples=samples, temperature=temperature
    )
    inputs = SimpleNamespace(settings=settings, panel=(), sensitive=(), tokenizer=None)
    assert ("samples" in AuditInputs.narrowed.fget(inputs)) is left_out
