"""With how many threads a model decodes: what was asked for, and one for a small model."""

from types import SimpleNamespace

import pytest

from clinaudit.audit.model.engines import selection
from clinaudit.audit.model.engines.memory import EngineOptions
from clinaudit.audit.model.engines.selection import choose_threads


@pytest.mark.parametrize(
    ("option", "environment", "size", "threads"),
    [(3, "2", 5 << 30, 3), (None, "2", 5 << 30, 2), (None, "", 540 << 20, 1), (None, "0", 1, 1), (None, "x,y", 1, 1)],
)
def test_threads_are_those_asked_for_and_one_for_a_small_model(monkeypatch, option, environment, size, threads):
    monkeypatch.setattr(selection, "_ASKED", environment)
    assert choose_threads(SimpleNamespace(weight_bytes=size), EngineOptions(threads=option)) == threads
