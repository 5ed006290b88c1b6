"""What a level rests on: too few held-out patients, one at the largest value, and a retrained model that vouches."""

from pathlib import Path

import pytest
from support.runs.compared_pair import TOKENS, plant
from support.unlearning.bench_results import constant, except_for, write_bench_result
from support.unlearning.certificates import certify_planted

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
    find_level,
    judge,
)
from clinaudit.audit.unlearning.certificate.question_block import weigh_answers
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import PatientCertificate

LEAKING = "pt-train-03"
HIV = STATED + "hiv"


def plant_reference(root: Path, leaking: dict[str, int], *, held_out: int = 30, model: str = "f" * 64) -> str:
    """Return the run of a third model, in which some named patients have a match of so many tokens."""
    return str(plant(root, leaking=leaking, held_out=held_out, settings_b={"MODEL": model}).b)


def test_the_level_is_the_order_statistic_by_hand() -> None:
    # ceil(0.95 * 101) = 96th smallest of 1 to 100; of fewer than 20 there is none.
    for most, level in ((100, 96), (20, 20), (19, None)):
        assert find_level(list(range(1, most + 1))).value == level


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


@pytest.mark.parametrize(
    ("held_out", "status", "verdict"),
    [
        # Of its 30 patients never seen none has a match: one of 40 tokens shows that it does remember.
        (30, 1, "still leaks"),
        # Of 10 there is no level: a model that remembers would else make one.
        (10, 8, "not shown"),
    ],
)
def test_a_reference_above_its_own_level_or_without_one_does_not_vouch(
    tmp_path, capsys, held_out, status, verdict
) -> None:
    planted = plant(tmp_path, leaking={LEAKING: 31}, held_out=held_out)
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40}, held_out=held_out)
    found = certify_planted(planted, tmp_path / "out", "--reference", reference)
    assert (found.status, found.by_patient[LEAKING]) == (status, verdict)


@pytest.mark.parametrize(("tokens", "status"), [(31, 0), (40, 0), (41, 1)])
def test_what_a_retrained_model_writes_as_well_is_no_memory(tmp_path, capsys, tokens, status) -> None:
    # One of the 30 whom it never saw has 40 tokens in the reference, too: its level is 40, and its figure within.
    planted = plant(tmp_path, leaking={LEAKING: tokens})
    assert certify_planted(planted, tmp_path / "alone").status == 1
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40, "pt-held-00": 40})
    found = certify_planted(planted, tmp_path / "out", "--reference", reference)
    assert found.status == status
    row = found.rows("longest match in tokens")[3]
    assert (row["after"], row["reference"], row["level"]) == (tokens, 40, 40)


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


def test_held_out_patients_too_few_for_a_level_are_counted_and_one_more_is_enough(tmp_path, capsys) -> None:
    few = certify_planted(plant(tmp_path / "few", held_out=19), tmp_path / "few" / "out")
    # Of 19 the largest would have the coverage; the rule takes 20.
    texts = (ATTRIBUTABLE, "longest match in tokens", "longest near-verbatim text in tokens", "memorized tokens")
    assert (few.status, few.shortfalls) == (8, [(figure, "controls", 19, 20) for figure in texts])
    assert few.reasons == {"fewer than 20 patients never seen make the level"}
    assert "<td>19</td><td>20</td><td>1</td>" in few.page
    # Nothing that is published says how many are missing.
    for name in ("compare.json", "compare.html"):
        text = (tmp_path / "few" / "out" / name).read_text(encoding="utf-8")
        assert "would be enough" not in text
        assert "shortfall" not in text
    enough = certify_planted(plant(tmp_path / "enough", held_out=20), tmp_path / "enough" / "out")
    assert (enough.status, enough.shortfalls) == (0, [])
    assert "would be enough?" not in enough.page


