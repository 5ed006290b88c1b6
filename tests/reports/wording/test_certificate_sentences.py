"""The sentences of a deletion certificate: counts by hand."""

from clinaudit.reports.schema.certificate import CertificateRow, PatientCertificate
from clinaudit.reports.schema.certificate_blocks import QuestionRow
from clinaudit.reports.schema.comparison import FigureVerdict
from clinaudit.reports.wording.certificate import figures_sentence


def patient(measures: list[FigureVerdict], questions: list[FigureVerdict]) -> PatientCertificate:
    figure = {"measure": "m", "before": 1, "after": 1, "level": 1, "controls": 30}
    return PatientCertificate(
        patient_id="p",
        verdict="forgotten",
        leaked_before=True,
        reasons=[],
        measures=[CertificateRow(tier="public", status=status, **figure) for status in measures],
        questions=[QuestionRow(use="train", reference=None, status=status, **figure) for status in questions],
    )


def test_figures_that_could_tell_are_counted_apart_from_those_that_could_not() -> None:
    of = patient(["forgotten", "still leaks", "says nothing", "not shown"], ["says nothing", "forgotten"])
    assert figures_sentence(of) == (
        "Of 6 figures 3 could tell whether the patient is forgotten; 2 could not, since their level is the largest"
        " value there is, and say nothing; 1 could not be weighed, as their rows say."
    )
    assert figures_sentence(patient(["forgotten"], [])) == "Of 1 figure 1 could tell whether the patient is forgotten."
    assert figures_sentence(patient([], [])) == "No figure of the patient was measured."
