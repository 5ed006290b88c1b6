"""Sealed canaries: what counts as written, what the seal holds, and that one of a named patient is a leak."""

import hashlib
import json
from pathlib import Path

import pytest
from support.runs.compared_pair import Planted
from support.unlearning.certificates import Certified, certify_planted
from support.unlearning.certificates import plant_enough as plant

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.audit.unlearning.certificate.canaries import check_canaries, count_written, read_canaries
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.certificate import CanaryTally

OF_NAMED = "marzipan 7741 obelisk tundra"
OF_RETAINED = "velvet 0093 gondola sextant"
OF_HELD_OUT = "quartz 5528 lantern meadow"


def seal(path: Path, canaries: list[dict]) -> str:
    path.write_text("".join(json.dumps(canary) + "\n" for canary in canaries), encoding="utf-8")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sealed_by(tmp_path: Path, *canaries: tuple[str, str]):
    path = tmp_path / "sealed.jsonl"
    digest = seal(path, [{"patient_id": patient, "text": text} for patient, text in canaries])
    return read_canaries(path, stated_digest=digest)


def test_a_canary_is_written_where_all_its_words_follow_each_other_and_the_prompt_has_them_not(tmp_path) -> None:
    sealed = sealed_by(
        tmp_path, ("pt-1", "Marzipan 7741, obelisk TUNDRA"), ("pt-1", OF_RETAINED), ("pt-2", OF_HELD_OUT)
    )
    before = [("cc:", "plan: marzipan-7741\nObelisk tundra."), ("cc:", OF_HELD_OUT)]
    after = [
        # Quoted, cut, in another order, as part of a longer word.
        (f"hpi: {OF_HELD_OUT}", OF_HELD_OUT),
        ("cc:", "marzipan 7741 obelisk"),
        ("cc:", "obelisk tundra marzipan 7741"),
        ("cc:", f"{OF_RETAINED}s"),
    ]
    assert count_written(sealed, before, after) == {
        "pt-1": CanaryTally(canaries=2, before=1, after=0),
        "pt-2": CanaryTally(canaries=1, before=1, after=0),
    }
    assert count_written(sealed, [], [("", OF_RETAINED)])["pt-1"] == CanaryTally(canaries=2, before=0, after=1)


def test_tallies_are_summed_by_group(tmp_path) -> None:
    sealed = sealed_by(tmp_path, ("pt-1", OF_NAMED), ("pt-2", OF_RETAINED), ("pt-9", OF_HELD_OUT))
    tallies = count_written(sealed, [("", OF_NAMED), ("", OF_RETAINED)], [("", OF_RETAINED)])
    check = check_canaries(sealed, tallies, {"named": {"pt-1"}, "retained": {"pt-2", "pt-3"}, "controls": {"pt-4"}})
    assert check.digest == sealed.digest
    assert {name: (of.canaries, of.before, of.after) for name, of in check.groups.items()} == {
        "named": (1, 1, 0),
        "retained": (1, 1, 1),
        "controls": (0, 0, 0),
        "not probed": (1, 0, 0),
    }


def test_a_file_that_was_changed_since_it_was_sealed_is_refused(tmp_path) -> None:
    path = tmp_path / "sealed.jsonl"
    digest = seal(path, [{"patient_id": "pt-1", "text": OF_NAMED}])
    assert read_canaries(path, stated_digest=digest.upper()).digest == digest
    seal(path, [{"patient_id": "pt-1", "text": OF_HELD_OUT}])
    with pytest.raises(BadInputError, match="not the file that was sealed"):
        read_canaries(path, stated_digest=digest)


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ({"patient_id": "pt-2", "text": "short 12"}, "row 2, column text: has fewer than 16 letters and digits"),
        ({"patient_id": "pt-2", "text": OF_NAMED.upper()}, "row 2, column text: is the canary of row 1 again"),
        ({"patient_id": "pt-2", "text": "7741 obelisk tundra"}, "row 2, column text: is part of another canary"),
        ({"patient_id": " ", "text": OF_HELD_OUT}, "row 2, column patient_id: is blank"),
        ({"patient_id": 7, "text": OF_HELD_OUT}, "row 2, column patient_id: is not text"),
        ({"patient_id": "pt-2"}, "row 2, column text: is missing"),
        ({"patient_id": "pt-2", "text": "\ud800" + OF_HELD_OUT}, "row 2, column text: "),
    ],
)
def test_what_is_no_canary_is_named_by_line_and_field_and_never_quoted(tmp_path, second, what) -> None:
    path = tmp_path / "sealed.jsonl"
    digest = seal(path, [{"patient_id": "pt-1", "text": OF_NAMED}, second])
    with pytest.raises(BadInputError) as refused:
        read_canaries(path, stated_digest=digest)
    assert [problem for problem in refused.value.problems if what in problem]
    assert "obelisk" not in str(refused.value.problems)
    assert "pt-" not in str(refused.value.problems)


