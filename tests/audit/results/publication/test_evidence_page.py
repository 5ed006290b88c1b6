"""From the evidence tables to the viewer: every text, in the order of what it repeats, with the truth beside it."""

import json

import pytest
from support.runs.tables import evidence_row

from clinaudit.audit.results.publication.evidence_page import collect_evidence
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.reports.pages.evidence import Row, render_evidence
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

NOTE = "cc: cough\nhpi: returned with a cough of nine days\n"
SAID = "a cough of nine days"
#: Generation -> its patient, and its own tokens.
TEXTS = {"g1": ("p1", 0), "g2": ("p1", 9), "g3": ("p2", 0), "g4": ("p2", 0)}
_EMPTY = ("regions", "segments", "told", "near_attributable", "other_patients", "identifiers")


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"patient_id": name, "note_id": f"note-{name}", "text": NOTE} for name in ("p1", "p2")]
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_corpus(folder)


@pytest.fixture
def run(tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create()
    asked = {"role": "target", "model": "audited", "form": "text", "arm": "train", "tier": "public"}
    heads = {name: {**asked, "generation_id": name, "patient_id": patient} for name, (patient, _) in TEXTS.items()}
    tables: dict[str, list[Row]] = {
        "generations": [evidence_row("generations", **head, text=SAID) for head in heads.values()],
        "generation_metrics": [
            evidence_row("generation_metrics", **head, tokens=10, **own_tokens(TEXTS[name][1]))
            for name, head in heads.items()
        ],
        **{name: [] for name in _EMPTY},
        "cohorts": [evidence_row("cohorts", diagnosis="hiv", patient_id="p1", arm="train", present=False)],
        "judgements": [_judged("g1", "positive"), _judged("g2", None), _judged("g3", "positive")],
    }
    for name, rows in tables.items():
        write_table(run.evidence, name, rows)
    return run


def own_tokens(verbatim, edited=0):
    return {"attributable_tokens": verbatim, "near_verbatim_attributable_tokens": verbatim + edited}


def _judged(generation_id, status):
    """A verdict, or without a status a text that the judge could not rate."""
    read = {"diagnosis_mentioned": True if status else None, "patient_has_diagnosis": status}
    spans = {"diagnosis_spans": ["cough"] if status else None}
    return evidence_row("judgements", generation_id=generation_id, diagnosis="hiv", **read, **spans)


def change(run, table, changes):
    """Change rows of a table, by generation."""
    rows = [{**row, **changes.get(row["generation_id"], {})} for row in read_table(run.evidence, table)]
    write_table(run.evidence, table, rows)


def add(run, table, *rows):
    write_table(run.evidence, table, [*read_table(run.evidence, table), *rows])


def collect(run, corpus, *, limit=10):
    return collect_evidence(run, corpus, NoteReader(load_profile()), match_tokens=30, limit=limit)


def shown(page):
    return [text["generation_id"] for text in page.texts]


def passage(generation_id, owner, at=0):
    """A row of another patient's text that stands in the generation from `at` on."""
    place = NOTE.index(SAID)
    where = {"char_start": at, "char_end": at + 20, "note_char_start": place, "note_char_end": place + 20}
    of = {"owner_patient_id": owner, "source_note_id": f"note-{owner}", "telling_tokens": 8}
    return evidence_row("other_patients", generation_id=generation_id, **where, **of)


def test_every_text_is_a_row_and_the_limit_keeps_those_that_say_most(run, corpus):
    assert shown(collect(run, corpus)) == ["g2", "g1", "g3", "g4"]
    first = collect(run, corpus, limit=2)
    assert (shown(first), first.found) == (["g2", "g1"], 4)


def test_edited_text_of_one_patient_ranks_and_is_marked_where_it_stands(run, corpus):
    # More of it than of the verbatim text of g2.
    change(run, "generation_metrics", {"g4": own_tokens(0, edited=10)})
    at = NOTE.index(SAID)
    place = {"char_start": 0, "char_end": 7, "note_char_start": at, "note_char_end": at + 7}
    add(
        run,
        "near_attributable",
        evidence_row("near_attributable", generation_id="g4", source_note_id="note-p2", **place),
    )
    page = collect(run, corpus, limit=1)
    assert shown(page) == ["g4"]
    (text,) = page.texts
    (span,) = text["spans"]
    assert (span["kind"], span["patient_count"], span["masked_patient_count"]) == ("near", 1, 1)
    note = page.notes[span["source_note_id"]]["text"]
    assert note[span["note_char_start"] : span["note_char_end"]] == text["text"][:7] == "a cough"
    assert (text["attributable_tokens"], text["near_verbatim_attributable_tokens"]) == (0, 10)


def test_what_the_prompt_told_is_marked_character_by_character_and_no_empty_segment_is(run, corpus):
    """A section's header, a carriage return in the answer, and a segment between whose ends no token begins."""
    answer = NOTE.replace("\n", "\r\n")
    change(run, "generations", {"g4": {"text": answer}})
    piece = {"generation_id": "g4", "region_id": 0, "piece": 0}
    counts = {"patient_count": 1, "masked_patient_count": 1, "source_note_id": "note-p2"}
    places = {"char_start": 0, "char_end": len(answer), "note_char_start": 0, "note_char_end": len(NOTE)}
    add(run, "regions", evidence_row("regions", **piece, **places, **counts, text=answer))
    begin = answer.index("hpi")
    ends = {"cc": (0, begin), "hpi": (begin, len(answer))}
    for section, (first, last) in ends.items():
        of = {"section": section, "char_start": first, "char_end": last, "tokens": 9 * (section == "hpi")}
        add(run, "segments", evidence_row("segments", **piece, **of))
    told = answer.index(SAID)
    add(run, "told", evidence_row("told", generation_id="g4", char_start=told, char_end=told + len(SAID)))
    (text,) = [text for text in collect(run, corpus).texts if text["generation_id"] == "g4"]
    note = collect(run, corpus).notes["note-p2"]["text"]
    for span in text["spans"]:
        said = answer[span["char_start"] : span["char_end"]]
        assert note[span["note_char_start"] : span["note_char_end"]] == said.replace("\r\n", "\n")
    assert [answer[span["char_start"] : span["char_end"]] for span in text["spans"] if span["echo"]] == [SAID]
    assert "".join(answer[span["char_start"] : span["char_end"]] for span in text["spans"]) == answer


def test_other_patients_text_stands_with_its_owner_and_note(run, corpus):
    # Nothing of g4 is its own patient's, and all but two tokens another's.
    change(run, "generation_metrics", {"g4": {"other_patient_tokens": 8}})
    add(run, "other_patients", passage("g4", "p1"))
    page = collect(run, corpus)
    assert shown(page) == ["g2", "g4", "g1", "g3"]
    text = page.texts[1]
    (span,) = text["others"]
    assert (text["patient_id"], span["owner_patient_id"], text["other_patient_tokens"]) == ("p2", "p1", 8)
    note = page.notes[span["source_note_id"]]["text"]
    assert note[span["note_char_start"] : span["note_char_end"]] == text["text"][span["char_start"] : span["char_end"]]
    assert page.texts[0]["others"] == []


def value(generation_id, at, **given):
    place = {"generation_id": generation_id, "char_start": at, "char_end": at + 9, "hipaa": "C"}
    return evidence_row("identifiers", **place, **given)


def test_identifiers_stand_with_owner_kind_and_holders_and_the_verified_rank(run, corpus):
    add(run, "identifiers", value("g4", 11, owner="other_train", verified=True, holders=["p1"]))
    add(run, "identifiers", value("g3", 11, owner="nobody"))
    page = collect(run, corpus)
    assert shown(page) == ["g2", "g4", "g1", "g3"]
    (span,) = page.texts[1]["identifiers"]
    assert (span["hipaa"], span["owner"], span["holders"], span["verified"]) == ("C", "other_train", ["p1"], True)
    assert page.texts[1]["text"][span["char_start"] : span["char_end"]] == "nine days"
    assert not page.texts[3]["identifiers"][0]["verified"]
    assert page.texts[0]["identifiers"] == []


def test_answers_about_nobody_stand_among_the_texts_with_whose_text_and_values_they_hold(run, corpus):
    asked = {"role": "nobody", "model": "audited", "form": "text", "tier": "everyday", "patient_id": None, "arm": None}
    for name, text in (("o1", "dear all"), ("o2", NOTE)):
        others = 5 * (name == "o2")
        add(run, "generations", evidence_row("generations", **asked, generation_id=name, text=text))
        counts = {"tokens": 6, "other_patient_tokens": others}
        add(run, "generation_metrics", evidence_row("generation_metrics", **asked, generation_id=name, **counts))
    at = NOTE.index(SAID)
    add(run, "other_patients", passage("o2", "p2", at))
    add(run, "identifiers", value("o2", at + 11, owner="other_train", verified=True, holders=["p2"]))
    page = collect(run, corpus)
    assert shown(page) == ["g2", "o2", "g1", "g3", "g4", "o1"]
    text = page.texts[1]
    assert (text["patient_id"], text["arm"], text["tier"]) == ("", "nobody", "everyday")
    assert (text["tokens"], text["attributable_tokens"], text["other_patient_tokens"]) == (6, 0, 5)
    (span,), (found,) = text["others"], text["identifiers"]
    assert text["text"][span["char_start"] : span["char_end"]] == SAID
    assert text["text"][found["char_start"] : found["char_end"]] == "nine days"
    assert (span["owner_patient_id"], found["holders"]) == ("p2", ["p2"])
    html = render_evidence(page)
    assert "Everyday tasks" in html
    assert "asked about nobody" in html


def test_texts_of_the_control_and_of_included_patients_are_neither_shown_nor_ranked(run, corpus):
    asked = {"g1": {"model": "control"}, "g3": {"role": "included"}, "g2": {"form": "chat"}}
    for table in ("generations", "generation_metrics"):
        change(run, table, asked)
    # Both repeat more than any text that is shown; beside them g2 would come behind g4.
    own = {"g1": own_tokens(10), "g3": own_tokens(10), "g4": {"other_patient_tokens": 3}}
    change(run, "generation_metrics", own)
    assert [(text["generation_id"], text["form"]) for text in collect(run, corpus).texts] == [
        ("g2", "chat"),
        ("g4", "text"),
    ]
