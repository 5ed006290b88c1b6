"""Runs of a simulation by number: the first few always, the others with `make test-slow`."""

from typing import Any

import pytest


def first_of(number: int, *, always: int) -> list[Any]:
    """Return the numbers from 0 as parameters of a test, those after the first `always` marked `simulation`."""
    return [run if run < always else pytest.param(run, marks=pytest.mark.simulation) for run in range(number)]
