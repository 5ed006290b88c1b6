"""clinaudit: what a clinical language model gives away about the patients it was trained on.

`run_audit`, `load_results`, `check`, `mask` and `unmask` are the commands as functions (docs/results.md).
Each loads what it needs when it is first used.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clinaudit.audit.api.functions import Check, Masked, Results, check, load_results, mask, run_audit, unmask

__version__ = version("clinaudit")
__all__ = ["Check", "Masked", "Results", "check", "load_results", "mask", "run_audit", "unmask"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clinaudit.audit.api import functions

    return getattr(functions, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
