"""Prior uniqueness by hand: whom a tier's facts fit."""

from pathlib import Path

from support.patient_facts import PROFILE, corpus_of

from clinaudit.priors.facts import read_facts
from clinaudit.priors.fragments import count_fitting
from clinaudit.priors.tiers import TIERS

TIER = {tier.id: tier for tier in TIERS}
HEADS = "patient_id,name,age,sex,occupation\n"


def fitting(tmp_path: Path, tier: str, rows: str, texts: list[str] | None = None) -> dict[str, int]:
    ids = [row.split(",")[0] for row in rows.split()]
    notes = [
        {"patient_id": patient_id, "note_id": f"n{place}", "text": texts[place] if texts else "cc: cough\n"}
        for place, patient_id in enumerate(ids)
    ]
    corpus = corpus_of(tmp_path, notes, HEADS + rows)
    return count_fitting(read_facts(corpus, PROFILE, corpus.patients).values(), TIER[tier], "text")


def test_who_states_less_is_fitted_by_more(tmp_path: Path) -> None:
    # b and c agree; a has an occupation besides, which d shares but not the age; e states its age alone, which four
    # others have; f states nothing.
    rows = "a,,40,female,cook\nb,,40,female,\nc,,40,female,\nd,,41,female,Cook\ne,,40,,\nf,,,,\n"
    assert fitting(tmp_path, "public", rows) == {"a": 1, "b": 3, "c": 3, "d": 1, "e": 4}


def test_a_name_is_a_name_in_any_case_and_nobody_has_a_prior_without_one(tmp_path: Path) -> None:
    rows = "a,Ada_Lund,40,,\nb,ADA_LUND,40,,\nc,Ada_Lund,50,,\nd,,40,,\n"
    assert fitting(tmp_path, "public_name", rows) == {"a": 2, "b": 2, "c": 1}


def test_medications_are_a_set(tmp_path: Path) -> None:
    texts = [
        "cc: cough\ncurrent medications:\n- aspirin\n- metformin 500 mg\nplan: rest\n",
        "cc: cough\ncurrent medications:\n- Metformin 500 mg\n- aspirin\nplan: rest\n",
        "cc: cough\ncurrent medications:\n- aspirin\nplan: rest\n",
    ]
    rows = "a,Ann,40,,\nb,Ann,40,,\nc,Ann,40,,\n"
    assert fitting(tmp_path, "public_name_meds", rows, texts) == {"a": 2, "b": 2, "c": 1}