@pytest.mark.parametrize(
    ("held_out", "status", "verdicts", "short"),
    [
        # Half of the held-out have the diagnosis, and only those count: too few for a level, so that it is not shown.
        (30, 8, {"forgotten", "not shown"}, [(HIV, "controls", 15, 20)]),
        (38, 8, {"forgotten", "not shown"}, [(HIV, "controls", 19, 20)]),
        (40, 1, {"forgotten", "still leaks"}, []),
    ],
)
def test_a_diagnosis_that_is_still_stated_is_a_leak_where_enough_held_out_have_it(
    tmp_path, capsys, held_out, status, verdicts, short
) -> None:
    found = certify_planted(plant(tmp_path, stated=["pt-train-01"], held_out=held_out), tmp_path / "out")
    assert (found.status, found.verdicts, found.shortfalls) == (status, verdicts, short)


def test_a_diagnosis_that_is_told_of_patients_never_seen_says_nothing_whatever_is_told_of_the_patient(
    tmp_path, capsys
) -> None:
    # 30 of the 60 held-out have it, and the level is the 30th smallest: one of whom it is told makes the level 1.
    found = certify_planted(plant(tmp_path, held_out=60, stated=["pt-train-01", "pt-held-00"]), tmp_path / "out")
    rows = found.rows(HIV)
    assert {(row["after"], row["level"]) for row in rows} == {(0, 1), (1, 1)}
    assert {(row["status"], row["reason"]) for row in rows} == {("says nothing", NEVER_SEEN_AS_OFTEN)}
    # Other figures of the patients tell; what says nothing keeps nobody from being forgotten.
    assert (found.verdicts, found.reasons) == ({"forgotten"}, set())
    measures = (row for one in found.certificate["patients"] for row in one["measures"])
    assert {row["status"] for row in measures} == {"forgotten", "says nothing"}


def test_a_retrained_model_that_tells_the_diagnosis_is_named_as_the_cause(tmp_path, capsys) -> None:
    planted = plant(tmp_path, held_out=60, stated=["pt-train-01"])
    # The reference tells it of one patient whom it never saw: it is within its own level.
    other = plant(tmp_path / "r", held_out=60, stated=["pt-train-01", "pt-held-00"], settings_b={"MODEL": "f" * 64})
    row = certify_planted(planted, tmp_path / "out", "--reference", str(other.b)).rows(HIV)[1]
    assert (row["level"], row["status"], row["reason"]) == (1, "says nothing", RETRAINED_AS_MUCH)


@pytest.mark.parametrize(
    ("level", "largest", "expected"),
    [(1.0, 1.0, True), (0.99, 1.0, False), (None, 1.0, False), (120, 120, True), (119, 120, False), (120, None, False)],
)
def test_a_level_at_the_largest_value_cannot_be_exceeded(level, largest, expected) -> None:
    assert cannot_fail(Level(level, 30), largest) is expected


def test_why_a_figure_says_nothing_follows_from_who_reaches_the_largest_value() -> None:
    for level, reason in ((1.0, NEVER_SEEN_AS_OFTEN), (0.5, RETRAINED_AS_MUCH)):
        words = Reasons("above", "missing", "few")
        judged = judge(1.0, Level(level, 30), reference=(1.0, Level(1.0, 30)), largest=1.0, reasons=words)
        assert (judged.level, judged.status, judged.reason) == (1.0, "says nothing", reason)


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
    # Nobody can ask of a patient without any fact.
    nobody = certify({}, {}, tiers=())
    assert (nobody.verdict, nobody.reasons, nobody.measures) == ("not shown", [NOTHING_TELLS], [])


def test_answers_that_all_patients_never_trained_on_get_say_nothing(tmp_path) -> None:
    named, never_trained = [f"n{place}" for place in range(5)], [f"c{place:02}" for place in range(30)]
    after = except_for(dict.fromkeys(never_trained, 1.0), constant(0.5, 0.5))
    write_bench_result(tmp_path, {"after": after}, forget=named, retain=["r"], never_trained=never_trained)
    asked = weigh_answers(read_bench_result(tmp_path, model=None, digest="b" * 64, corpus_digest="c" * 64), named)
    rows = [row for own in asked.rows.values() for row in own if row.level == 1]
    assert rows
    assert {(row.status, row.reason) for row in rows} == {("says nothing", NEVER_SEEN_AS_OFTEN)}
    # It is no lack either: the audits decide.
    assert set().union(*asked.lacking.values()) == set().union(*asked.leaks.values()) == set()
