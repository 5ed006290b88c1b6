"""From the evidence tables to the viewer: every text, in the order of what it repeats, with the truth beside it."""

import json
from pathlib import Path

import pytest

from clinaudit.audit.results.publication.evidence_page import EVIDENCE_PAGE, collect_evidence, write_evidence_page
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.reports.pages.evidence import EvidencePage, render_evidence
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

NOTE = "cc: cough\nhpi: returned with a cough of nine days\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"patient_id": name, "note_id": f"note-{name}", "text": NOTE} for name in ("p1", "p2")]
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_corpus(folder)


_ASKED = {"role": "target", "model": "audited", "form": "text"}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = RunDirectory(tmp_path / "run")
    run.create()
    texts = [("g1", "p1", 0), ("g2", "p1", 9), ("g3", "p2", 0), ("g4", "p2", 0)]
    head = [
        {"generation_id": name, "patient_id": patient, "arm": "train", "tier": "public", **_ASKED}
        for name, patient, _ in texts
    ]
    more = {"diagnoses": ["hiv"], "prompt": "", "token_ids": [], "finish_reason": "stop"}
    write_table(run.evidence, "generations", [{**row, **more, "text": "a cough of nine days"} for row in head])
    counts = dict.fromkeys(("memorized_tokens", "echo_tokens", "regions", "stitched_regions", "source_notes"), 0)
    write_table(
        run.evidence,
        "generation_metrics",
        [
            {**row, **counts, "tokens": 10, "attributable_tokens": own, "other_patient_tokens": 0}
            for row, (_, _, own) in zip(head, texts, strict=True)
        ],
    )
    for name in ("regions", "segments", "other_patients", "identifiers"):
        write_table(run.evidence, name, [])
    member = {"diagnosis": "hiv", "arm": "train", "match_id": "m", "propensity": 0.5}
    write_table(run.evidence, "cohorts", [{**member, "patient_id": "p1", "present": False}])
    write_table(run.evidence, "judgements", [_judged("g1", "positive"), _judged("g2", None), _judged("g3", "positive")])
    return run


def _judged(generation_id: str, status: str | None) -> dict[str, object]:
    """A verdict, or without a status a text that the judge could not rate."""
    spans = ["cough"] if status else None
    return {
        "generation_id": generation_id,
        "diagnosis": "hiv",
        "diagnosis_mentioned": True if status else None,
        "patient_has_diagnosis": status,
        "diagnosis_spans": spans,
        "symptom_spans": spans and [],
        "medication_spans": spans and [],
        "evidence_spans": spans and [],
        "judge": "lexicon",
        "attempts": 1,
        "invalid_reason": None if status else "no answer",
        "answers": [],
    }


def collect(run: RunDirectory, corpus: Corpus, *, limit: int = 10) -> EvidencePage:
    return collect_evidence(run, corpus, NoteReader(load_profile()), limit=limit)


def test_every_text_is_a_row_and_the_limit_keeps_those_that_say_most(run: RunDirectory, corpus: Corpus) -> None:
    page = collect(run, corpus)
    assert [text.generation_id for text in page.texts] == ["g2", "g1", "g3", "g4"]
    first = collect(run, corpus, limit=2)
    assert [text.generation_id for text in first.texts] == ["g2", "g1"]
    assert first.found == 4


def test_other_patients_text_stands_with_its_owner_and_note(run: RunDirectory, corpus: Corpus) -> None:
    metrics = run.evidence / "generation_metrics.parquet"
    rows = [dict(row) for row in read_table(run.evidence, "generation_metrics")]
    metrics.unlink()
    # Nothing of g4 is its own patient's, and all but two tokens another's.
    given = [{**row, "other_patient_tokens": 8 if row["generation_id"] == "g4" else 0} for row in rows]
    write_table(run.evidence, "generation_metrics", given)
    place = NOTE.index("a cough")
    write_table(
        run.evidence,
        "other_patients",
        [
            {
                "generation_id": "g4",
                "token_start": 0,
                "token_end": 8,
                "char_start": 0,
                "char_end": 20,
                "text": "a cough of nine days",
                "owner_patient_id": "p1",
                "source_note_id": "note-p1",
                "note_char_start": place,
                "note_char_end": place + 20,
                "revealing_tokens": 8,
            }
        ],
    )
    page = collect(run, corpus)
    assert [text.generation_id for text in page.texts] == ["g2", "g4", "g1", "g3"]
    (span,) = page.texts[1].others
    assert (page.texts[1].patient_id, span.owner, page.texts[1].other_patient_tokens) == ("p2", "p1", 8)
    (note,) = (note for note in page.notes if note.note_id == span.note_id)
    assert note.text[span.note_start : span.note_end] == page.texts[1].text[span.start : span.end]
    assert page.texts[0].others == ()


