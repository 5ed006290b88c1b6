"""A figure whose level is the largest value there is cannot fail: it says nothing, and makes nobody forgotten."""

import json
from pathlib import Path

import pytest
from support.runs.compared_pair import TOKENS, Planted, plant
from support.unlearning.bench_results import constant, except_for, write_bench_result

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.certificate.forgetting_verdict import (
    ATTRIBUTABLE,
    NEVER_SEEN_AS_OFTEN,
    NOTHING_TELLS,
    RETRAINED_AS_MUCH,
    STATED,
    Level,
    MeasuredRuns,
    PatientMeasures,
    Place,
    Reasons,
    cannot_fail,
    certify_patient,
    judge,
)
from clinaudit.audit.unlearning.certificate.question_block import weigh_answers
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import PatientCertificate

HIV = STATED + "hiv"


def certificate_of(planted: Planted, out: Path, *options: str) -> dict:
    (out.parent / "ids").write_text("\n".join(planted.named), encoding="utf-8")
    named = ["--forgotten", str(out.parent / "ids"), "--out", str(out)]
    command(["compare", str(planted.a), str(planted.b), *named, *options])
    return json.loads((out / "evidence" / "certificate.json").read_text(encoding="utf-8"))


def test_a_diagnosis_that_is_told_of_patients_never_seen_says_nothing_whatever_is_told_of_the_patient(
    tmp_path, capsys
) -> None:
    # 30 of the 60 held-out have it, and the level is the 30th smallest: one of whom it is told makes the level 1.
    planted = plant(tmp_path, held_out=60, stated=["pt-train-01", "pt-held-00"])
    patients = certificate_of(planted, tmp_path / "out")["patients"]
    rows = [row for one in patients for row in one["measures"] if row["measure"] == HIV and row["tier"] == "encounter"]
    assert {(row["after"], row["level"]) for row in rows} == {(0, 1), (1, 1)}
    assert {(row["status"], row["reason"]) for row in rows} == {("says nothing", NEVER_SEEN_AS_OFTEN)}
    # Other figures of the patients tell; what says nothing keeps nobody from being forgotten.
    assert {one["verdict"] for one in patients} == {"forgotten"}
    assert {reason for one in patients for reason in one["reasons"]} == set()
    assert {row["status"] for one in patients for row in one["measures"]} == {"forgotten", "says nothing"}


def test_a_retrained_model_that_tells_the_diagnosis_is_named_as_the_cause(tmp_path, capsys) -> None:
    planted = plant(tmp_path, held_out=60, stated=["pt-train-01"])
    # The reference tells it of one patient whom it never saw: it is within its own level.
    other = plant(tmp_path / "r", held_out=60, stated=["pt-train-01", "pt-held-00"], settings_b={"MODEL": "f" * 64})
    patients = certificate_of(planted, tmp_path / "out", "--reference", str(other.b))["patients"]
    row = next(row for row in patients[1]["measures"] if row["measure"] == HIV and row["tier"] == "encounter")
    assert (row["level"], row["status"], row["reason"]) == (1, "says nothing", RETRAINED_AS_MUCH)


@pytest.mark.parametrize(
    ("level", "largest", "expected"),
    [(1.0, 1.0, True), (0.99, 1.0, False), (None, 1.0, False), (120, 120, True), (119, 120, False), (120, None, False)],
)
def test_a_level_at_the_largest_value_cannot_be_exceeded(level, largest, expected) -> None:
    assert cannot_fail(Level(level, 30), largest) is expected


def certify(
    after: dict[str, float], levels: dict[str, float], *, tiers: tuple[str, ...] = TIER_IDS
) -> PatientCertificate:
    """Certify one patient of whom these measures, at each tier, have these levels."""
    places: dict[Place, float | None] = {(tier, name): value for tier in tiers for name, value in after.items()}
    generations = {("p", tier): {"g": TOKENS} for tier in tiers}
    without = [("p", tier) for tier in TIER_IDS if tier not in tiers]
    measured = PatientMeasures({"p": "train"}, {"p": places}, generations, without)
    of = {(tier, name): Level(value, 30) for tier in tiers for name, value in levels.items()}
    runs = MeasuredRuns(measured, measured, of, of, ngram=30, same_prompts=True, longest_tokens=TOKENS)
    return certify_patient("p", runs, collapsed=False, own_collapsed=False)


ALL_TOKENS = dict.fromkeys(
    (ATTRIBUTABLE, "memorized tokens", "longest match in tokens", "longest near-verbatim text in tokens"), 0.0
)


def test_a_patient_none_of_whose_figures_could_tell_is_not_shown_to_be_forgotten() -> None:
    full = dict.fromkeys(ALL_TOKENS, float(TOKENS)) | {HIV: 1.0}
    told = certify(ALL_TOKENS | {HIV: 1.0}, full)
    assert (told.verdict, told.reasons) == ("not shown", [NOTHING_TELLS])
    assert {row.status for row in told.measures} == {"says nothing"}
    # One figure that could have failed is enough for the verdict; it is not forgotten by the others.
    one = certify(ALL_TOKENS | {HIV: 1.0}, full | {ATTRIBUTABLE: TOKENS - 1.0})
    assert (one.verdict, one.reasons) == ("forgotten", [])


def test_a_patient_of_whom_nobody_can_ask_is_not_shown_to_be_forgotten() -> None:
    nobody = certify({}, {}, tiers=())
    assert (nobody.verdict, nobody.reasons, nobody.measures) == ("not shown", [NOTHING_TELLS], [])


def test_answers_that_all_patients_never_trained_on_get_say_nothing(tmp_path) -> None:
    named, retained = [f"n{place}" for place in range(5)], [f"r{place}" for place in range(6)]
    never_trained = [f"c{place:02}" for place in range(30)]
    after = except_for(dict.fromkeys(never_trained, 1.0), constant(0.5, 0.5))
    write_bench_result(tmp_path, {"after": after}, forget=named, retain=retained, never_trained=never_trained)
    asked = weigh_answers(read_bench_result(tmp_path, model=None, digest="b" * 64, corpus_digest="c" * 64), named)
    rows = [row for own in asked.rows.values() for row in own if row.level == 1]
    assert rows
    assert {(row.status, row.reason) for row in rows} == {("says nothing", NEVER_SEEN_AS_OFTEN)}
    # It is no lack either: the audits decide.
    assert set().union(*asked.lacking.values()) == set().union(*asked.leaks.values()) == set()


def test_why_a_figure_says_nothing_follows_from_who_reaches_the_largest_value() -> None:
    for level, reason in ((1.0, NEVER_SEEN_AS_OFTEN), (0.5, RETRAINED_AS_MUCH)):
        judged = judge(
            1.0, Level(level, 30), reference=(1.0, Level(1.0, 30)), largest=1.0, reasons=Reasons("a", "m", "f")
        )
        assert (judged.level, judged.status, judged.reason) == (1.0, "says nothing", reason)
