"""Random corpora: text of patients in answers about nobody against a brute-force twin written from the definition.

The twin of other patients' text is asked about a patient without notes. What a note is masked as has tests of its own;
here every masked note is read for every piece.
"""

import random
from collections import Counter

import polars as pl
import pytest
from support.everyday.answered_tasks import QUIET
from support.other_patients_twin import OtherPatientsTwin
from support.random_corpora import Written, random_corpus, walked
from support.random_tables import read_drawn
from support.simulations import in_blocks

from clinaudit.audit.measures.memorization.masked_notes import PLACEHOLDERS, NoteMasker, mask_text
from clinaudit.audit.measures.memorization.other_patients import ASKED, find_sole_pieces
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.statistics.estimates import draw_pools
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

PROFILE = load_profile()
SEED = 7
SPLITS = ("train", "nontrain")
Masked = dict[str, list[tuple[str, str]]]


def masked_notes(corpus):
    """Return of each patient's notes the text and the masked text."""
    masker = NoteMasker(PROFILE)
    found: Masked = {}
    for own in corpus.patients:
        read = masker.read(corpus.patients[own], corpus.notes_of(own))
        found[own] = [(note.text, mask_text(note.text, note.values)) for note in read]
    return found


def is_one_patients(piece, masked, corpus):
    """Whether exactly one patient's masked notes hold a piece, masked as its own note is."""
    owner, _, _, note, start, end, _ = piece
    text, _ = masked[f"p{owner}"][note]
    values = NoteMasker(PROFILE).read(corpus.patients[f"p{owner}"], corpus.notes_of(f"p{owner}"))[note].values
    told = mask_text(text, values, Span(start, end))
    if not told.strip("".join(PLACEHOLDERS.values()) + " \n"):
        return False
    return sum(any(told in other for _, other in own) for own in masked.values()) == 1


def compare(drawn, tokenizer, folder, census):
    asked = [
        (str(number), None, own.prompt if (own.prompt or "").strip() else "write.", text, list(own.ids))
        for number, own in enumerate(drawn.generations)
        for text, _ in [tokenizer.decode_with_spans(own.ids)]
    ]
    corpus = read_drawn(drawn, folder)
    pieces, _ = find_sole_pieces(
        pl.DataFrame(asked, schema=ASKED, orient="row"),
        pl.Series([bytes(len(own.ids)) for own in drawn.generations], dtype=pl.Binary),
        MatchedCorpus(corpus, tokenizer, PROFILE),
        match_tokens=drawn.n,
        seed=SEED,
        progress=QUIET,
    )
    counted = pieces.filter(pl.col("telling").list.len() > 0).explode("figure")
    nobody = len(drawn.patients)
    twin = OtherPatientsTwin(tokenizer, [*drawn.patients, []], drawn.train, drawn.n)
    members = {
        split: [n for n, is_train in enumerate(drawn.train) if is_train == (split == "train")] for split in SPLITS
    }
    pools = draw_pools({split: len(own) for split, own in members.items()}, seed=SEED)
    size = min(map(len, members.values()))
    of = {split: [members[split][place] for place in pools.drawn[split].tolist()][:size] for split in SPLITS}
    masked = masked_notes(corpus)
    for name, _, prompt, _, ids in asked:
        texts = twin.texts(tuple(ids), target=nobody, prompt=prompt)
        wanted = []
        for figure, one, none in (
            ("all", members["train"], members["nontrain"]),
            ("sampled", of["train"], of["nontrain"]),
            ("chance", of["nontrain"], of["train"]),
        ):
            pieces = twin.pieces(tuple(ids), twin.sole(texts, target=nobody, of=one, none_of=none))
            kept = [piece for piece in pieces if piece[-1] and is_one_patients(piece, masked, corpus)]
            census[figure] += len(kept)
            census["not alone once masked, or boilerplate"] += len(pieces) - len(kept)
            wanted += [(figure, f"p{piece[0]}", f"p{piece[0]}-{piece[3]}") for piece in kept]
        found = counted.filter(generation_id=name).select("figure", "owner_patient_id", "source_note_id")
        assert sorted(found.rows()) == sorted(wanted)


@pytest.mark.parametrize("block", [range(16), *in_blocks(40, each=40)])
def test_random_corpora_equal_the_twin(block, tokenizer, tmp_path):
    census: Counter[str] = Counter()
    for number in block:
        rng = random.Random(f"everyday {number}")
        drawn = random_corpus(rng, tokenizer)
        notes = rng.choice(drawn.patients)
        ids = walked(rng, notes, tokenizer, drawn.n)
        drawn.generations.append(Written(0, None, ids))
        compare(drawn, tokenizer, tmp_path / str(number), census)
    assert all(census[kind] for kind in ("all", "sampled", "chance", "not alone once masked, or boilerplate")), census
