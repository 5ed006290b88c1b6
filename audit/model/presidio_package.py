"""The import of presidio-analyzer without the language models that it can use and that nothing here does.

It takes transformers where that is installed, which costs four seconds at each start. It does without where the import
fails, so for that moment it is made to fail. spaCy imports presidio by itself, as one of the packages that offer parts
of a pipeline, whenever it makes or loads one. Knows nothing of what presidio finds.
"""

import importlib
import sys
from functools import cache
from types import ModuleType

_OPTIONAL = "transformers"


@cache
def import_presidio() -> ModuleType:
    """Return the package `presidio_analyzer`; the first import of it is made here, wherever it is needed."""
    if _OPTIONAL in sys.modules:
        return importlib.import_module("presidio_analyzer")
    # None makes an import of that name raise ImportError (reference of the import system, 5.3.1).
    sys.modules[_OPTIONAL] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("presidio_analyzer")
    finally:
        del sys.modules[_OPTIONAL]
