"""Between stages pass frames, settings and handles: no record of what one stage found is given to the next."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import Final, get_args, get_type_hints

ROOT: Final = Path(__file__).parents[2]
#: Where the stages' rooms are.
_ROOMS: Final = ("clinaudit.audit.measures.", "clinaudit.audit.pii.", "clinaudit.audit.preview.")
#: The modules that call stages.
_CALLERS: Final = ("pipeline.py", "scored.py")
#: What of ours a stage may be given or give beside frames and plain values, by the reason.
_SETTINGS: Final = {
    "AuditSettings": "options",
    "Decoding": "how prompts are continued",
    "Diagnosis": "a row of the panel",
    "LabelledSet": "a file of the site's, as it was read",
    "NoteProfile": "a file of the site's, as it was read",
    "ProbedTiers": "options",
    "Revealed": "what a prompt must not hold, as the writer of prompts is set up",
    "SiteRules": "a file of the site's, as it was read",
    "TaskSet": "a file of the site's, as it was read",
}
_HANDLES: Final = {
    "Annotator": "asks the judge",
    "AnswerCache": "a file of answers",
    "Corpus": "reads notes from the disk",
    "EngineInUse": "asks the model",
    "Judge": "reads texts",
    "Ledger": "keeps what a judge said",
    "LocalRunner": "works in shards",
    "MatchedCorpus": "reads notes from the disk",
    "ModelTokenizer": "reads texts",
    "Progress": "says how far a stage is",
    "PromptWriter": "writes prompts",
    "RayRunner": "works in shards",
    "RunStore": "keeps what a model said",
}
_RECORDS: Final = {
    "IdentifierFacts": "what results.json says of the search in words",
    "PatientFacts": "where a note says what: spans of a text that stays on the disk, of which prompts are cut",
    "Targets": "frames under their names",
}
ALLOWED: Final = {**_SETTINGS, **_HANDLES, **_RECORDS}


def stage_functions():
    """Yield the functions of the stages' rooms that assembly calls."""
    for caller in _CALLERS:
        for node in ast.walk(ast.parse((ROOT / "audit" / "assembly" / caller).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(_ROOMS):
                for alias in node.names:
                    found = getattr(import_module(node.module), alias.name)
                    if inspect.isfunction(found):
                        yield alias.name, found


def leaves(hint):
    """Yield the classes of a type, those within it."""
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for part in get_args(hint):
        yield from leaves(part)


def test_stages_hand_on_frames_settings_handles_and_plain_values():
    handed = {
        leaf.__name__: f"{name}, {parameter}: {leaf.__name__}"
        for name, function in stage_functions()
        for parameter, hint in get_type_hints(function).items()
        for leaf in leaves(hint)
        if leaf.__module__.startswith("clinaudit.")
    }
    # A record is to be a frame, or to stand in ALLOWED with the reason why it may pass.
    assert [place for name, place in handed.items() if name not in ALLOWED] == []
    assert handed.keys() == ALLOWED.keys()
