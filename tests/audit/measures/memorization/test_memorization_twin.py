"""Matching, regions, the split, source notes, echo and K against a brute-force twin written from the definitions."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.memorization_twin import Twin, lf, patients_holding

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.patient_text import PatientText
from clinaudit.audit.measures.memorization.specificity.patient_count import SpecificityEngine, count_patients
from clinaudit.audit.measures.memorization.verbatim import attribute_generations
from clinaudit.audit.runtime.model.token_cache import TokenCache, open_token_cache
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.priors.corpus.note_texts import pack_notes
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

N = 4
ENGINES: tuple[SpecificityEngine, ...] = ("aho-corasick", "windows")
READER = NoteReader(load_profile(), clinical_terms(load_panel()))

# Short repeated words make stitched, nested and periodic regions; the rest are unicode, headers and carriage returns.
WORDS = ["a", "b", "ab", " ", "\n", "\r\n", "\r", "é", "漢", "😀", "cc: ", "plan:", "aaa", "negative for ", "."]
WORDS += ["hiv", "\u00a0", " but ", "positive ", "no ", "\n1/2/2003 ", "see hpi"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=0, max_size=30).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="module")
def cache(tokenizer, tmp_path_factory) -> Iterator[TokenCache]:
    run = RunDirectory(tmp_path_factory.mktemp("cache") / "run")
    run.create()
    with open_token_cache(run, "digest", tokenizer) as cache:
        yield cache


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    notes=st.lists(TEXTS, min_size=1, max_size=4),
    others=st.lists(st.lists(TEXTS, min_size=1, max_size=2), max_size=4),
    generated=TEXTS,
    prompt=TEXTS,
    data=st.data(),
)
def test_one_generation_equals_the_twin(tokenizer, cache, notes, others, generated, prompt, data) -> None:
    # Half the time the generation is stitched from the notes themselves, cut anywhere, so that regions are long.
    if data.draw(st.booleans()):
        parts = [data.draw(st.sampled_from(notes)) for _ in range(3)]
        cuts = [data.draw(st.integers(0, len(part))) for part in parts]
        generated = "".join(part[cut:] + part[: cut // 2] for part, cut in zip(parts, cuts, strict=True))
    ids, spans = tokenizer.encode_with_spans(generated)
    text, laid = tokenizer.decode_with_spans(ids)
    assert (text, laid) == (generated, spans)
    generation = Generation("g", "p", "train", "public", "text", (), (), prompt, text, ids, tuple(spans), "stop")
    patient = PatientText([(f"n{i}", note) for i, note in enumerate(notes)], cache, READER)
    (attributed,) = attribute_generations([generation], patient, tokenizer=tokenizer, match_tokens=N)

    twin = Twin(tokenizer, notes, N)
    assert attributed.memorized == twin.memorized(ids)
    assert attributed.echo == twin.echo(ids, prompt)
    regions = twin.regions(ids)
    assert [tuple(region.span_tokens) for region in attributed.regions] == regions
    for region, (start, end) in zip(attributed.regions, regions, strict=True):
        pieces, dropped = twin.split(ids, start, end)
        assert {tuple(piece.span_tokens) for piece in region.pieces} == pieces
        assert region.dropped_tokens == dropped
        assert region.stitched == (pieces != {(start, end)})
    people = [notes, *others]
    texts = {piece.piece.text for piece in attributed.pieces}
    counts = {engine: count_patients(texts, pack_notes(people), engine=engine) for engine in ENGINES}
    for piece in attributed.pieces:
        wanted = twin.text(ids, *piece.piece.span_tokens)
        assert piece.piece.text == wanted == lf(text[slice(*piece.span_chars)])
        holders = twin.holders(wanted)
        assert (piece.piece.note, piece.piece.copy_forward_count) == (holders[-1], len(holders))
        assert piece.piece.note_start_chars == twin.clean[holders[-1]].index(wanted)
        assert {found[wanted] for found in counts.values()} == {patients_holding(wanted, people)}
        assert [label.boilerplate for label in piece.labels] == twin.boilerplate(ids, *piece.piece.span_tokens)
        # Segments partition the piece, in characters and in tokens.
        assert "".join(text[slice(*segment.span_chars)] for segment in piece.segments) == text[slice(*piece.span_chars)]
        assert [token for segment in piece.segments for token in segment.tokens] == list(
            range(*piece.piece.span_tokens)
        )
