"""Runs of a simulation, or seeds in blocks: the first few always, the others with `make test-slow`."""

from typing import Any

import pytest


def first_of(number: int, *, always: int) -> list[Any]:
    """Return the numbers from 0 as parameters of a test, those after the first `always` marked `simulation`."""
    return [run if run < always else pytest.param(run, marks=pytest.mark.simulation) for run in range(number)]


def in_blocks(number: int, *, each: int) -> list[Any]:
    """Return the numbers from 0 in ranges of `each`, all marked `simulation`: a test runs a few of them always."""
    blocks = [range(begin, min(begin + each, number)) for begin in range(0, number, each)]
    return [pytest.param(block, marks=pytest.mark.simulation) for block in blocks]
