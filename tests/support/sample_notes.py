"""Notes in the layouts of the profiles that ship, as `sample_notes.toml` holds them, with what is read in them."""

import tomllib
from pathlib import Path
from typing import Any

_FILE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: `profile` and `text`; of most, the `facts` and `sections` that the profile reads in it.
NOTES: list[dict[str, Any]] = _FILE["notes"]
#: By what stands below them: `text` and `values`.
BANNERS: dict[str, list[dict[str, Any]]] = _FILE["banners"]
#: By profile: the first note of each.
SAMPLES: dict[str, str] = {note["profile"]: note["text"] for note in reversed(NOTES)}
