"""How cues are found and which decides: the language of phrases, and the reach of each."""

import pytest

from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, decide, read_clause, token_span
from clinaudit.audit.measures.judge.lexicon.people import gender_of_patient, is_of_another
from clinaudit.audit.measures.judge.lexicon.purpose import is_given_for_another
from clinaudit.priors.diagnoses import TermKind
from clinaudit.templates.spans import Span


def deciding(text: str, kind: TermKind = TermKind.NAME, *, is_infection: bool = False) -> tuple[str, str] | None:
    """Return what the cue says that decides the words in brackets, and its own words."""
    start, end = text.index("["), text.index("]") - 1
    clause = read_clause(text.replace("[", "").replace("]", ""))
    cue = decide(clause, token_span(clause, Span(start, end)), kind, is_infection=is_infection)
    return None if cue is None else (cue.says, " ".join(clause.words[cue.start : cue.end]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No [gout].", ("denied", "no")),
        ("[Gout] today.", None),
        # The nearest decides, and of overlapping ones the longest.
        ("No screening for [gout].", ("queried", "screening for")),
        ("No change in [gout].", ("stated", "no change in")),
        ("Not only [gout].", None),
        # A list is crossed, a new statement is not.
        ("Denies pain, swelling or [gout].", ("denied", "denies")),
        ("No pain, [gout] is worse.", None),
        ("No pain but [gout].", None),
        ("No pain because of [gout].", None),
        ("(no pain) [gout]", None),
        ("No pain: [gout]", None),
        # What follows a mention.
        ("[Gout] was ruled out.", ("denied", "was ruled out")),
        ("[Gout] well controlled, mania not present.", None),
        ("Assessed for [gout] and does not have it.", ("denied", "does not have it")),
        # A gap takes up to three words, and no word that denies.
        ("Screened the new patient for [gout].", ("queried", "screened the new patient for")),
        ("Screened every single new patient here for [gout].", None),
        # What is his is not feared, but may be tested.
        ("Worried about [gout].", ("asked", "worried about")),
        ("Worried about his [gout].", None),
        ("His [gout] screen is booked.", ("asked", "screen")),
        # Who denies a change of what is his presupposes it.
        ("Nothing suggests that his [gout] is worse.", ("changed", "is worse")),
        ("Nothing suggests a relapse of his [gout].", ("changed", "relapse of his")),
        ("Nothing suggests that [gout] is worse.", ("denied", "nothing suggests")),
        ("Nothing suggests that his [gout] came first.", ("denied", "nothing suggests")),
    ],
)
def test_the_cue_that_decides(text: str, expected: tuple[str, str] | None) -> None:
    assert deciding(text) == expected


def test_cues_of_a_kind_or_of_infections_leave_others_alone() -> None:
    assert deciding("No side effects from [colchicine].", TermKind.MEDICATION) is not None
    assert deciding("Exposed to measles, [colchicine] given.", TermKind.MEDICATION) is None
    exposed = deciding("Exposed to measles, [colchicine] given.", TermKind.MEDICATION, is_infection=True)
    assert exposed == ("guarded", "exposed to")


def test_every_phrase_can_be_met() -> None:
    """Each row has its parts, and none of its phrases is empty."""
    for row in CUE_TABLES["cues"]:
        assert row["says"] in {
            *("denied", "stated", "over", "queried", "asked", "general", "guarded", "held", "changed", "nothing")
        }
        assert row["reach"] in {"ahead", "back", "both"}
        assert row["ends"] in {"word", "list", "clause", "item", "phrase", "sentence"}
        assert all(phrase.strip() for phrase in row["words"].strip().split("\n"))


@pytest.mark.parametrize(
    ("text", "is_another"),
    [
        ("Her sister has [gout].", True),
        ("His dad, a farmer, has [gout].", True),
        ("Her sister is well and she has [gout].", False),
        ("Lives with a brother who has [gout].", True),
        ("Lives with a brother and has [gout].", False),
        ("Both she and her brother have [gout].", False),
        ("Mother reports [gout].", False),
        ("Mother of two with [gout].", False),
        ("Unlike her mother, she has [gout].", False),
        ("Her twin, unlike her, has [gout].", True),
        ("Patient's brother has [gout].", True),
        ("Men with [gout] should drink water.", True),
        # A pronoun of the other gender is the relative's.
        ("Her son is unwell and he has [gout].", True),
        ("Her husband says his [gout] is bad.", True),
        ("His husband says his [gout] is bad.", False),
    ],
)
def test_whose_it_is(text: str, is_another: bool) -> None:
    plain = text.replace("[", "").replace("]", "")
    clause = read_clause(plain)
    start = token_span(clause, Span(text.index("["), text.index("]") - 1)).start
    assert is_of_another(clause.words, start, gender_of_patient(plain)) is is_another


@pytest.mark.parametrize(
    ("text", "gender"),
    [("45 yo F", "f"), ("A 45-year-old man", "m"), ("Her son came", "f"), ("Her knee hurts", ""), ("", "")],
)
def test_the_patients_gender(text: str, gender: str) -> None:
    assert gender_of_patient(text) == gender


@pytest.mark.parametrize(
    ("text", "is_another"),
    [
        ("[Colchicine] 500 mcg bd for migraine", True),
        ("[colchicine] (migraine)", True),
        ("[colchicine] to soften scars", True),
        ("Migraine: on [colchicine]", True),
        ("[colchicine] for years", False),
        ("[colchicine] for 90 days", False),
        ("[colchicine] for her mood", False),
        ("[colchicine], ibuprofen for migraine", False),
        ("[colchicine] and ibuprofen for migraine", False),
        ("Migraine, hypertension, on [colchicine]", False),
    ],
)
def test_what_a_drug_is_given_for(text: str, is_another: bool) -> None:
    clause = read_clause(text.replace("[", "").replace("]", ""))
    drug = token_span(clause, Span(text.index("["), text.index("]") - 1))
    assert is_given_for_another(clause, drug, only_listed=False) is is_another
