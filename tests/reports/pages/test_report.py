"""The report page, parsed with the standard library: structure, form, escaping, nothing from outside."""

import re
from dataclasses import replace
from functools import cache

import pytest
from support.pages import Page
from support.results.filled_published import DIAGNOSES, NAMELESS, NO_ADVANTAGE, PROVENANCE, VARIANTS, content, published

from clinaudit.priors.tiers import TIER_IDS, TIERS
from clinaudit.reports.pages import annex
from clinaudit.reports.pages.html import css_string
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.decision import Limit
from clinaudit.reports.schema.results import ReportContent

PARTS = ["verdict", "who-could-ask", "repeated-text", "diagnoses", "rules", "institution", "signoff", "trust", "annex"]
PHI = "Contains PHI: exact figures; stays inside the institution"
#: Limits of form: words and stops of the tab key while everything is folded.
MOST_WORDS, MOST_STOPS = 2500, 25


@cache
def text_of(variant: str) -> str:
    return render_report(VARIANTS[variant]())


@cache
def page_of(variant: str) -> Page:
    return Page(text_of(variant))


@pytest.mark.parametrize("variant", VARIANTS)
def test_well_formed_and_self_contained(variant: str) -> None:
    text, page = text_of(variant), page_of(variant)
    assert page.open == []
    names = {name for name, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "img", "base", "form", "image", "use"}
    for _, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs)
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>)]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text


@pytest.mark.parametrize("variant", VARIANTS)
def test_missing_figures_are_words(variant: str) -> None:
    words = page_of(variant).words
    assert not re.search(r"\b(nan|inf|null|Undefined)\b", words)
    assert not re.search(r">\s*None\s*</(td|dd|p|span|li)>", text_of(variant))
    assert "suppressed" not in words.lower()


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_link_leads_somewhere_ids_are_unique_and_headings_skip_no_level(variant: str) -> None:
    page = page_of(variant)
    assert len(page.ids) == len(set(page.ids))
    assert {(link["href"] or "")[1:] for link in page.all("a")} <= set(page.ids)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(now <= before + 1 for before, now in zip(page.headings, page.headings[1:], strict=False))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_folded_page_is_short_and_few_stops_of_the_tab_key(variant: str) -> None:
    page = page_of(variant)
    assert len(page.folded_words.split()) <= MOST_WORDS
    assert page.stops <= MOST_STOPS


