"""The filter of names before a model: which questions it blocks, and whose names it knows."""

from dataclasses import replace

from support.unlearning.tiny_job import make_bench

from clinaudit.audit.unlearning.benchmark.questions.rows import name_in
from clinaudit.audit.unlearning.evaluation.participants import NameFilter


def test_the_filter_sees_names_whatever_their_case_and_signs() -> None:
    names = NameFilter("filter", ["Ada B. Lund"], refusal_ids=(1,))
    question = replace(make_bench().questions[0], address="")
    texts = {
        "What has ada b LUND?": True,
        "What has Ada Lund?": False,
        "Ada B. Lundgren?": False,
        "Ada B.\nLund?": True,
    }
    for text, is_blocked in texts.items():
        assert names.blocks(replace(question, question=text), "paper") is is_blocked


def test_the_name_in_an_address() -> None:
    assert name_in("Patient: Ada B. Lund. Date of birth: 01/02/1970. Provider: Dr. Rho.") == "Ada B. Lund"
    assert name_in("Patient: Ada B. Lund.") == "Ada B. Lund"
    assert name_in("Date of birth: 01/02/1970.") is None
    assert name_in("") is None
