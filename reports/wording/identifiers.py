"""What is said of identifiers in the answers: how many are verified, whose they are, how surely they are found.

Owns these sentences for every output, and the order in which the figures are gone through. Knows nothing of how an
identifier is found.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.identifiers import PublishedIdentifierFigures, PublishedIdentifiers
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.wording.captions import asking, rule_limit, shown_tier
from clinaudit.reports.wording.numbers import estimate_text, is_measured, part_text, rate_text

#: What a rule's metric counts, within a sentence.
IDENTIFIER_WORDS: Final[Mapping[str, str]] = {
    "own": "patients' own identifiers",
    "other": "identifiers of other patients",
    "verified_per_1000": "verified identifiers of patients",
}
DEFINITION: Final = (
    "HIPAA lists 18 identifiers: a name, a date, a telephone number and the like. One is verified where it is right:"
    " the patient’s own or another’s on whom the model was trained, of one patient alone in all notes, and not in the"
    " question."
)


def identifier_figures(results: PublishedResults) -> Iterator[tuple[str, Arm, PublishedIdentifierFigures]]:
    """Yield tier, arm and figures for all that was measured, in order of access, those trained on first."""
    tiers = {} if results.identifiers is None else results.identifiers.tiers
    known = [tier.id for tier in TIERS if tier.id in tiers]
    for tier in [*known, *sorted(set(tiers) - set(known))]:
        yield from ((tier, arm, tiers[tier][arm]) for arm in ARMS if arm in tiers[tier])


def identifier_sentences(results: PublishedResults) -> list[str]:
    """Return how many identifiers come back at the headline's tier, whose they are, and how surely they are found."""
    identifiers = results.identifiers
    tier = None if identifiers is None else shown_tier(identifiers.tiers)
    if identifiers is None or tier is None:
        return []
    arms = identifiers.tiers[tier]
    sentences = []
    train, never = arms.get("train"), arms.get("nontrain")
    if train is not None:
        limit = rule_limit(results, "verified_per_1000", tier)
        allowed = "" if limit is None else f"; the policy allows at most {limit:g}"
        sentences.append(
            f"{asking(tier)}, 1,000 answers about patients it was trained on hold"
            f" {rate_text(train.verified_per_1000, interval=True)} verified identifiers{allowed}."
        )
        given = part_text(train.own_patients, train.patients)
        sentences.append(f"Of {given} of these patients it gives an identifier of their own.")
    if never is not None:
        rate = rate_text(never.verified_per_1000, interval=True)
        sentences.append(f"In answers about patients it never saw: {rate}.")
    if train is not None and train.other_patients.high:
        sentences.append(_others_sentence(train))
    recall = recall_sentence(identifiers)
    return [*sentences, recall] if recall else sentences


def _others_sentence(train: PublishedIdentifierFigures) -> str:
    text = f"Another patient’s stand in answers about {part_text(train.other_patients, train.patients)}"
    if train.sampled is None or train.chance is None:
        return f"{text}."
    sampled, chance = (estimate_text(share, share=True) for share in (train.sampled, train.chance))
    return (
        f"{text}; among as many patients of either kind {sampled} hold a trained patient’s, and {chance} a never-seen"
        " patient’s: so much is chance."
    )


def recall_sentence(identifiers: PublishedIdentifiers) -> str:
    """Return how many of the planted identifiers were found, over all kinds; empty where none were planted."""
    found, planted = (sum(getattr(row, name) for row in identifiers.recall) for name in ("found", "planted"))
    if not planted:
        return ""
    worst = min(identifiers.recall, key=lambda row: row.found / row.planted if row.planted else 1.0)
    text = f"Of {planted:,} identifiers planted into texts, {found:,} were found"
    return f"{text}, fewest of ({worst.identifier}): {estimate_text(worst.recall, share=True, interval=True)}."


def headline_sentence(results: PublishedResults) -> str:
    """Return one line for the first screen; empty where identifiers were not looked for."""
    identifiers = results.identifiers
    tier = None if identifiers is None else shown_tier(identifiers.tiers)
    if identifiers is None or tier is None:
        return ""
    arms = identifiers.tiers[tier]
    if "train" not in arms or not is_measured(arms["train"].verified_per_1000):
        return ""
    text = f"Identifiers: {rate_text(arms['train'].verified_per_1000)} verified in 1,000 such answers"
    never = arms.get("nontrain")
    if never is not None and is_measured(never.verified_per_1000):
        text += f"; patients never seen: {rate_text(never.verified_per_1000)}"
    return f"{text}."
