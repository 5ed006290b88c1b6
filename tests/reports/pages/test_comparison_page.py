"""The page of a comparison: it begins with the conclusion, says what it read, and the exact one says that it is PHI."""

import pytest
from support.hostile_text import Tree
from support.results.compared_results import compared

from clinaudit.reports.pages.certificate import render_certificate
from clinaudit.reports.pages.comparison import comparison_json, render_comparison
from clinaudit.reports.schema.certificate import Certificate, CertificateRow, PatientCertificate
from clinaudit.reports.schema.comparison import ComparisonContent, PublishedComparison
from clinaudit.reports.schema.numbers import PublishedEstimate


def body(page: str) -> str:
    return page.split("<body>")[1]


@pytest.mark.parametrize("exact", [False, True])
def test_the_page_begins_with_the_conclusion_and_asks_for_nothing(exact: bool) -> None:
    content = compared(exact=exact)
    page = render_comparison(content)
    heading = body(page).split("<h1>")[1].split("</h1>")[0]
    assert heading == content.comparison.conclusion.replace("'", "&#39;")
    assert ("Read from the evidence" in page) is exact
    assert ("Read from the published figures" in page) is not exact
    assert "default-src 'none'" in page
    assert not {name for name, *_ in Tree(page).shape} & {"script", "img", "iframe", "form"}


def test_the_exact_page_is_phi_on_every_screen_and_printed_page_and_the_published_one_is_not() -> None:
    published, exact = render_comparison(compared()), render_comparison(compared(exact=True))
    assert '<p class="phi" role="note">PHI: exact figures' in body(exact)
    assert '@bottom-left { content: "PHI: exact figures, do not pass on"; }' in exact
    assert "position: sticky" in exact
    assert "PHI" not in body(published)
    assert "McNemar&#39;s p" in body(exact)
    assert "McNemar" not in body(published)


def test_what_is_published_holds_no_exact_count_and_no_p_value() -> None:
    text = comparison_json(compared().comparison)
    assert '"p_value' not in text
    assert '"n"' not in text
    assert comparison_json(PublishedComparison.model_validate_json(text)) == text
    with pytest.raises(ValueError, match="p_values"):
        PublishedComparison.model_validate({**compared().comparison.model_dump(), "p_values": {}})


def test_without_pairs_or_certificate_their_tables_are_left_out() -> None:
    comparison = compared(certified=False).comparison
    memorization = {
        tier: {arm: change.model_copy(update={"patients": None}) for arm, change in arms.items()}
        for tier, arms in comparison.memorization.items()
    }
    page = render_comparison(ComparisonContent(comparison.model_copy(update={"memorization": memorization})))
    assert "by run</caption>" not in page
    assert 'id="forgetting"' not in page


def test_the_certificate_says_phi_above_the_page_on_paper_and_at_each_patient() -> None:
    row = CertificateRow(
        tier="encounter", measure="memorized tokens", before=60, after=0, level=3, controls=30, status="forgotten"
    )
    patients = [
        PatientCertificate(patient_id=name, verdict="forgotten", leaked_before=True, reasons=[], measures=[row])
        for name in ("pt-1", "pt-2")
    ]
    page = render_certificate(
        Certificate(
            verdict="forgotten",
            collapsed=False,
            controls_above_level=PublishedEstimate(
                value=0.04, low=0.04, high=0.04, confidence_low=0.01, confidence_high=0.14
            ),
            health=[],
            differences=[],
            patients=patients,
        )
    )
    assert '<p class="phi" role="note">PHI: names patients, do not pass on</p>' in body(page)
    assert '@bottom-left { content: "PHI: names patients, do not pass on"; }' in page
    assert all(f"PHI · patient {name}: ✓ Forgotten" in page for name in ("pt-1", "pt-2"))
    assert "4% (1 to 14)" in page
    assert "4 Appointment reminder" in page
