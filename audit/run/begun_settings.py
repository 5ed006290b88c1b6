"""The settings that a directory was begun with: the same command goes on, another one is refused.

Owns the file that holds them. Knows nothing of what a setting means.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.errors import IntegrityError, UsageError


def settle_settings(path: Path, settings: Mapping[str, Any], *, what: str) -> None:
    """Keep the settings in a file; raises `UsageError` where `what` was begun with other ones, and names these.

    Raises `IntegrityError` where those of before cannot be read.
    """
    if path.is_file():
        try:
            held = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise IntegrityError(
                f"the kept settings ({path.name} under evidence/work) are damaged; begin anew with another --out"
            ) from None
        changed = sorted(name for name in {*held, *settings} if held.get(name) != settings.get(name))
        if changed:
            raise UsageError(
                f"{what} was begun with other settings ({', '.join(changed)}); give the same ones, or another --out"
            )
    write_atomically(path, json.dumps(settings, indent=1, sort_keys=True) + "\n")
