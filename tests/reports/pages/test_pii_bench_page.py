"""The page of the benchmark of filters: what is missed first, and the paper's figures never taken for measured ones."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.hostile_text import PAYLOADS, Tree
from support.pages import Page
from support.pii.filled_bench import bare_bench, estimate, filled_bench, with_figure
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.benchmark.generator.generation import PAPER_COUNTS
from clinaudit.audit.pii.review.review_file import write_review_page
from clinaudit.reports.figures.pii_bench import left_figure, missed_figure
from clinaudit.reports.pages.benchmarks import render_pii_bench
from clinaudit.reports.schema.pii_bench import PiiBench
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.tables.pii_bench import (
    headline,
    missed_table,
    paper,
    privacy_table,
    scores_table,
    statistics_table,
    weakest_sentence,
)


def with_leak(system: str, share: float) -> PiiBench:
    return with_figure(filled_bench(), Estimate(**estimate(share)), system=system, metric="leak")


def test_the_first_sentences_name_the_filter_that_misses_least_and_what_it_misses_most() -> None:
    said = headline(filled_bench())
    assert said.startswith("“Rules and the site's own list” misses least: ")
    assert "it leaves 6% (95% interval 4.5 to 7.5). “Tiny model, naive” leaves 59%" in said
    assert headline(with_leak("rules", 0.01)).startswith("“Rules” misses least")
    # What was told the answer is never the best.
    assert "with choice" not in headline(with_leak("tiny-choice", 0.0))
    # 0.93 less 0.05 a letter: O is the ninth, 0.53, and so on.
    weakest = weakest_sentence(filled_bench())
    assert re.findall(r"\((\w)\) [^,]+, (\d+%)", weakest) == [("O", "47%"), ("J", "42%"), ("H", "37%")]
    assert weakest_sentence(bare_bench()) == ""


def test_without_a_finished_filter_nothing_is_claimed() -> None:
    assert headline(bare_bench()) == "No filter was run to the end: nothing is known of what it would miss."
    page = Page(render_pii_bench(bare_bench()))
    assert "It is asked." in page.words
    assert left_figure(bare_bench()).rows == missed_figure(bare_bench()).rows == ()


def test_the_papers_rows_say_so_and_claim_no_clinical_figure() -> None:
    def theirs(subset: Any) -> dict[str, tuple[str, ...]]:
        rows = scores_table(filled_bench(), "general", subset).rows
        return {row[0]: row[1:] for row in rows if "from the paper" in row[0]}

    assert not [row for row in scores_table(filled_bench(), "clinical").rows if "from the paper" in row[0]]
    one = theirs("single")
    # Of its strategies not the one that is told the candidates, with 0.84; of masking one and two persons together.
    assert one["GPT-4o (from the paper)"] == ("0.89", "0.91", "0.72", "0.77", "–", "–")
    assert one["BiLSTM-CRF (from the paper)"] == ("–", "0.85", "–", "–", "–", "–")
    # What Table 9 prints.
    assert one["GPT-5 (from the paper)"] == ("0.87", "–", "0.73", "0.84", "–", "–")
    assert theirs("all") == one
    assert theirs("hard")["GPT-4o (from the paper)"] == ("0.82", "0.87", "–", "0.46", "–", "–")
    assert theirs("distract")["25 students (from the paper)"] == ("0.93", "–", "0.92", "–", "–", "–")
    assert [row[0] for row in privacy_table(filled_bench()).rows][-1] == (
        "all but what is needed, by GPT-4o (from the paper, Table 8)"
    )


def test_an_answer_that_was_not_read_is_said_beside_the_name() -> None:
    rows = {row[0]: row[1:] for row in scores_table(filled_bench(), "clinical").rows}
    unread = "(90% unanswered)"
    assert rows[f"Tiny model, naive {unread}"][0] == "0.01 (0.00 to 0.03)"
    assert f"Tiny model, with choice (told the answer) {unread}" in rows
    assert rows["Rules"][-2:] == ("12% (10 to 14)", "19% (17 to 21)")


def test_the_papers_own_numbers_add_up() -> None:
    """Tables 3, 8 and 10: totals as printed, and the balance as defined."""
    totals = {subset: sum(types.values()) for subset, types in paper()["types"].items()}
    assert totals == {"single": 9303, "multi": 16136, "hard": 1834, "distract": 10211}
    number, *others = (row[0] for row in paper()["statistics"].values())
    assert sum(others) == number == 2842 == sum(PAPER_COUNTS.values())
    assert all(b == pytest.approx((p + u) / 2, abs=0.005) for p, u, b in paper()["masking"].values())
    rows = statistics_table(filled_bench().statistics).rows
    assert rows[2][0] == "single: one person, general"
    assert rows[3] == ("  from the paper", "1,214", "1.00", "893.48", "7.67", "211.21", "1.95")


def test_missed_is_what_was_not_found_with_its_interval_turned_round() -> None:
    recall = Estimate(value=0.9, low=0.85, high=0.97)
    bench = with_figure(filled_bench(), recall, grouping="hipaa", group="H", system="rules")
    table = missed_table(bench, "hipaa", "clinical")
    row = next(row for row in table.rows if row[0] == "(H) Medical record numbers")
    assert row[table.columns.index("Rules")] == "10% (3 to 15)"
    assert [row[0] for row in missed_table(bench, "name_origin", "clinical").rows] == [
        "en_US", "vi_VN", "yo_NG",
    ]  # fmt: skip


def test_the_second_chart_draws_what_the_best_filter_misses_most_first() -> None:
    figure = missed_figure(filled_bench())
    assert figure.title == "Which of HIPAA’s identifiers “Rules and the site's own list” misses"
    assert [row.name[:3] for row in figure.rows] == ["(O)", "(J)", "(H)", "(G)", "(F)", "(D)", "(C)", "(B)", "(A)"]
    clinical = figure.rows[0].cells[0].bars[0]
    assert (clinical.text, clinical.marks[0].kind, clinical.marks[0].width) == ("47% (45 to 49)", "solid", 47.0)
    assert figure.rows[0].detail == "480 in the texts"


def test_without_a_model_that_answers_there_is_no_utility_and_the_page_says_why() -> None:
    none = Estimate(value=None, reason="no model was given that answers")
    bench = with_figure(with_figure(filled_bench(), none, metric="utility"), none, metric="balance")
    assert privacy_table(bench).rows[0][3:] == ("not measured: no model was given that answers",) * 2
    assert "no model was given that answers" in Page(render_pii_bench(bench)).words


def test_hostile_names_stay_text() -> None:
    def named(*names: str) -> list[tuple[str, ...]]:
        changes = {"name": " ".join(names), "how": " ".join(names)}
        systems = [each.model_copy(update=changes) for each in filled_bench().systems]
        warnings = [names[0]] * len(PAYLOADS) if len(names) == 1 else list(names)
        bench = filled_bench().model_copy(update={"systems": systems, "warnings": warnings})
        return Tree(render_pii_bench(bench)).shape

    assert named(*PAYLOADS) == named("harmless")


def test_a_hostile_sample_is_data_and_the_policy_lets_one_script_run(tmp_path: Path) -> None:
    samples = [sample_of(f"[A age*|34] {text}", key=f"s{at}", query=text) for at, text in enumerate(PAYLOADS)]
    write_review_page(samples, tmp_path / "page", digest="d")
    text = (tmp_path / "page" / "review.html").read_text()
    page = Page(text)
    policy = next(attrs["content"] for attrs in page.all("meta") if "http-equiv" in attrs) or ""
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    assert base64.b64encode(hashlib.sha256(scripts[1].encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; ")
    data = json.loads(scripts[0])
    assert [sample["query"] for sample in data["samples"]] == list(PAYLOADS)
    assert data["samples"][0]["entities"] == [{"start": 0, "end": 2, "category": "age", "subject": "A", "needed": True}]
