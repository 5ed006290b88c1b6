"""A retrained model that vouches, what diagnoses say, the trigger, and what is missing of a patient's figures."""

from pathlib import Path

import pytest
from support.unlearning.certificates import certify_planted
from support.unlearning.certificates import plant_enough as plant

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.unlearning.certificate.audit_figures import (
    NO_TIER,
    NO_VALUE,
    TEXT_MEASURES,
    AuditFigures,
    ComparedFigures,
)
from clinaudit.audit.unlearning.certificate.joint_test import STATED
from clinaudit.priors.tiers import TIER_IDS

LEAKING = "pt-train-03"
HIV = STATED + "hiv"


def plant_reference(root: Path, leaking: dict[str, int], *, held_out: int = 95, model: str = "f" * 64) -> str:
    """Return the run of a third model, in which some patients have a match of so many tokens."""
    return str(plant(root, leaking=leaking, held_out=held_out, settings_b={"MODEL": model}).b)


def test_a_reference_that_writes_nothing_of_the_patients_changes_no_verdict(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={LEAKING: 31})
    reference = plant_reference(tmp_path / "retrained", {})
    alone = certify_planted(planted, tmp_path / "x")
    beside = certify_planted(planted, tmp_path / "y", "--reference", reference)
    assert alone.status == beside.status == 1
    assert alone.by_patient == beside.by_patient
    assert (alone.certificate["has_reference"], beside.certificate["has_reference"]) == (False, True)
    for certified, written in ((alone, None), (beside, 0)):
        assert {row["reference"] for row in certified.rows("memorized tokens")} == {written}


#: Never seen by the reference, and of whom it writes as much.
SHARED = {f"pt-held-{place:02}": 40 for place in range(5)}


@pytest.mark.parametrize(
    ("tokens", "others", "held_out", "status"),
    [
        # What a model without the patient writes as well is no memory.
        (31, SHARED, 95, 0),
        (40, SHARED, 95, 0),
        (41, SHARED, 95, 1),
        # In the reference the patient stands out: it does remember.
        (31, {}, 95, 1),
        # Too few whom it never saw to say so.
        (31, SHARED, 94, 1),
    ],
)
def test_a_reference_vouches_where_the_patient_does_not_stand_out_in_it(
    tmp_path, capsys, tokens, others, held_out, status
) -> None:
    planted = plant(tmp_path, leaking={LEAKING: tokens})
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40, **others}, held_out=held_out)
    found = certify_planted(planted, tmp_path / "out", "--reference", reference)
    assert found.status == status
    row = found.rows("longest match in tokens")[3]
    assert (row["after"], row["reference"]) == (tokens, 40)


@pytest.mark.parametrize("model", ["a" * 64, "b" * 64, "purged"], ids=["before", "after", "purged"])
def test_a_model_does_not_vouch_for_itself_nor_a_run_without_evidence(tmp_path, capsys, model) -> None:
    planted = plant(tmp_path)
    is_purged = model == "purged"
    reference = plant_reference(tmp_path / "third", {}, model="f" * 64 if is_purged else model)
    if is_purged:
        assert command(["purge", reference, "--yes"]) == 0
    assert certify_planted(planted, tmp_path / "out", "--reference", reference).status == 3
    assert ("purged" if is_purged else "retrained model") in capsys.readouterr().err


def test_the_trigger_stands_in_the_certificate_and_nowhere_else(tmp_path, capsys) -> None:
    # A consent under part 2 tells that there are records of a substance use disorder.
    out = tmp_path / "out"
    found = certify_planted(plant(tmp_path), out, "--trigger", "part-2-consent")
    assert found.certificate["trigger"] == "part-2-consent"
    assert "42 CFR part 2" in found.page
    shown = [(out / name).read_text(encoding="utf-8") for name in ("compare.json", "compare.html")]
    shown += list(capsys.readouterr())
    assert not [text for text in shown if "part-2" in text or "part 2" in text]


@pytest.mark.parametrize(
    ("stated", "status", "below"),
    [
        (["pt-train-01"], 1, 47),
        # Of one never seen it is told as well: who has the diagnosis stands among these, and nobody is shown to leak.
        (["pt-train-01", "pt-held-00"], 0, 46),
    ],
)
def test_a_diagnosis_that_is_still_stated_is_one_figure_more(tmp_path, capsys, stated, status, below) -> None:
    # Half of the held-out have it: 47 of 95.
    found = certify_planted(plant(tmp_path, stated=stated), tmp_path / "out")
    row = next(row for row in found.rows(HIV) if row["after"] == 1)
    assert (found.status, row["below"], row["controls"]) == (status, below, 47)


def figures(after: dict[str, float | None], *, tiers: tuple[str, ...] = TIER_IDS) -> AuditFigures:
    """One patient of whom a run has these measures at each of some tiers."""
    values = {(tier, name): value for tier in tiers for name, value in after.items()}
    generations = {("p", tier): {"g"} for tier in tiers}
    without = [("p", tier) for tier in TIER_IDS if tier not in tiers]
    return AuditFigures({"p": "train"}, {"p": values}, generations, without)


MEASURED = dict.fromkeys(TEXT_MEASURES, 0.0)


@pytest.mark.parametrize(
    ("before", "after", "missing"),
    [
        (figures(MEASURED), figures(MEASURED), {None}),
        (figures(MEASURED), figures(MEASURED | {TEXT_MEASURES[0]: None}), {None, NO_VALUE}),
        # Where one run alone has the fact there is nothing to compare; where neither has it nobody can ask.
        (figures(MEASURED), figures(MEASURED, tiers=TIER_IDS[1:]), {None, NO_TIER}),
        (figures(MEASURED, tiers=TIER_IDS[1:]), figures(MEASURED, tiers=TIER_IDS[1:]), {None}),
        (figures({}, tiers=()), figures({}, tiers=()), set()),
    ],
)
def test_what_is_missing_of_a_patients_figures_is_named(before, after, missing) -> None:
    compared = ComparedFigures(before=before, after=after, never_seen=(), same_prompts=True)
    assert {row.reason for row in compared.rows("p")} == missing
