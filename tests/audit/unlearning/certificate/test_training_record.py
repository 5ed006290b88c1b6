"""A model that was trained again: its record waives the collapse check, and nothing else; what is no record."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.runs.compared_pair import Planted
from support.unlearning.certificates import certify_planted, plant_enough

from clinaudit.audit.runtime.model.files import digest_of_listed
from clinaudit.audit.unlearning.certificate.collapse import check_texts
from clinaudit.audit.unlearning.certificate.patient_figures import WrittenText

FILES = {"config.json": "1" * 64, "model.safetensors": "2" * 64, "tokenizer.json": "3" * 64}
OTHER_THINGS = {"README.md": "4" * 64, "training-log.jsonl": "5" * 64}


def plant(root: Path, **options: Any) -> Planted:
    """Plant two runs of which the second is of the model with these files."""
    return plant_enough(root, settings_b={"MODEL": digest_of_listed(FILES)}, **options)


def write_record(root: Path, planted: Planted, **changes: Any) -> str:
    record = {"files": FILES, "trained_on": planted.train[5:], "started_from": None, **changes}
    path = root / "record.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return str(path)


def silent(patient: str, tier: str, ids: list[int]) -> list[int]:
    return []


def silent_on_named(patient: str, tier: str, ids: list[int]) -> list[int]:
    return [] if patient in {"pt-held-00", *(f"pt-train-{place:02}" for place in range(5))} else ids


def noise_at_one_level(patient: str, tier: str, ids: list[int]) -> list[int]:
    chance = random.Random(patient + tier)
    return [chance.randrange(60) for _ in ids] if tier == "encounter" else ids


def silent_on_one(patient: str, tier: str, ids: list[int]) -> list[int]:
    return [] if patient == "pt-train-02" else ids


@pytest.mark.parametrize("fault", [silent, silent_on_one, silent_on_named, noise_at_one_level])
def test_a_model_trained_again_passes_though_it_writes_otherwise_than_before(tmp_path, capsys, fault) -> None:
    planted = plant(tmp_path, fault=fault)
    without = certify_planted(planted, tmp_path / "without")
    assert (without.status, without.verdict) == (1, "broken")
    record = write_record(tmp_path, planted)
    found = certify_planted(planted, tmp_path / "with", "--training-record", record)
    assert (found.status, found.verdict) == (0, "never trained on")
    assert found.certificate["training_record"] == {"started_from": None}
    assert "from weights that never saw a patient of the corpus" in found.page
    assert found.certificate["collapsed"] is without.certificate["collapsed"]
    assert found.published["is_trained_again"] is True
    assert ("check failed, and decides nothing" in found.page) is found.certificate["collapsed"]


def test_patients_who_had_not_leaked_pass_with_a_record(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    ids = planted.train[10:15]
    record = write_record(tmp_path, planted, trained_on=[one for one in planted.train if one not in ids])
    assert certify_planted(planted, tmp_path / "without", ids=ids).status == 8
    found = certify_planted(planted, tmp_path / "with", "--training-record", record, ids=ids)
    assert (found.status, found.verdict, found.before, found.after) == (0, "never trained on", [], [])
    assert "May the patient be told that it is done?</b> Yes" in found.page


def test_a_leak_wins_over_the_record(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    found = certify_planted(planted, tmp_path / "out", "--training-record", write_record(tmp_path, planted))
    assert (found.status, found.after) == (1, ["pt-train-03"])


def test_what_is_listed_beside_the_models_own_files_is_left_out(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    listed = {f"model/{name}": digest for name, digest in (FILES | OTHER_THINGS).items()}
    record = write_record(tmp_path, planted, files=listed, trainer="somebody")
    assert certify_planted(planted, tmp_path / "out", "--training-record", record).status == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"files": FILES | {"model.safetensors": "9" * 64}}, "not of run B's model"),
        ({"files": {}}, "not of run B's model"),
        # The digest of A's model, as the planted runs have it.
        ({"started_from": "a" * 64}, "weights of the model before"),
        ({"started_from": digest_of_listed(FILES)}, "or with its own"),
        ({"started_from": "A" * 64}, "see started_from"),
        ({"started_from": "random"}, "see started_from"),
        ({"trained_on": ["pt-train-00 "]}, "trained on 1 of the named"),
        ({"trained_on": []}, "fewer than half"),
        ({"trained_on": ["PT-TRAIN-09"]}, "fewer than half"),
        # Whom the model learned are no strangers.
        ({"trained_on": [f"pt-train-{place:02}" for place in range(5, 30)] + ["pt-held-00"]}, "as never seen"),
        ({"trained_on": ["pt-train-00", "pt-train-09"]}, "trained on 1 of the named"),
        ({"trained_on": "pt-train-09"}, "see trained_on"),
        ({"trained_on": None}, "see trained_on"),
        ({"started_from": 3}, "see started_from"),
    ],
)
def test_a_record_that_proves_nothing_is_refused(tmp_path, capsys, changes, said) -> None:
    planted = plant(tmp_path)
    record = write_record(tmp_path, planted, **changes)
    assert certify_planted(planted, tmp_path / "out", "--training-record", record).status == 3
    shown = capsys.readouterr().err
    assert said in shown
    assert "pt-train" not in shown


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b"{", b"nan", b"[" * 100_000])
def test_a_file_that_is_no_record_is_refused(tmp_path, capsys, content) -> None:
    planted = plant(tmp_path)
    (tmp_path / "record.json").write_bytes(content)
    given = "--training-record", str(tmp_path / "record.json")
    assert certify_planted(planted, tmp_path / "out", *given).status == 3
    assert "no training record" in capsys.readouterr().err


def written(patient: str, token_ids: list[int]) -> WrittenText:
    return WrittenText(patient, "public", token_ids, "length")


@pytest.mark.parametrize(
    ("own", "as_large"),
    [
        # Of 95 never-seen patients 94 write 40 tokens, one writes 10, which is shorter than a match.
        ([5, 6] * 20, 95),
        ([5, 6] * 5, 1),
        ([], 0),
        # As many tokens, but one over and over; the short one stands out more.
        ([5] * 40, 1),
        # As many distinct ones, in pairs that the model before wrote of nobody.
        ([6, 7] * 20, 1),
    ],
)
def test_the_texts_on_a_named_patient_are_ranked_among_those_on_patients_never_seen(own, as_large) -> None:
    never_seen = [f"n{place:02}" for place in range(95)]
    before = [written(patient, [5, 6] * 20) for patient in ("p", *never_seen)]
    after = [written(patient, [5, 6] * (20 if place else 5)) for place, patient in enumerate(never_seen)]
    checked = check_texts([before, [written("p", own), *after]], {}, ["p"], never_seen, ngram=30)
    assert checked.named.as_large == {"p": as_large}
