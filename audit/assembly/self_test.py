"""The self-test in an audit: on which texts, once a run, and what the report says of it (methods, section 1)."""

import json
import random
from collections.abc import Callable
from typing import Final

from clinaudit.audit.assembly.begun_run import BegunRun
from clinaudit.audit.assembly.inputs import AuditInputs
from clinaudit.audit.runtime.console.streams import warn
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.self_test import TEXTS, SelfTest
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.store import RunStore
from clinaudit.priors.corpus.corpus import Corpus

#: The setting of a run that holds what its self-test named; a resumed run is not tested again.
_PASSED: Final = "self-test"
#: What the self-test states, with figures of the notes.
_FILE: Final = "self_test.json"


def begin_self_test(inputs: AuditInputs, run: BegunRun) -> Callable[[EngineInUse], None] | None:
    """Test the tokenizer and the weights; return the rest of the test, for the engine when it is first asked.

    None where the run was tested, or is not to be. Raises `BadInputError` where a test fails.
    """
    if inputs.settings.skip_self_test or _PASSED in run.store.settings():
        return None
    settings = inputs.settings
    texts = _choose_texts(inputs.corpus, settings.seed)
    test = SelfTest(inputs.model, inputs.tokenizer, texts, scores=settings.score)
    with run.progress.stage("testing tokenizer and weights", total=1, unit="models") as advance:
        test.run_before_loading()
        advance(1)

    def ask(engine: EngineInUse) -> None:
        test(engine)
        named = list(dict.fromkeys(test.named))
        for sentence in named:
            warn(f"warning: self-test: {sentence}")
        stated = {"named": named, "stated": test.stated}
        write_atomically(run.directory.evidence / _FILE, json.dumps(stated, indent=1) + "\n")
        run.store.bind_settings({_PASSED: named})

    return ask


def self_test_caveats(inputs: AuditInputs, store: RunStore) -> list[str]:
    """Return what the report says of the self-test; nothing where all was alike."""
    named: list[str] | None = store.settings().get(_PASSED)
    if named is not None:
        return named
    option = " (--skip-self-test)" if inputs.settings.skip_self_test else ""
    return [
        f"The self-test of the model was left out{option}: nothing shows that the engine decodes the model that was "
        "given, with its own tokenizer. A model that is read wrongly looks as if it knew nothing."
    ]


def _choose_texts(corpus: Corpus, seed: int) -> list[str]:
    """Return a note each of some patients, by chance."""
    patients = sorted(corpus.patients)
    chosen = random.Random(seed).sample(patients, min(TEXTS, len(patients)))
    return [notes[0].text for patient_id in chosen if (notes := corpus.notes_of(patient_id))]