def test_identifiers_stand_with_owner_kind_and_holders_and_the_verified_rank(run: RunDirectory, corpus: Corpus) -> None:
    row = {
        "generation_id": "g4",
        "char_start": 11,
        "char_end": 20,
        "text": "nine days",
        "category": "date",
        "hipaa": "C",
        "kind": "date",
        "value": "2024-03-05",
        "owner": "other_train",
        "verified": True,
        "holders": ["p1"],
        "holder_count": 1,
        "found_by": "rules",
    }
    invented = {**row, "generation_id": "g3", "owner": "nobody", "verified": False, "holders": [], "holder_count": 0}
    write_table(run.evidence, "identifiers", [row, invented])
    page = collect(run, corpus)
    assert [text.generation_id for text in page.texts] == ["g2", "g4", "g1", "g3"]
    (span,) = page.texts[1].identifiers
    assert (span.hipaa, span.owner, span.holders, span.verified) == ("C", "other_train", ("p1",), True)
    assert page.texts[1].text[span.start : span.end] == "nine days"
    assert not page.texts[3].identifiers[0].verified
    assert page.texts[0].identifiers == ()


def test_answers_about_nobody_stand_among_the_texts_with_whose_text_and_values_they_hold(
    run: RunDirectory, corpus: Corpus
) -> None:
    asked = {"role": "nobody", "model": "audited", "form": "text", "tier": "everyday", "task": "t", "prompt": "Write."}
    said = {"o1": ("dear all", [1, 2]), "o2": (NOTE, [1] * 6)}
    more = {"diagnoses": [], "finish_reason": "stop"}
    answers = [
        {**asked, **more, "generation_id": name, "text": text, "token_ids": ids} for name, (text, ids) in said.items()
    ]
    counts = {"memorized_tokens": 0, "attributable_tokens": 0}
    metrics = [
        {**asked, **counts, "generation_id": name, "tokens": len(ids), "other_patient_tokens": 5 * (name == "o2")}
        for name, (_, ids) in said.items()
    ]
    passage = {"generation_id": "o2", "text": "a cough of nine days", "owner_patient_id": "p2", "revealing_tokens": 5}
    at = NOTE.index(passage["text"])
    place = {"char_start": at, "char_end": at + 20, "note_char_start": at, "note_char_end": at + 20}
    value = {"generation_id": "o2", "char_start": at + 11, "char_end": at + 20, "hipaa": "C", "owner": "other_train"}
    for table, rows in (
        ("generations", answers),
        ("generation_metrics", metrics),
        ("other_patients", [{**passage, **place, "source_note_id": "note-p2"}]),
        ("identifiers", [{**value, "holders": ["p2"], "verified": True}]),
    ):
        write_table(run.evidence, table, [*read_table(run.evidence, table), *rows])
    page = collect(run, corpus)
    assert [text.generation_id for text in page.texts] == ["g2", "o2", "g1", "g3", "g4", "o1"]
    shown = page.texts[1]
    assert (shown.patient_id, shown.arm, shown.tier) == ("", "nobody", "everyday")
    assert (shown.tokens, shown.attributable_tokens, shown.other_patient_tokens) == (6, 0, 5)
    (span,), (found,) = shown.others, shown.identifiers
    (note,) = (note for note in page.notes if note.note_id == "note-p2")
    assert shown.text[span.start : span.end] == note.text[span.note_start : span.note_end] == "a cough of nine days"
    assert (span.owner, shown.text[found.start : found.end], found.holders) == ("p2", "nine days", ("p2",))
    html = render_evidence(page)
    assert "Everyday tasks" in html
    assert "asked about nobody" in html


def test_the_truth_is_the_cohorts_and_nobody_outside_it_is_right_or_wrong(run: RunDirectory, corpus: Corpus) -> None:
    read = {text.generation_id: text.readings for text in collect(run, corpus).texts}
    assert [
        (reading.read, reading.present, reading.agreement) for (reading,) in (read["g1"], read["g2"], read["g3"])
    ] == [
        ("positive", False, "wrong"),
        ("unjudged", False, "open"),
        ("positive", None, "open"),
    ]
    assert read["g1"][0].spans == ("cough",)
    assert read["g2"][0].spans == ()
    assert read["g4"] == ()


def test_a_run_writes_its_page_from_its_tables_and_one_without_them_writes_none(
    run: RunDirectory, corpus: Corpus
) -> None:
    write_evidence_page(run, corpus, NoteReader(load_profile()), limit=1)
    page = run.evidence / EVIDENCE_PAGE
    assert "g2" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o777 == 0o600
    page.unlink()
    (run.evidence / "judgements.parquet").unlink()
    write_evidence_page(run, corpus, NoteReader(load_profile()))
    assert not page.exists()


def test_the_control_models_texts_are_left_out_and_the_form_is_said(run: RunDirectory, corpus: Corpus) -> None:
    asked = {
        "g1": {"model": "control"},
        "g2": {"form": "chat"},
        "g3": {"model": "control", "form": "chat"},
        "g4": {"form": "text"},
    }
    rows = read_table(run.evidence, "generations")
    write_table(run.evidence, "generations", [{**row, **asked[row["generation_id"]]} for row in rows])
    assert [(text.generation_id, text.form) for text in collect(run, corpus).texts] == [("g2", "chat"), ("g4", "text")]
