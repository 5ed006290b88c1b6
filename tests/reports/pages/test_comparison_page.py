"""The pages of a comparison and a certificate: what they begin with, what they hold, and that PHI is said to be."""

import html
import re
from pathlib import Path

import pytest
from support.compared_results import compared
from support.hostile_text import Tree

from clinaudit.reports.pages.certificate import comparison_json, render_certificate, render_comparison
from clinaudit.reports.schema.certificate import (
    Certificate,
    CertifiedModel,
    JointDecision,
    KeptFigure,
    PatientCertificate,
    TrainedAgain,
)
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.wording.certificate import NOT_SAID, verdicts_sentence

ROOT = Path(__file__).parents[3]


def body(page: str) -> str:
    return page.split("<body>")[1]


@pytest.mark.parametrize("exact", [False, True])
def test_the_page_begins_with_the_conclusion_and_says_on_every_screen_and_printed_page_whether_it_is_phi(
    exact: bool,
) -> None:
    content = compared(exact=exact)
    page = render_comparison(content)
    assert content.rules is not None
    assert body(page).split("<h1>")[1].split("</h1>")[0] == verdicts_sentence(content.rules)
    assert verdicts_sentence(content.rules).startswith("Verdict: fail → inconclusive. Rules: 8 mended, 0 newly ")
    lead = body(page).split('<p class="lead">')[1].split("</p>")[0]
    assert lead == html.escape(content.conclusion, quote=False).replace("'", "&#39;")
    assert "default-src 'none'" in page
    assert not {name for name, *_ in Tree(page).shape} & {"script", "img", "iframe", "form"}
    # A sticky note, and the foot of each sheet.
    assert ('<p class="phi" role="note">PHI: exact figures' in body(page)) is exact
    assert "position: sticky" in page
    assert ('@bottom-left { content: "PHI: exact figures, do not pass on"; }' in page) is exact
    assert ("PHI" in body(page)) is exact
    assert ("Read from the evidence" in page) is exact
    assert ("119 in A alone, 0 in B alone" in body(page)) is exact


def test_what_is_published_holds_no_pairs_and_is_read_back() -> None:
    text = comparison_json(compared())
    assert not re.search(r'"(pairs|a_only|b_only|n)": (?!null)', text)
    assert Comparison.model_validate_json(text).rules == compared().rules
    assert comparison_json(Comparison.model_validate_json(text)) == text
    assert re.search(r'"(pairs|a_only|b_only)"', comparison_json(compared(exact=True)))
    document = compared().model_dump()
    document["changes"][0]["metric"] = "no such metric"
    with pytest.raises(ValueError, match="no metric of the registry"):
        Comparison.model_validate(document)


def test_without_a_certificate_its_part_is_left_out() -> None:
    assert 'id="forgetting"' not in render_comparison(compared(certified=False))


def certificate() -> Certificate:
    """Return a certificate over two patients."""
    row = KeptFigure(measure="own text, in tokens", before=60, after=0, below=3, controls=95)
    patients = [
        PatientCertificate(patient_id=name, stood_out_before=True, stands_out_after=False, reasons=[], figures=[row])
        for name in ("pt-1", "pt-2")
    ]
    asked = {"named": 2, "never_seen": 95, "never_seen_before": 95, "enough": 38, "most_as_large": 1}
    return Certificate(
        verdict="forgotten",
        reasons=[],
        collapsed=False,
        health=[],
        before=CertifiedModel(digest="a" * 64, name="Scribe 3", audited="2026-11-20"),
        after=CertifiedModel(digest="b" * 64, name=None, audited=None),
        joint=JointDecision(**asked, p_value=0.8, p_value_before=0.01, smallest=[]),
        patients=patients,
    )


def test_the_certificate_says_phi_above_the_page_on_paper_and_at_each_patient() -> None:
    page = render_certificate(certificate())
    assert '<p class="phi" role="note">PHI: names patients, do not pass on</p>' in body(page)
    assert '@bottom-left { content: "PHI: names patients, do not pass on"; }' in page
    assert all(f"PHI · patient {name}: no leak found" in page for name in ("pt-1", "pt-2"))
    assert "own text, in tokens" in page


@pytest.mark.parametrize(
    ("verdict", "record", "told", "done"),
    [
        ("never trained on", TrainedAgain(started_from=None), "Yes, but only about this", "again w"),
        (
            "never trained on",
            TrainedAgain(started_from="e" * 64),
            "Yes, but only about this",
            "It began with the starting model eeeeeeeeeeee…",
        ),
        ("forgotten", None, "Only that no leak", "temporary measure"),
        ("still leaks", None, "No. The request passes or fails as a whole.", "not known here"),
        ("broken", None, "No. The request passes or fails as a whole.", "not known here"),
        ("not shown", None, "No, not yet. The request passes", "not known here"),
    ],
)
def test_the_first_screen_answers_the_request_in_250_words(verdict, record, told, done) -> None:
    changes = {"verdict": verdict, "training_record": record}
    page = render_certificate(certificate().model_copy(update=changes))
    first = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body(page).split("</header>")[0])).split())
    assert len(first.split()) <= 250
    assert "2 patients to be forgotten by Scribe 3, digest aaaaaaaaaaaa…." in first
    assert f"May the patient be told that it is done? {told}" in first
    assert done in first.split("What was done:")[1].split("How sure:")[0]
    assert "Of 2 patients the old model gives 2 away and the new one 0, compared with 95 never seen." in first


def cells(page: str, caption: str) -> list[list[str]]:
    """Return the rows of the table with this caption."""
    table = page.split(f"<caption>{caption}</caption>")[1].split("</table>")[0].split("<tbody>")[1]
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in table.split("</tr>")[:-1]]


def test_what_the_certificate_does_not_say_is_what_the_docs_list() -> None:
    documented = (ROOT / "docs" / "forgetting.md").read_text(encoding="utf-8")
    part = documented.split("### What a certificate does not say")[1].split("\n### ")[0]
    claims = [claim.replace("*", "") for claim in re.findall(r"^- \*\*(.+?)\*\* ", part, re.MULTILINE)]
    assert claims == [claim for claim, _ in NOT_SAID]
    folded = render_certificate(certificate()).split('id="not-said"')[1].split("<details>")[1].split("</details>")[0]
    assert all(claim in html.unescape(folded) for claim in claims)


def test_values_of_the_collapse_check_stand_on_the_exact_page_alone() -> None:
    caption = "Does B still write as A did? A model that writes nothing of use has not forgotten"
    shown = [cells(render_comparison(compared(exact=exact)), caption)[0][2:4] for exact in (False, True)]
    assert shown == [["–", "–"], ["118.2", "117.5"]]


@pytest.mark.parametrize(("collapsed", "said"), [(True, "failed"), (None, "could not be made")])
def test_a_training_record_leaves_the_collapse_check_nothing_to_decide(collapsed, said) -> None:
    changes = {"verdict": "never trained on", "collapsed": collapsed}
    record = {"training_record": TrainedAgain(started_from=None)}
    page = body(render_certificate(certificate().model_copy(update=changes | record)))
    assert f"The collapse check {said}, and decides nothing" in page
    assert "no request passes" not in page
