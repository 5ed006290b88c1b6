"""What the answers of a served model depend on, as far as it is visible here: part of the key of each kept answer.

Owns the fields; never the key nor the address, which shows a site's network. Knows nothing of what is asked.
"""

import hashlib
from importlib.metadata import version

from clinaudit.audit.served.approved_addresses import ServedModel


def identity_of(model: ServedModel, *, kind: str, reading: str, seed: int) -> dict[str, str]:
    """Return the identity of a model asked for a purpose; `reading` is raised when an answer comes to mean another."""
    return {
        "kind": kind,
        "version": reading,
        "model": model.name,
        "endpoint": hashlib.sha256(model.base_url.encode()).hexdigest(),
        "seed": str(seed),
        "openai": version("openai"),
    }
