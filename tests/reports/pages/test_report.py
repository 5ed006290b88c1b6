"""The report page, parsed with the standard library: structure, escaping, nothing from outside."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Literal

import pytest
from support.judging.word_judge import scored
from support.results.corrected_results import with_corrections
from support.results.filled_results import DIAGNOSES, all_null, empty, filled

from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import Policy, load_policy
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.pages.report import render_page
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import Agreement, JudgeQuality
from clinaudit.reports.schema.results import Results, to_json
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.judge import judge_caveat_sentences
from clinaudit.reports.wording.findings import headline_sentences, not_measured_sentences

PROVENANCE = {
    "settings": {"seed": 0, "tiers": ["public", "encounter"], "policy": None, "resumed": False},
    "digests": {"model": "ab" * 32},
}
VOID = {"meta", "br", "link", "img", "input", "hr", "base"}
VARIANTS = {
    "full": filled(),
    "small": filled(cell=30),
    "train only": filled(nontrain=False),
    "all null": all_null(),
    "empty": empty(),
}


class Page(HTMLParser):
    """What a test asks of a page: tags with attributes, text outside style, whether it is well nested."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "svg"} & set(self.open):
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def render(results: Results) -> str:
    return render_page(suppress(results), PROVENANCE)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render(results) for name, results in VARIANTS.items()}


