"""Keeps what libraries write for themselves (temporary files, caches, settings) inside the run's `work/`.

A temporary file may hold PHI; nothing of a run may lie about in /tmp or in somebody's home. Knows nothing of what the
libraries do with the folders.
"""

import os
import tempfile
from pathlib import Path

from clinaudit.audit.run.durable_files import make_private_directory

#: Variable -> folder under `work/`. The XDG ones serve vLLM, matplotlib and fontconfig alike.
_FOLDERS = {
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "HF_HOME": "cache/huggingface",
    "MPLCONFIGDIR": "config/matplotlib",
    "TORCHINDUCTOR_CACHE_DIR": "cache/torchinductor",
    "TRITON_CACHE_DIR": "cache/triton",
}
_COMPILER_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
#: No hub, no usage statistics (vLLM's own switch included).
_SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def take_libraries_offline(work: Path | None = None) -> None:
    """Take the libraries' network habits away; to be called before any of them is imported.

    Torch may make its compiler's cache when it is imported, before `work` is made: its place is named already.
    """
    os.environ.update(_SWITCHES)
    if work is not None:
        os.environ.update({name: str((work / _FOLDERS[name]).resolve()) for name in _COMPILER_CACHES})


def confine_libraries(work: Path) -> None:
    """Point what the libraries write at folders under `work`; those imported later than this keep to it."""
    for variable, folder in _FOLDERS.items():
        path = (work / folder).resolve()
        make_private_directory(path)
        os.environ[variable] = str(path)
    tempfile.tempdir = None  # read TMPDIR again
