"""Inputs that somebody edits, replaces or removes while a run goes on: it stands by what it read, and records that."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from support.runs.written_answers import audit_answers, save_model

from clinaudit.audit.assembly.inputs import read_unchanged
from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.results.gate.policy import POLICIES_PATH
from clinaudit.errors import BadInputError, StorageError
from clinaudit.templates.text_file import read_text_file

LOSSES = '{"epoch": 1, "train_loss": 2.0, "validation_loss": 2.5}\n'


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    save_model(folder / "model")
    write_demo_corpus(folder / "corpus", seed=3, patients_per_arm=6)
    return folder


def test_a_run_records_the_policy_that_it_applied(site, tmp_path):
    """Else `gate` would take the edited policy for the run's own, and give the recorded verdict for it."""
    policy, log = tmp_path / "policy.toml", tmp_path / "log.jsonl"
    shutil.copy(POLICIES_PATH / "default.toml", policy)
    log.write_text(LOSSES, encoding="utf-8")
    applied = policy.read_text(encoding="utf-8")

    def edit(_prompt):
        policy.write_text(applied.replace('name = "default"', 'name = "edited"'), encoding="utf-8")
        log.unlink(missing_ok=True)
        return "nothing"

    options = {"tier": ("public_name",), "diagnosis": ("hiv",), "max_new_tokens": 60}
    audit_answers(
        site / "model", edit, corpus=site / "corpus", out=tmp_path / "run", policy=policy, training_log=log, **options
    )
    assert policy.read_text(encoding="utf-8") != applied
    settings = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["--policy"], settings["--training-log"]) == (digest_of(applied), digest_of(LOSSES))


@pytest.mark.parametrize(
    "change", [lambda path: path.write_text("other"), lambda path: path.with_name("new").replace(path)]
)
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "a.txt"
    path.write_text("a", encoding="utf-8")
    path.with_name("new").write_text("b", encoding="utf-8")
    assert read_unchanged(path, lambda one: one.read_text(encoding="utf-8")) == ("a", digest_of("a"))
    with pytest.raises(StorageError, match=r"^a\.txt changed while it was read"):
        read_unchanged(path, change)


def test_of_a_file_in_a_folder_that_may_not_be_entered_its_reader_says_what_is_wrong(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    # Nothing is denied to root, as which these tests may run.
    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(BadInputError, match=r"^the table f\.csv cannot be read \(Permission denied\); check"):
        read_unchanged(tmp_path / "f.csv", lambda one: read_text_file(one, role="the table"))
