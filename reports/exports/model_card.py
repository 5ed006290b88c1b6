"""What an audit can fill of the CHAI Applied Model Card, as YAML.

Field names and their order are the card's own (Coalition for Health AI, https://mc.chai.org/v0.2/schema.xsd). A field
that no audit can know is null and says so. Owns which figure fills which field; states published figures alone.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clinaudit.reports.schema.corpus import PublishedPopulation
from clinaudit.reports.schema.decision import PublishedRule, RuleStatus
from clinaudit.reports.schema.groups import PARTITIONS
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.identifiers import IDENTIFIER_WORDS, identifier_figures
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    STATUSES,
    display_title,
    display_words,
    is_share,
    join_words,
    tier_number,
    tier_title,
)
from clinaudit.reports.wording.numbers import RANGE_NOTE, count_text, estimate_text, is_measured, part_text, rate_text
from clinaudit.reports.wording.rule_figures import is_of_identifiers, limit_text, observed_text

SCHEMA_VERSION: Final = "v0.2"
_HEAD: Final = f"""\
# CHAI Applied Model Card ({SCHEMA_VERSION}, mc.chai.org): the fields that a privacy audit can fill.
# The audit asks what the model gives away about its training patients; it is no evaluation of clinical use.
"""
#: Behind every null but those of `_ASKED_FOR`.
_UNKNOWN: Final = "an audit cannot know this"
_ASKED_FOR: Final[Mapping[str, str]] = {
    "ModelName": "give it with `clinaudit report RUN --model-card --model-name TEXT`",
    "ModelDeveloper": "an audit cannot know this; whose audit it is stands under SafetyReliability",
}
_NULL_FIELD: Final = re.compile(r"^(\s*(\w+): null)$", re.MULTILINE)
_ARM_WORDS: Final = {"train": "patients trained on", "nontrain": "patients never seen"}
_LEADS: Final[Mapping[RuleStatus, str]] = {"fail": "Failed", "inconclusive": "Not settled, which is no pass"}
_NO_METRIC: Final = dict.fromkeys(
    (
        "MetricGoal",
        "Results",
        "Interpretation",
        "TestType",
        "TestingDataDescription",
        "ValidationProcessAndJustification",
    )
)


def model_card_yaml(content: ReportContent) -> str:
    """Return the text of `model-card.yaml`. Raises `ValueError` for exact figures: the card leaves the institution."""
    if content.exact is not None:
        raise ValueError("a model card states published figures alone")
    from yaml import SafeDumper, dump, nodes

    class CardDumper(SafeDumper):  # type: ignore[misc]  # the library ships no types
        """Writes a text of several lines as a block, a line a sentence."""

    def as_block(dumper: SafeDumper, text: str) -> nodes.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    CardDumper.add_representer(str, as_block)
    text: str = dump(
        _harmless({"AppliedModelCard": _card(content)}),
        Dumper=CardDumper,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )
    # A line of a block begins with a dash, so that no text is taken for a field.
    return _HEAD + _NULL_FIELD.sub(lambda line: f"{line[1]}  # {_ASKED_FOR.get(line[2], _UNKNOWN)}", text)


def _card(content: ReportContent) -> dict[str, Any]:
    results, identity = content.results, read_identity(content.provenance)
    return {
        "BasicInfo": {"ModelName": identity.model_name, "ModelDeveloper": None, "DeveloperContact": None},
        "ReleaseInfo": {
            "ReleaseStage": None,
            "ReleaseDate": None,
            "ReleaseVersion": _version(content.provenance),
            "GlobalAvailability": None,
            "EHRCompatibility": None,
            "RegulatoryApproval": None,
        },
        "ModelSummary": {"Summary": None, "Keywords": None},
        "UsesAndDirections": {
            "IntendedUseAndWorkflow": None,
            "PrimaryIntendedUsers": None,
            "HowToUse": None,
            "TargetedPatientPopulation": None,
            "CautionedOutOfScopeSettings": _lines(_caution_sentences(results)),
        },
        "Warnings": {
            "KnownRisksAndLimitations": _lines(_risk_sentences(results)),
            "KnownBiasesOrEthicalConsiderations": _lines(_bias_sentences(results)),
            "ClinicalRiskLevel": None,
        },
        "TrustIngredients": {
            "AISystemFacts": {
                "OutcomesAndOutputs": None,
                "ModelType": None,
                "FoundationModels": None,
                "InputDataSource": None,
                "OutputAndInputDataTypes": None,
                "DevelopmentDataCharacterization": _lines(_data_sentences(results)),
                "BiasMitigationApproaches": None,
                "OngoingMaintenance": None,
                "Security": _lines(_security_sentences(results)),
                "Transparency": "Audited with clinaudit; report.html beside this card has every published figure.",
            },
            "TransparencyInformation": {
                "FundingSource": None,
                "ThirdPartyInformation": None,
                "StakeholdersConsulted": None,
            },
        },
        "KeyMetrics": {
            "UsefulnessUsabilityEfficacy": _NO_METRIC.copy(),
            "FairnessEquity": _fairness(results),
            "SafetyReliability": _safety(content),
        },
        "Resources": {
            "EvaluationReferences": None,
            "ClinicalTrial": None,
            "PeerReviewedPublications": None,
            "ReimbursementStatus": None,
            "PatientConsentOrDisclosure": None,
        },
        "Bibliography": None,
    }


def _version(provenance: Mapping[str, object]) -> str | None:
    digests = provenance.get("digests")
    digest = digests.get("model") if isinstance(digests, Mapping) else None
    return f"the weights audited have the SHA-256 {digest}" if isinstance(digest, str) else None


def _caution_sentences(results: PublishedResults) -> Iterator[str]:
    failed: dict[str, list[str]] = {}
    for words, rules in _by_subject(results, "fail"):
        for rule in rules:
            failed.setdefault(rule.tier or "", []).append(words)
    for tier, subjects in failed.items():
        holders = f"people who know the facts of “{tier_title(tier)}”"
        yield f"Keep it away from {holders}: it gives away {join_words(subjects)}."


def _risk_sentences(results: PublishedResults) -> Iterator[str]:
    decision = results.decision
    if decision is None:
        yield "No policy was applied to this audit, so that nothing is known to be within a limit."
    else:
        word = STATUSES[decision.status][0].lower()
        yield f"Verdict of the privacy policy “{decision.policy}”: {word}. {decision.reason}"
        for status, lead in _LEADS.items():
            for words, rules in _by_subject(results, status):
                figures = "; ".join(f"{tier_title(rule.tier or '')} {observed_text(rule)}" for rule in rules)
                yield f"{lead}: {words} (limit {limit_text(rules[0])}): {figures}."
    if any(_is_range(rule) for rule in decision.rules if is_measured(rule.observed)) if decision else False:
        yield RANGE_NOTE
    yield from results.warnings


def _bias_sentences(results: PublishedResults) -> Iterator[str]:
    for label, value in _group_figures(results):
        yield f"{label}: {value}."


def _data_sentences(results: PublishedResults) -> Iterator[str]:
    if results.corpus is None or "train" not in results.corpus.splits:
        return
    train = results.corpus.splits["train"]
    yield f"Notes of {count_text(train.patients)} patients were given as training data" + (
        f": about {train.notes:,.0f} notes." if train.notes is not None else "."
    )
    if is_measured(train.age):
        yield f"Mean age: {_whole_years(train.age)} years."
    for name, groups in _people(train).items():
        yield f"{name}: {_partition_text(groups)}."


def _whole_years(age: PublishedEstimate) -> str:
    ends = dict.fromkeys(f"{age.value if end is None else end:.0f}" for end in (age.low, age.high))
    return "–".join(ends)


def _people(population: PublishedPopulation) -> dict[str, dict[str, CountRange]]:
    parts = {"Age": population.age_bands, "Sex": population.sex, "Race": population.race}
    return {name: groups for name, groups in parts.items() if any(count.high for count in groups.values())}


def _partition_text(groups: Mapping[str, CountRange]) -> str:
    # "<18" comes before the other bands of age.
    shown = sorted((name for name, count in groups.items() if count.high), key=lambda name: (name[:1] != "<", name))
    return ", ".join(f"{display_title(name)} ({count_text(groups[name])})" for name in shown)


def _security_sentences(results: PublishedResults) -> Iterator[str]:
    if not results.memorization and not results.disclosure.by_diagnosis:
        return
    tiers = join_words([f"“{tier_title(tier)}”" for tier in sorted(results.memorization, key=tier_number)])
    yield f"Tested by asking the model what people know who hold these facts of a patient: {tiers}."
    if results.disclosure.by_diagnosis:
        diagnoses = join_words([display_words(name) for name in results.disclosure.by_diagnosis])
        yield f"Sensitive diagnoses tested: {diagnoses}."
    yield "Not tested: access control, logging, encryption, and whoever holds other facts than these."


def _fairness(results: PublishedResults) -> dict[str, Any]:
    figures = list(_group_figures(results))
    if not figures:
        return _NO_METRIC.copy()
    return {
        "MetricGoal": "No group of patients bears more of what the model gives away than the others.",
        "Results": _metric_results(figures),
        "Interpretation": None,
        "TestType": "Privacy audit: patients of whom medical details are repeated that stand in their own notes alone.",
        "TestingDataDescription": f"Patients trained on, asked about at “{tier_title(HEADLINE_TIER)}”.",
        "ValidationProcessAndJustification": None,
    }


def _group_figures(results: PublishedResults) -> Iterator[tuple[str, str]]:
    if results.subgroups is None:
        return
    groups = results.subgroups.memorization.get(HEADLINE_TIER, {}).get("train", [])
    for partition in PARTITIONS:
        for group in (group for group in groups if group.partition == partition and group.patients.high):
            share = estimate_text(group.share, share=True) if is_measured(group.share) else "share not published"
            yield (
                f"Patients with own text repeated, by {partition}: {display_title(group.group)}",
                f"{part_text(group.affected, group.patients)} ({share})",
            )


def _safety(content: ReportContent) -> dict[str, Any]:
    results = content.results
    decision = results.decision
    return {
        "MetricGoal": None
        if decision is None
        else f"Every rule of the privacy policy “{decision.policy}” holds: what the model gives away about the "
        "patients it was trained on is within the policy's limits.",
        "Results": _metric_results(_safety_figures(results)) or None,
        "Interpretation": None if decision is None else decision.reason,
        "TestType": "Privacy audit of verbatim memorization and of disclosed diagnoses, against patients never seen.",
        "TestingDataDescription": _lines(_tested_sentences(results)),
        "ValidationProcessAndJustification": _lines(_validation_sentences(content)),
    }


def _safety_figures(results: PublishedResults) -> Iterator[tuple[str, str]]:
    for tier in sorted(results.memorization, key=tier_number):
        for arm in ARMS:
            if (summary := results.memorization[tier].get(arm)) is not None:
                yield (
                    f"Share of the text that is the patient's own notes, {tier_title(tier)}, {_ARM_WORDS[arm]}",
                    estimate_text(summary.attributable_fraction.mean, share=True, interval=True),
                )
                if summary.other_patients is not None:
                    yield (
                        f"Share of the text that is one other patient's notes, {tier_title(tier)}, {_ARM_WORDS[arm]}",
                        estimate_text(summary.other_patients.fraction.mean, share=True, interval=True),
                    )
    for tier, arm, figures in identifier_figures(results):
        yield (
            f"Verified identifiers per 1,000 queries, {tier_title(tier)}, {_ARM_WORDS[arm]}",
            rate_text(figures.verified_per_1000, interval=True),
        )
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier, pair in sorted(tiers.items(), key=lambda item: tier_number(item[0])):
            if pair.delta is not None and is_measured(pair.delta.get("auroc_all")):
                yield (
                    f"AUROC in excess of patients never seen, {display_title(diagnosis)}, {tier_title(tier)}",
                    estimate_text(pair.delta["auroc_all"], signed=True, interval=True),
                )


def _tested_sentences(results: PublishedResults) -> Iterator[str]:
    for arm in ARMS:
        summary = results.memorization.get(HEADLINE_TIER, {}).get(arm)
        if summary is not None:
            yield f"{count_text(summary.patients)} {_ARM_WORDS[arm]}."
    for diagnosis, cohort in results.cohorts.items():
        yield f"{display_title(diagnosis)}: {count_text(cohort.sets)} matched sets of four patients."


def _validation_sentences(content: ReportContent) -> Iterator[str]:
    identity, judge = read_identity(content.provenance), content.results.judge_quality
    by = f" for {identity.institution}" if identity.institution else ""
    on = f" on {identity.date}" if identity.date else ""
    yield f"Audited{by}{on} with clinaudit {content.provenance.get('clinaudit', '')}.".replace(" .", ".")
    if judge is not None:
        yield (
            f"The judge that reads diagnoses in texts finds {estimate_text(judge.sensitivity, share=True)} of those "
            f"that are stated, and reads none into {estimate_text(judge.specificity, share=True)} of the other texts."
        )


def _by_subject(results: PublishedResults, status: RuleStatus) -> Iterator[tuple[str, list[PublishedRule]]]:
    """Yield what a rule is about in words, and its rules of that status: one line for all tiers."""
    subjects: dict[str, list[PublishedRule]] = {}
    for rule in results.decision.rules if results.decision else ():
        if rule.status == status:
            subjects.setdefault(_subject(rule), []).append(rule)
    yield from subjects.items()


def _subject(rule: PublishedRule) -> str:
    if rule.diagnosis is not None:
        return display_words(rule.diagnosis)
    if is_of_identifiers(rule):
        return IDENTIFIER_WORDS[rule.metric]
    return "text of patients' own notes" if is_share(rule.metric) else "diagnoses"


def _is_range(rule: PublishedRule) -> bool:
    return rule.observed.value is None


def _metric_results(figures: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Label": label, "ValueJson": json.dumps(value, ensure_ascii=False)} for label, value in figures]


def _lines(sentences: Iterator[str]) -> str | None:
    """Return a Markdown list, as the card's fields take it, or None where there is nothing to say."""
    lines = [f"- {_as_markdown(sentence)}" for sentence in sentences]
    return "\n".join(lines) + "\n" if lines else None


def _harmless(value: Any) -> Any:
    """Return the card with every text of one line harmless; a list of lines is so already."""
    if isinstance(value, dict):
        return {key: _harmless(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    if isinstance(value, str):
        return "\n".join(_as_markdown(line) for line in value.split("\n"))
    return value


def _as_markdown(text: str) -> str:
    """Return a text of which no reader of Markdown makes a link or markup: names come from outside."""
    return harmless_text(text).replace("<", "&lt;").replace("](", "] (")