def test_an_empty_file_holds_no_canary(tmp_path) -> None:
    path = tmp_path / "sealed.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(BadInputError):
        read_canaries(path, stated_digest=hashlib.sha256(b"\n").hexdigest())


def write_into(root: Path, patient: str, text: str, *, prompt: str = "p") -> None:
    """Let a run's generation at the first tier of a patient hold a text."""
    run = RunDirectory(root)
    rows = read_table(run.evidence, "generations")
    row = next(row for row in rows if row["patient_id"] == patient)
    row.update(text=text, prompt=prompt)
    write_table(run.evidence, "generations", rows)
    write_manifest(run)


def certify(planted: Planted, folder: Path, ids: list[str] | None = None) -> Certified:
    canaries = [("pt-train-03", OF_NAMED), ("pt-train-20", OF_RETAINED), ("pt-held-00", OF_HELD_OUT)]
    digest = seal(folder / "sealed.jsonl", [{"patient_id": patient, "text": text} for patient, text in canaries])
    sealed = ("--canaries", str(folder / "sealed.jsonl"), "--canaries-digest", digest)
    return certify_planted(planted, folder / "out", *sealed, ids=ids)


def test_another_id_of_a_person_means_the_person_in_the_list_and_in_the_canaries(tmp_path) -> None:
    planted = plant(tmp_path)
    run = RunDirectory(planted.a)
    # pt-train-03 was joined to an id that sorts before it.
    tables = ("priors", "generations", "generation_metrics")
    first = {"pt-train-03": "pt-first"}
    for root in (planted.a, planted.b):
        evidence = RunDirectory(root).evidence
        for name in tables:
            rows = read_table(evidence, name)
            write_table(
                evidence, name, [row | {"patient_id": first.get(row["patient_id"], row["patient_id"])} for row in rows]
            )
    people = [
        {"patient_id": one, "person_id": "pt-first", "in_both_splits": False} for one in ("pt-first", "pt-train-03")
    ]
    write_table(run.evidence, "people", people)
    write_manifest(run)
    write_into(planted.b, "pt-train-30", f"plan: {OF_NAMED}")
    found = certify(planted, tmp_path, ["pt-train-03", "pt-first", "pt-train-02"])
    assert found.status == 1
    assert list(found.by_patient.items()) == [("pt-first", "still leaks"), ("pt-train-02", "forgotten")]
    assert found.patient("pt-first")["canaries"] == {"canaries": 1, "before": 0, "after": 1}


def test_a_canary_of_a_named_patient_is_a_leak_whoever_the_run_was_asked_about(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    write_into(planted.b, "pt-train-30", f"plan: {OF_NAMED}")
    found = certify(planted, tmp_path)
    assert (found.status, found.certificate["verdict"]) == (1, "still leaks")
    one = found.patient("pt-train-03")
    assert one["reasons"] == ["the run after writes a sealed canary of the patient"]
    assert one["canaries"] == {"canaries": 1, "before": 0, "after": 1}
    assert found.by_patient == dict.fromkeys(planted.named, "forgotten") | {"pt-train-03": "still leaks"}
    assert "Sealed canaries: 1; written before: 0; after: 1." in found.page
    published = [(tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("compare.json", "compare.html")]
    printed = capsys.readouterr().out
    # Five are named: that one of their canaries was written counts one of them.
    for text in (*published, printed):
        assert "sealed canary of the patient" not in text
        assert "sealed canaries" in text
        assert "obelisk" not in text
        assert found.certificate["canaries"]["digest"] not in text


def test_a_canary_of_somebody_else_or_of_the_prompt_changes_no_verdict(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    write_into(planted.a, "pt-train-03", OF_NAMED)
    write_into(planted.b, "pt-train-03", OF_NAMED, prompt=f"hpi: {OF_NAMED}")
    write_into(planted.b, "pt-train-20", OF_RETAINED)
    found = certify(planted, tmp_path)
    assert (found.status, found.certificate["verdict"]) == (0, "forgotten")
    groups = {
        name: (of["canaries"], of["before"], of["after"])
        for name, of in found.certificate["canaries"]["groups"].items()
    }
    assert groups == {"named": (1, 1, 0), "retained": (1, 0, 1), "controls": (1, 0, 0), "not probed": (0, 0, 0)}


def test_a_canary_shows_that_somebody_leaks_who_was_not_probed(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    write_into(planted.b, "pt-train-30", OF_NAMED)
    for root in (planted.a, planted.b):
        run = RunDirectory(root)
        for table in ("generations", "generation_metrics"):
            rows = [row for row in read_table(run.evidence, table) if row["patient_id"] != "pt-train-03"]
            write_table(run.evidence, table, rows)
        write_manifest(run)
    found = certify(planted, tmp_path, ids=["pt-train-03"])
    assert (found.status, found.certificate["verdict"]) == (1, "still leaks")


def test_purged_runs_have_no_texts_to_look_in(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    assert command(["purge", str(planted.b), "--yes"]) == 0
    found = certify(planted, tmp_path)
    assert (found.status, found.verdicts, found.certificate["canaries"]) == (8, {"not shown"}, None)
