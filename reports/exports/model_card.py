"""What an audit can fill of the CHAI Applied Model Card, as YAML.

Field names and their order are the card's own (Coalition for Health AI, https://mc.chai.org/v0.2/schema.xsd). A field
that no audit can know is null and says so. Figures are rows of the report's tables. Owns which table fills which field;
states published figures alone.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clinaudit.reports.schema.decision import RuleStatus
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.tables.attacks import attacks_table, membership_table, ordinary_table, queries_table
from clinaudit.reports.tables.corpus import corpus_tables, subgroup_tables
from clinaudit.reports.tables.disclosure import metric_table
from clinaudit.reports.tables.identifiers import identifiers_table
from clinaudit.reports.tables.judge import judge_sentence
from clinaudit.reports.tables.memorization import memorization_table, others_table
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.names import (
    ARM_WORDS,
    HEADLINE_TIER,
    STATUSES,
    display_title,
    display_words,
    join_words,
    tier_number,
    tier_title,
)
from clinaudit.reports.wording.numbers import RANGE_NOTE, count_text, is_measured
from clinaudit.reports.wording.rule_figures import limit_text, observed_text, subject_title

SCHEMA_VERSION: Final = "v0.2"
_HEAD: Final = f"""\
# CHAI Applied Model Card ({SCHEMA_VERSION}, mc.chai.org): the fields that a privacy audit can fill.
# The audit asks what the model gives away about its training patients; it is no evaluation of clinical use.
"""
#: The YAML comment after every null but those of `_ASKED_FOR`.
_UNKNOWN: Final = "an audit cannot know this"
_ASKED_FOR: Final[Mapping[str, str]] = {
    "ModelName": "give it with `clinaudit report RUN --model-card --model-name TEXT`",
    "ModelDeveloper": "an audit cannot know this; whose audit it is stands under SafetyReliability",
}
_NULL_FIELD: Final = re.compile(r"^(\s*(\w+): null)$", re.MULTILINE)
_LEADS: Final[Mapping[RuleStatus, str]] = {"fail": "Failed", "inconclusive": "Not settled, which is no pass"}
_METRIC: Final = "MetricGoal Results Interpretation TestType TestingDataDescription ValidationProcessAndJustification"
#: The card's fields in its order, by section; None: a field of its own.
_FIELDS: Final[Mapping[str, Any]] = {
    "BasicInfo": "ModelName ModelDeveloper DeveloperContact",
    "ReleaseInfo": "ReleaseStage ReleaseDate ReleaseVersion GlobalAvailability EHRCompatibility RegulatoryApproval",
    "ModelSummary": "Summary Keywords",
    "UsesAndDirections": "IntendedUseAndWorkflow PrimaryIntendedUsers HowToUse TargetedPatientPopulation"
    " CautionedOutOfScopeSettings",
    "Warnings": "KnownRisksAndLimitations KnownBiasesOrEthicalConsiderations ClinicalRiskLevel",
    "TrustIngredients": {
        "AISystemFacts": "OutcomesAndOutputs ModelType FoundationModels InputDataSource OutputAndInputDataTypes"
        " DevelopmentDataCharacterization BiasMitigationApproaches OngoingMaintenance Security Transparency",
        "TransparencyInformation": "FundingSource ThirdPartyInformation StakeholdersConsulted",
    },
    "KeyMetrics": {"UsefulnessUsabilityEfficacy": _METRIC, "FairnessEquity": _METRIC, "SafetyReliability": _METRIC},
    "Resources": "EvaluationReferences ClinicalTrial PeerReviewedPublications ReimbursementStatus"
    " PatientConsentOrDisclosure",
    "Bibliography": None,
}


def model_card_yaml(content: ReportContent) -> str:
    """Return the text of `model-card.yaml`. Raises `ValueError` for exact figures: the card leaves the institution."""
    if content.is_exact:
        raise ValueError("a model card states published figures alone")
    from yaml import SafeDumper, dump, nodes

    class CardDumper(SafeDumper):  # type: ignore[misc]  # the library ships no types
        """Writes a text of several lines as a block, a line a sentence."""

    def as_block(dumper: SafeDumper, text: str) -> nodes.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    CardDumper.add_representer(str, as_block)
    text: str = dump(
        _harmless({"AppliedModelCard": _fill(_FIELDS, _known(content))}),
        Dumper=CardDumper,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )
    # A line of a block begins with a dash, so that no text is taken for a field.
    return _HEAD + _NULL_FIELD.sub(lambda line: f"{line[1]}  # {_ASKED_FOR.get(line[2], _UNKNOWN)}", text)


def _fill(fields: Any, known: Any) -> Any:
    """Return the fields in their order with what is known of each, and null for the rest."""
    if isinstance(fields, str):
        return {field: (known or {}).get(field) for field in fields.split()}
    if isinstance(fields, Mapping):
        return {section: _fill(own, (known or {}).get(section)) for section, own in fields.items()}
    return known


def _known(content: ReportContent) -> dict[str, Any]:
    results = content.results
    groups = _rows(2, *subgroup_tables(results))
    return {
        "BasicInfo": {"ModelName": read_identity(content.provenance).model_name},
        "ReleaseInfo": {"ReleaseVersion": _version(content.provenance)},
        "UsesAndDirections": {"CautionedOutOfScopeSettings": _lines(_caution_sentences(results))},
        "Warnings": {
            "KnownRisksAndLimitations": _lines(_risk_sentences(results)),
            "KnownBiasesOrEthicalConsiderations": "Groups of patients stand side by side under FairnessEquity."
            if groups
            else None,
        },
        "TrustIngredients": {
            "AISystemFacts": {
                "DevelopmentDataCharacterization": _lines(_data_sentences(results)),
                "Security": _lines(_security_sentences(results)),
                "Transparency": "Audited with clinaudit; report.html beside this card has every published figure.",
            }
        },
        "KeyMetrics": {"FairnessEquity": _fairness(groups), "SafetyReliability": _safety(content)},
    }


def _version(provenance: Mapping[str, object]) -> str | None:
    digests = provenance.get("digests")
    digest = digests.get("model") if isinstance(digests, Mapping) else None
    return f"the weights audited have the SHA-256 {digest}" if isinstance(digest, str) else None


def _rows(heads: int, *tables: Table) -> list[dict[str, str]]:
    """Return a result of the card for each row of the tables, named by its first cells: column by column, as JSON."""
    return [
        {
            "Label": f"{table.caption}: {', '.join(row[:heads])}",
            "ValueJson": json.dumps(dict(zip(table.columns[heads:], row[heads:], strict=True)), ensure_ascii=False),
        }
        for table in tables
        for row in table.rows
    ]


def _fairness(groups: list[dict[str, str]]) -> dict[str, Any]:
    if not groups:
        return {}
    return {
        "MetricGoal": "No group of patients bears more of what the model gives away than the others.",
        "Results": groups,
        "TestType": "Privacy audit: patients of whom medical details are repeated that stand in their own notes alone,"
        " and patients of whom a diagnosis that they have is stated.",
    }


def _safety(content: ReportContent) -> dict[str, Any]:
    results = content.results
    decision = results.decision
    tables = (memorization_table(results), others_table(results), identifiers_table(results), queries_table(results))
    told = _rows(1, *([] if results.membership is None else [membership_table(results.membership)]))
    told += _rows(1, *([] if results.ordinary is None else [ordinary_table(results.ordinary)]))
    return {
        "MetricGoal": None
        if decision is None
        else f"Every rule of the privacy policy “{decision.policy}” holds: what the model gives away about the "
        "patients it was trained on is within the policy's limits.",
        "Results": [*_rows(2, *tables, metric_table(results, "auroc_all")), *told] or None,
        "Interpretation": None if decision is None else decision.reason,
        "TestType": "Privacy audit of verbatim memorization and diagnoses, against patients never seen or a control.",
        "TestingDataDescription": _lines(_tested_sentences(results)),
        "ValidationProcessAndJustification": _lines(_validation_sentences(content)),
    }


def _caution_sentences(results: RunResults) -> Iterator[str]:
    failed: dict[str, dict[str, None]] = {}
    for rule in results.decision.rules if results.decision else ():
        if rule.status == "fail":
            failed.setdefault(rule.tier or "", {})[subject_title(rule)] = None
    for tier, subjects in failed.items():
        holders = f"people who know the facts of “{tier_title(tier)}”"
        yield f"Keep it away from {holders}: there it fails on {join_words(list(subjects))}."


def _risk_sentences(results: RunResults) -> Iterator[str]:
    decision = results.decision
    if decision is None:
        yield "No policy was applied to this audit, so that nothing is known to be within a limit."
    else:
        word = STATUSES[decision.status][0].lower()
        yield f"Verdict of the privacy policy “{decision.policy}”: {word}. {decision.reason}"
        for status, lead in _LEADS.items():
            for rule in (rule for rule in decision.rules if rule.status == status):
                limit, tier = limit_text(rule), tier_title(rule.tier or "")
                yield f"{lead}: {subject_title(rule)} (limit {limit}): {tier} {observed_text(rule)}."
        if any(rule.observed.value is None for rule in decision.rules if is_measured(rule.observed)):
            yield RANGE_NOTE
    yield from results.warnings


def _data_sentences(results: RunResults) -> Iterator[str]:
    trained_on = display_title("train")
    for table in () if results.corpus is None else corpus_tables(results.corpus):
        for row in table.rows:
            if row[0] == trained_on:
                cells = (f"{head} {cell}" for head, cell in zip(table.columns[1:], row[1:], strict=True))
                yield f"{table.caption} of the training data: {', '.join(cells)}."


def _security_sentences(results: RunResults) -> Iterator[str]:
    if not results.memorization and not results.disclosure.by_diagnosis:
        return
    tiers = join_words([f"“{tier_title(tier)}”" for tier in sorted(results.memorization, key=tier_number)])
    yield f"Tested by asking the model what people know who hold these facts of a patient: {tiers}."
    if results.disclosure.by_diagnosis:
        diagnoses = join_words([display_words(name) for name in results.disclosure.by_diagnosis])
        yield f"Sensitive diagnoses tested: {diagnoses}."
    attacks = attacks_table(results)
    yield from (f"{title}: {status}." for title, status, *_ in attacks.rows)
    if attacks.rows:
        yield attacks.note
    yield "Not tested: access control, logging, encryption, and whoever holds other facts than these."


def _tested_sentences(results: RunResults) -> Iterator[str]:
    summaries = results.memorization.get(HEADLINE_TIER, {})
    yield from (f"{count_text(summaries[arm].patients)} patients {ARM_WORDS[arm]}." for arm in ARMS if arm in summaries)
    for diagnosis, cohort in results.cohorts.items():
        yield f"{display_title(diagnosis)}: {count_text(cohort.sets)} matched sets of patients."


def _validation_sentences(content: ReportContent) -> Iterator[str]:
    identity = read_identity(content.provenance)
    by = f" for {identity.institution}" if identity.institution else ""
    on = f" on {identity.date}" if identity.date else ""
    yield f"Audited{by}{on} with clinaudit {content.provenance.get('clinaudit', '')}.".replace(" .", ".")
    yield judge_sentence(content.results.judge_quality)


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