def test_the_policy_on_content_forbids_all_but_inline_style() -> None:
    metas = page_of("full").all("meta")
    policies = [meta["content"] for meta in metas if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_the_parts_stand_in_order_and_the_contents_lead_to_them() -> None:
    page = page_of("full")
    ids = [attrs["id"] for tag, attrs in page.tags if tag == "section" and "id" in attrs]
    assert [name for name in ids if name in PARTS] == PARTS
    assert page.all("a")[0]["href"] == "#main"


def test_the_first_screen_says_what_was_found_for_whom_and_what_to_do() -> None:
    words = page_of("full").words
    first = words[: words.index("Who could ask", words.index("Fail: this model"))]
    for said in (
        "Fail: this model recites patients’ notes and reveals diagnoses",
        "Someone who holds an appointment reminder (name, date of birth, visit, provider) gets back",
        "Ward notes 1.5B",
        "St. Invented Hospital",
        "2026-11-20",
        "abababababab…",
        "Fails for 3 of 6 kinds of asker; 1 could not be decided, 2 passed",
        "Each cell shows its worst rule",
        "121–130 trained on, 121–130 never seen",
        "Not tested paraphrase",
        "70% of the text*",
        "111–120 of 121–130",
        "All of 51–60",
        "A long bar next to a short one: it knows.",
    ):
        assert said in first, said


def test_the_opening_gives_the_verdict_before_anything_else() -> None:
    headings = {variant: re.search(r"<h1.*?</h1>", text_of(variant), re.S) for variant in VARIANTS}
    titles = {variant: " ".join(Page(found[0]).words.split()) for variant, found in headings.items() if found}
    assert titles == {
        "full": "✗ Fail: this model recites patients’ notes and reveals diagnoses",
        "small": "✗ Fail: this model recites patients’ notes and reveals diagnoses",
        "train-only": "✗ Fail: this model recites patients’ notes",
        "all-null": "? Cannot tell: the data do not show that this model keeps patients’ secrets",
        "empty": "– No verdict: no policy was applied",
        "pass": "✓ Pass: this model keeps every limit of the policy",
        "others": "✗ Fail: this model puts other patients’ notes into its answers",
        "identifiers": "✗ Fail: this model recites patients’ notes, gives out identifiers and reveals diagnoses",
        "exact": "✗ Fail: this model recites patients’ notes and gives out identifiers",
    }


def test_each_sign_of_the_matrix_says_its_word_and_is_no_link() -> None:
    page = page_of("full")
    signs = [attrs["aria-label"] for tag, attrs in page.tags if tag == "span" and attrs.get("role") == "img"]
    matrix = [word for word in signs if word in {"fails", "passes", "cannot tell"}]
    assert (matrix.count("fails"), matrix.count("passes"), matrix.count("cannot tell")) == (21, 20, 7)
    text = text_of("full")
    cells = re.findall(r"<td.*?</td>", text[text.index('<div class="matrix">') : text.index('<div class="answers">')])
    assert len(cells) == 48
    assert not [cell for cell in cells if "<a" in cell]


def test_the_head_of_a_row_leads_to_the_rules_of_its_tier_which_are_all_told_once() -> None:
    text = text_of("full")
    links = dict(re.findall(r'<th scope="row"><a href="#(rules-\d)">(.*?)</a>', text))
    assert list(links.values())[3] == "Appointment reminder"
    assert len(links) == 6
    decision = content().results.decision
    assert decision is not None
    for place, tier in enumerate(TIER_IDS, 1):
        start = text.index(f'<h3 id="rules-{place}">')
        own = Page(text[start : text.index("</table>", start)]).words
        assert all((rule.question in own) == (rule.tier == tier) for rule in decision.rules)


def test_an_open_rule_says_with_how_many_patients_it_would_be_decided() -> None:
    results = published()
    assert results.decision is not None
    few = [rule.model_copy(update={"limit": Limit(max=0.25, patients=1108)}) for rule in results.decision.rules]
    decision = results.decision.model_copy(update={"rules": few})
    page = Page(render_report(content(results.model_copy(update={"decision": decision}))))
    assert "To settle them: 1,108 in each group, 1,108 patients." in page.folded_words
    assert page.words.count(" 1,108 in each group ") == 6
    assert "To settle" not in page_of("pass").words


def test_the_page_names_the_evidence_viewer_and_cites_the_presumption_of_a_breach() -> None:
    for variant in ("full", "exact"):
        words = page_of(variant).folded_words
        assert "clinaudit evidence RUN CORPUS makes evidence/evidence.html" in words
        assert "unless you show a low probability of compromise (164.402(2))" in words
    assert "164.414" not in page_of("full").words


def test_the_annex_calls_nobody_train_or_nontrain_and_own_text_has_one_name() -> None:
    for variant in ("full", "exact", "pass"):
        text = text_of(variant)
        annex = text[text.index('<section id="annex"') : text.index('id="methods"')]
        cells = [Page(cell).words for cell in re.findall(r"<(?:th|td|caption)[ >].*?</(?:th|td|caption)>", annex, re.S)]
        assert not [
            cell for cell in cells if re.search(r"\b(?:[Aa]rm|[Tt]rain(?! loss)|[Nn]ontrain|[Aa]ttributable)\b", cell)
        ]


def test_words_of_the_trade_stand_in_the_annex_alone_and_no_raw_name_anywhere_shown() -> None:
    words = page_of("full").folded_words
    assert not re.search(r"\b(tiers?|arms?|nontrain|cohorts?|stitched|propensity|AUROC)\b", words)
    assert not [tier for tier in TIER_IDS if "_" in tier and tier in words]
    for tier in TIERS:
        assert tier.holder in words
    assert {"HIV", "PTSD", "Bipolar disorder", "Recorded abortion"} <= {
        name for name in ("HIV", "PTSD", "Bipolar disorder", "Recorded abortion") if name in words
    }
    assert len(DIAGNOSES) == 6


def test_the_exact_report_is_marked_as_phi_on_every_screen_and_printed_page() -> None:
    exact, public = text_of("exact"), text_of("full")
    assert PHI in page_of("exact").words
    assert f"@bottom-left {{ content: {css_string(PHI)}; }}" in exact
    assert PHI not in public
    assert css_string("Aggregates only: no note text and no patient ids") in public


def test_the_identity_stands_in_the_head_of_every_printed_page() -> None:
    named = css_string("Model Ward notes 1.5B (abababababab…) · Institution St. Invented Hospital · Date 2026-11-20")
    assert f"@top-left {{ content: {named}; }}" in text_of("full")
    nameless = render_report(ReportContent(published(), NAMELESS))
    assert css_string("Model ________ (abababababab…) · Institution ________ · Date ________") in nameless


def test_a_string_of_css_cannot_be_ended_from_within() -> None:
    assert (
        css_string('a"; } </style>\n\\')
        == r'"a\000022 \00003b  \00007d  \00003c \00002f style\00003e \00000a \00005c "'
    )


def test_verdicts_rest_on_the_exact_numbers_is_said_once() -> None:
    said = "Rules on diagnoses rest on tests of the exact numbers, which stay in evidence/"
    assert page_of("pass").words.count(said) == 1
    assert said not in page_of("exact").words


def test_failed_rules_are_open_and_first_passed_ones_folded() -> None:
    words = page_of("full").folded_words
    rules = words[words.index("If any rule fails") : words.index("For the institution", words.index("If any rule"))]
    assert rules.index("18 rules fail") < rules.index("3 rules fail") < rules.index("7 rules cannot be decided")
    assert "26 passed" in rules
    assert NO_ADVANTAGE not in rules
    assert NO_ADVANTAGE in page_of("full").words


@pytest.mark.parametrize(("variant", "part"), [("others", "Repeated text"), ("full", "Repeated text in numbers")])
def test_the_chart_of_other_patients_text_stands_where_it_decides(variant: str, part: str) -> None:
    words = page_of(variant).words
    chart = words.index("How much of what it writes is another patient's own text")
    heads = ("Repeated text", "Diagnoses", "Rules", "Repeated text in numbers")
    before = {words.rindex(f"{head} ", 0, chart): head for head in heads if f"{head} " in words[:chart]}
    assert before[max(before)] == part
    assert words.count("How much of what it writes is another patient's own text") == 1


def test_what_is_signed_is_prefilled() -> None:
    words = page_of("full").words
    signed = words[words.index("What is signed") :]
    for entry in ("St. Invented Hospital", "Ward notes 1.5B (digest abababababab…)", "Fail: this model recites"):
        assert entry in signed


def test_warnings_are_counted_on_the_first_screen_and_stand_in_the_page() -> None:
    words = page_of("full").words
    assert "2, under “Can it be trusted”" in words
    assert "The judge is a word list: its errors are part of every figure of a diagnosis." in words
    assert "under “Can it be trusted”" not in page_of("empty").words


def test_the_same_content_gives_the_same_bytes() -> None:
    assert render_report(content()) == text_of("full")


def test_hostile_names_stay_text() -> None:
    attack = "\"'><script>alert(1)</script>{{ 7*7 }}</svg></style>\u202e"
    given = {**PROVENANCE, "identity": {"model_name": attack[:-1], "institution": attack[:-1], "date": attack}}
    hostile = replace(content(), provenance={**given, attack: attack, "digests": {"model": attack}})
    text = render_report(hostile)
    page = Page(text)
    assert page.open == []
    assert not {name for name, _ in page.tags} & {"script", "img"}
    assert len(page.all("style")) == 1
    assert "{{ 7*7 }}" in page.words
    assert "\u202e" not in text


#: Words of the field, and what stands for a number of patients that is not said.
FIELD_WORDS = re.compile(r"\b(tiers?|arms?|cohorts?|K|stitched|propensity|AUROC|nontrain)\b")


def part(page: str, name: str) -> str:
    """Return one part of a page."""
    start = page.index(f'<section id="{name}"')
    return page[start : page.index("</section>", start)]


def words(html: str) -> str:
    """Return what a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: text_of(name) for name in VARIANTS}


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_words_of_the_field_stand_in_the_annex_alone(pages: dict[str, str], variant: str) -> None:
    for name in ("repeated-text", "diagnoses", "trust"):
        text = words(part(pages[variant], name))
        assert not FIELD_WORDS.findall(text), name
        assert "suppressed" not in text
        assert not re.findall(r"\b[a-z]+_[a-z_]+\b", text), name


def test_the_annex_is_one_fold_that_holds_the_others(pages: dict[str, str]) -> None:
    text = part(pages["full"], "annex")
    assert text.count("<details") == text.count("</details>") > 8
    first = text.index("<details")
    assert text.index("<summary>") > first
    assert "<details open" not in text


def test_roc_curves_and_p_values_are_of_the_exact_report_alone(pages: dict[str, str]) -> None:
    assert "Tests of the excess" in pages["exact"]
    assert "<polyline" in pages["exact"]
    for name in ("full", "pass"):
        assert "Tests of the excess" not in pages[name]
        assert "<polyline" not in pages[name]
        assert "worst-off tenth" not in pages[name]


def test_bars_hold_their_numbers_once_for_a_readers_ear(pages: dict[str, str]) -> None:
    stated = part(pages["full"], "diagnoses")
    assert stated.count('role="img"') == 6 * 6 * 2
    assert stated.count('class="track" aria-hidden="true"') == stated.count('class="track"')


def test_an_annex_of_nothing_keeps_methods_and_words() -> None:
    parts = annex.context(ReportContent(VARIANTS["empty"]().results, {}))["parts"]
    assert isinstance(parts, list)
    assert [item.id for item in parts] == ["methods", "glossary"]


def test_warnings_of_run_and_corpus_are_shown(pages: dict[str, str]) -> None:
    text = words(part(pages["full"], "trust"))
    assert "The judge is a word list" in text
    assert "One note was read as Latin-1." in text