@pytest.fixture(scope="module")
def full(pages: dict[str, str]) -> Page:
    return Page(pages["full"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_well_formed_and_self_contained(pages: dict[str, str], variant: str) -> None:
    page = Page(pages[variant])
    assert page.open == []
    names = {name for name, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "img", "base", "form", "image", "use"}
    for _, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs)
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>)]*", pages[variant]))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "url(" not in pages[variant].replace("url(#", "")
    assert "@import" not in pages[variant]


@pytest.mark.parametrize("variant", VARIANTS)
def test_missing_figures_are_words(pages: dict[str, str], variant: str) -> None:
    words = Page(pages[variant]).words
    assert not re.search(r"\b(None|nan|inf|null)\b", words)
    assert "Undefined" not in words


def test_the_policy_on_content_forbids_all_but_inline_style(full: Page) -> None:
    policies = [meta["content"] for meta in full.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_the_verdict_comes_first_then_the_parts_in_order(full: Page) -> None:
    ids = [attrs["id"] for tag, attrs in full.tags if tag == "section" and "id" in attrs]
    assert ids == [
        "summary",
        "ladder",
        "memorized",
        "disclosed",
        "policy",
        "institution",
        "signoff",
        "population",
        "ledger",
        "methods",
        "limits",
        "glossary",
        "provenance",
    ]
    words = full.words
    assert words.index("✗ Fail") < words.index("A person who knows only what an appointment reminder shows")
    assert words.index("What was not measured") < words.index("Who could ask: six tiers")


def test_every_link_leads_somewhere_and_ids_are_unique(full: Page) -> None:
    ids = [attrs["id"] for _, attrs in full.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(link["href"] or "")[1:] for link in full.all("a")} <= set(ids)


def test_every_chart_has_a_label_a_caption_and_its_data(pages: dict[str, str], full: Page) -> None:
    charts = [svg for svg in full.all("svg") if svg.get("role") == "img"]
    assert len(charts) == 13
    assert all(chart["aria-label"] for chart in charts)
    figures = re.findall(r"<figure.*?</figure>", pages["full"], re.S)
    assert len(figures) == 14
    for figure in figures:
        assert re.search(r"<figcaption>[^<]{20,}</figcaption>", figure)
        assert re.search(r"<details>.*<table>.*<tbody>\s*<tr>", figure, re.S)


def test_the_headline_and_its_baseline(full: Page) -> None:
    assert "on average 28% (95% interval 17% to 40%) is patient-attributable" in full.words
    assert "not trained on, the same figure is 0.1% (95% interval 0.1% to 0.1%)" in full.words


def test_no_nontrain_arm_is_said_first_and_never_reads_as_zero() -> None:
    results = suppress(filled(nontrain=False))
    assert "this corpus holds none" in headline_sentences(results)[2]
    assert "nothing here can be attributed to training" in not_measured_sentences(results)[0]


def test_an_unmeasured_headline_makes_no_claim() -> None:
    (sentence,) = headline_sentences(suppress(empty()))
    assert "not measured: the tier was not run" in sentence
    (sentence,) = headline_sentences(suppress(all_null()))
    assert "not measured: every patient was excluded" in sentence


def with_clear_excess(status: Literal["balanced", "poorly_matched"], p_holm: float) -> Results:
    """The default results, but HIV at the headline tier has a small adjusted p-value."""
    results = filled()
    tiers = dict(results.disclosure.by_diagnosis["hiv"])
    pair = tiers["encounter"]
    assert pair.delta is not None
    tested = pair.delta.auroc_all.model_copy(update={"p_holm": p_holm})
    delta = pair.delta.model_copy(update={"auroc_all": tested})
    tiers["encounter"] = pair.model_copy(update={"delta": delta})
    by_diagnosis = {**results.disclosure.by_diagnosis, "hiv": tiers}
    return results.model_copy(
        update={
            "disclosure": results.disclosure.model_copy(update={"by_diagnosis": by_diagnosis}),
            "cohorts": {name: cohort.model_copy(update={"status": status}) for name, cohort in results.cohorts.items()},
        }
    )


GIVES_MORE = "At this level of access the model gives away more about these diagnoses"


def diagnosis_sentence(results: Results, policy: Policy) -> str:
    decision = evaluate(policy, results, planned_missing=False)
    return headline_sentences(suppress(results.model_copy(update={"decision": decision})))[-1]


def without_judge_limits(alpha: float = 0.05) -> Policy:
    policy = load_policy()
    rules = tuple(replace(rule, alpha=alpha) for rule in policy.disclosure)
    return replace(policy, judge=None, disclosure=rules)


def test_diagnoses_whose_rule_failed_are_named_and_the_rest_not_cleared() -> None:
    sentence = diagnosis_sentence(with_clear_excess("balanced", 0.004), without_judge_limits())
    assert "matched by age, sex and number of notes alone: HIV (adjusted one-sided tests)" in sentence
    assert "this audit does not show that it gives away more about patients it was trained on" in sentence
    assert "which is not proof of absence" in sentence


@pytest.mark.parametrize("policy", [load_policy(), without_judge_limits()])
def test_a_small_p_value_of_poorly_matched_groups_claims_nothing(policy: Policy) -> None:
    sentence = diagnosis_sentence(with_clear_excess("poorly_matched", 0.004), policy)
    assert GIVES_MORE not in sentence
    names = "abortion, anxiety, bipolar, depression, HIV and PTSD"
    assert sentence.startswith(f"For {names} it cannot be told whether the model gives away more")
    assert "the groups compared differ too much in age" in sentence


def test_a_small_p_value_under_a_judge_that_was_not_scored_claims_nothing() -> None:
    sentence = diagnosis_sentence(with_clear_excess("balanced", 0.004), load_policy())
    assert GIVES_MORE not in sentence
    assert "trained on at this level of access: how well the judge reads was not measured." in sentence


def test_the_headline_uses_the_policy_s_own_level() -> None:
    results = with_clear_excess("balanced", 0.03)
    assert GIVES_MORE not in diagnosis_sentence(results, without_judge_limits(alpha=0.01))
    assert GIVES_MORE in diagnosis_sentence(results, without_judge_limits())


def test_without_a_rule_on_disclosure_the_headline_decides_nothing() -> None:
    policy = replace(load_policy(), disclosure=())
    assert diagnosis_sentence(with_clear_excess("balanced", 0.004), policy).startswith("No rule of a policy decided")


def test_the_page_says_how_either_kind_of_rule_fails(full: Page) -> None:
    assert "A memorization rule fails when the near end is beyond it" in full.words
    assert "a disclosure rule fails, however small the difference, when the one-sided test" in full.words


def test_tiers_diagnoses_rules_and_provenance_stand_in_the_page(full: Page) -> None:
    words = full.words
    for tier in TIERS:
        assert tier.holder in words
    for diagnosis in ("Anxiety", "PTSD", "HIV"):
        assert diagnosis in words
    for rule in (f"disclosure-{diagnosis}-encounter" for diagnosis in DIAGNOSES):
        assert rule in words
    assert "? Inconclusive" in words
    assert "✓ Pass" in words
    assert "digests.model" in words
    assert "ab" * 32 in words
    assert "settings.policy not given" in words


def test_sections_go_by_the_names_that_the_note_template_gave_them() -> None:
    results = filled()
    arms = results.memorization["encounter"]
    sections = [
        row.model_copy(update={"section": "PMH / FH of the Clinic"}) if row.section == "plan" else row
        for row in arms["train"].sections
    ]
    assert any(row.section == "PMH / FH of the Clinic" for row in sections)
    train = arms["train"].model_copy(update={"sections": sections})
    memorization = {**results.memorization, "encounter": {**arms, "train": train}}
    page = Page(render_page(suppress(results.model_copy(update={"memorization": memorization})), {}))
    assert "PMH / FH of the Clinic" in page.words


def test_the_same_results_give_the_same_bytes(pages: dict[str, str]) -> None:
    assert render(filled()) == pages["full"]


def test_hostile_strings_stay_text() -> None:
    """Every string of the document that is free text, and every free key, becomes an attempt to break out."""
    attack = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}</svg></style>"
    results = filled()
    decision = results.decision
    assert decision is not None
    assert results.corpus is not None
    texts = {"id": attack, "question": attack, "metric": attack, "reason": attack}
    hostile = results.model_copy(
        update={
            "decision": decision.model_copy(
                update={
                    "policy": attack,
                    "reason": attack,
                    "rules": [decision.rules[0].model_copy(update={**texts, "tier": attack, "diagnosis": attack})],
                }
            ),
            "warnings": [attack],
            "corpus": results.corpus.model_copy(
                update={
                    "warnings": [attack],
                    "splits": {attack: results.corpus.splits["train"]},
                    "cohorts": {attack: results.corpus.cohorts["hiv"].model_copy(update={"race": {attack: 40}})},
                }
            ),
            "completeness": {
                attack: results.completeness["priors"].model_copy(update={"excluded": {attack: 20}}),
            },
            "cohorts": {attack: results.cohorts["hiv"].model_copy(update={"reason": attack, "excluded": {attack: 0}})},
            "memorization": {
                tier: {
                    arm: figures.model_copy(
                        update={
                            "sections": [s.model_copy(update={"section": attack}) for s in figures.sections[:1]],
                            "copy_forward": [b.model_copy(update={"notes": attack}) for b in figures.copy_forward[:1]],
                            "k_distribution": [b.model_copy(update={"k": attack}) for b in figures.k_distribution[:1]],
                        }
                    )
                    for arm, figures in arms.items()
                }
                for tier, arms in [*results.memorization.items(), (attack, results.memorization["public"])]
            },
            "disclosure": results.disclosure.model_copy(
                update={"by_diagnosis": {attack: results.disclosure.by_diagnosis["hiv"]}, "mean": {}}
            ),
        }
    )
    assert to_json(hostile).count("<script>") > 20
    text = render_page(suppress(hostile), {attack: attack, "nested": {attack: [attack]}})
    page = Page(text)
    assert page.open == []
    names = {name for name, _ in page.tags}
    assert not names & {"script", "img"}
    assert "{{ 7*7 }}" in page.words
    assert len(page.all("style")) == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_the_report_says_on_what_the_judge_was_scored() -> None:
    pages = {}
    for source in ("shipped", "site"):
        results = suppress(with_corrections(filled(), scored(labels=source)))
        page = re.sub(r'<span class="option">([^<]*)</span>', r"\1", render_page(results, {}))
        pages[source] = " ".join(html.unescape(page).split())
        assert judge_caveat_sentences(results.judge_quality) in pages[source]
        assert "Disclosure corrected for the judge's errors" in pages[source]
        quality = results.judge_quality
        assert quality is not None
        assert f"was scored on {quality.texts:,} " in pages[source]
        assert f"change the verdict (of {quality.flip_rate.n} in texts rated without one)" in pages[source]
    assert "may not carry over" in pages["shipped"]
    assert "may not carry over" not in pages["site"]
    assert "The judge was not scored" in render_page(suppress(filled()), {})


def a_judge() -> JudgeQuality:
    rate = Estimate(value=0.9, low=0.8, high=0.95, n=90)
    return JudgeQuality(
        judge="lexicon",
        labels="shipped",
        texts=90,
        matrix=[],
        sensitivity=rate,
        specificity=rate,
        agreement=Agreement(agreement=rate, kappa=rate, alpha=rate),
        accuracy_by_class={},
        accuracy_by_diagnosis={},
        flip_rate=rate,
        hiding_rate=rate,
    )


def test_an_option_in_a_sentence_is_one_piece() -> None:
    page = render_page(filled().model_copy(update={"judge_quality": a_judge()}), {})
    assert 'of its own <span class="option">(--judge-labels</span>).' in " ".join(page.split())
