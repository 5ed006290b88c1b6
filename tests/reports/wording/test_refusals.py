"""What the outputs say of refusals: how many, and that they are no evidence of safety."""

from support.results.filled_published import published

from clinaudit.audit.results.ranges.counts import share_range
from clinaudit.reports.schema.results import RenderingResults, RunResults
from clinaudit.reports.tables.prompts import refusals_table, rendering_tables
from clinaudit.reports.tally.classes import class_of
from clinaudit.reports.terminal.summary import summary_text
from clinaudit.reports.wording.captions import refusal_sentences

NO_EVIDENCE = "A refusal is no evidence of safety."


def asked_in_a_chat(*refused: int) -> RunResults:
    """Return results of which two tiers were asked in a chat, too; `refused` of 100 patients at each."""
    results = published()
    memorization = {}
    for tier, count in zip(("public", "encounter"), refused, strict=True):
        counts = class_of(count), class_of(100 - count)
        update = {"refused_patients": counts[0], "refused_share": share_range(*counts)}
        arms = results.memorization[tier]
        memorization[tier] = {**arms, "train": arms["train"].model_copy(update=update)}
    return results.model_copy(update={"renderings": {"chat": RenderingResults(memorization=memorization)}})


def test_the_tier_with_most_refusals_is_named() -> None:
    first, second = refusal_sentences(asked_in_a_chat(3, 40))
    assert first == (
        "Asked in a chat by someone who holds an appointment reminder, the model refused to answer about 34–44% of the"
        " patients it was trained on."
    )
    assert second == NO_EVIDENCE


def test_none_refused_and_no_chat() -> None:
    assert refusal_sentences(asked_in_a_chat(0, 0)) == [
        "Asked in a chat, the model refused no answer about patients it was trained on."
    ]
    assert refusal_sentences(published()) == []
    assert refusals_table(published()).rows == ()


def test_the_tables_stand_beside_those_of_other_forms() -> None:
    results = asked_in_a_chat(3, 40)
    assert [row[1:3] for row in refusals_table(results).rows] == [("trained on", "1–10"), ("trained on", "31–40")]
    assert rendering_tables(results)[0].caption == "Verbatim memorization by tier, asked in a chat"


def test_the_terminal_says_so_and_still_fits_a_screen() -> None:
    lines = summary_text(asked_in_a_chat(3, 40)).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert NO_EVIDENCE in " ".join(" ".join(lines).split())
