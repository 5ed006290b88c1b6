"""500 random corpora: other patients' text against a brute-force twin written from the definition.

The four blocks are simulations, and before them come a few corpora of the first. Every block of corpora must hold each
kind that makes the decision hard, so that agreement is never that of two empty answers.
"""

import random
from collections import Counter
from typing import NamedTuple

import pytest
from support.measured_text import measured_rows
from support.other_patients_twin import OtherPatientsTwin, counted
from support.random_corpora import Written, cut, random_corpus, walked
from support.random_tables import answers_of, read_drawn
from support.simulations import in_blocks

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.estimates import draw_pools
from clinaudit.templates.profile import load_profile

CORPORA, A_BLOCK = 500, 125
#: Those that hold the rare kinds are among them.
FEW = (*range(26), 35, 39, 47, 83, 89, 102)
PROFILE = load_profile()
SEED = 7

KINDS = (
    "tokens that count",
    "tokens of one owner that are boilerplate",
    "windows that several patients hold",
    "windows that a nontrain patient holds, too",
    "windows that the target holds in other ids",
    "windows that share a token with echo",
    "windows of notes with carriage returns",
    "sampled tokens",
    "chance tokens",
    "windows of one owner in the pools alone",
    "targets whose pools are empty",
    "runs that no single note holds",
    "nontrain targets with tokens that count",
)


class Found(NamedTuple):
    """Of one generation: the rows of evidence, and the tokens that count, in the pools and there by chance."""

    rows: list[Row]
    tokens: int
    sampled_tokens: int | None
    chance_tokens: int | None


def measure(corpus, tokenizer, folder):
    notes = MatchedCorpus(read_drawn(corpus, folder), tokenizer, PROFILE)
    tables = measured_rows(answers_of(corpus, tokenizer), notes, match_tokens=corpus.n, seed=SEED)
    rows: dict[str, list[Row]] = {}
    for row in tables["other_patients"]:
        rows.setdefault(row["generation_id"], []).append(row)
    counts = ("other_patient_tokens", "other_patient_sampled_tokens", "other_patient_chance_tokens")
    found = {
        own["generation_id"]: Found(rows.get(own["generation_id"], []), *(own[column] for column in counts))
        for own in tables["generation_metrics"]
    }
    return [found[str(number)] for number in range(len(corpus.generations))]


def pools_of(corpus, pools, target):
    """The target's pools: as many other patients of either split as the smaller one has, first in their order."""
    splits = ("train", "nontrain")
    members = {
        split: [patient for patient, train in enumerate(corpus.train) if train == (split == "train")]
        for split in splits
    }
    others = {split: [patient for patient in members[split] if patient != target] for split in splits}
    size = min(map(len, others.values()))
    ordered = {split: [members[split][place] for place in pools.drawn[split].tolist()] for split in splits}
    first, second = ([patient for patient in ordered[split] if patient != target][:size] for split in splits)
    assert len(first) == len(second) == size
    return first, second


def compare(corpus, found, tokenizer, census):
    twin = OtherPatientsTwin(tokenizer, corpus.patients, corpus.train, corpus.n)
    pools = draw_pools({"train": sum(corpus.train), "nontrain": corpus.train.count(False)}, seed=SEED)
    train = [patient for patient, is_train in enumerate(corpus.train) if is_train]
    nontrain = [patient for patient, is_train in enumerate(corpus.train) if not is_train]
    for written, text in zip(corpus.generations, found, strict=True):
        ids, target = written.ids, written.patient
        texts = twin.texts(ids, target=target, prompt=written.prompt)
        windows = twin.sole(texts, target=target, of=train, none_of=nontrain)
        pieces = twin.pieces(ids, windows)
        assert text.tokens == counted(pieces)
        assert [
            (row["owner_patient_id"], row["token_start"], row["token_end"], row["source_note_id"],
             row["note_char_start"], row["note_char_end"], row["telling_tokens"])
            for row in text.rows
        ] == [
            (f"p{owner}", first, last, f"p{owner}-{note}", start, end, len(revealing))
            for owner, first, last, note, start, end, revealing in pieces
        ]  # fmt: skip
        of_train, of_nontrain = pools_of(corpus, pools, target)
        sampled = twin.sole(texts, target=target, of=of_train, none_of=of_nontrain)
        chance = twin.sole(texts, target=target, of=of_nontrain, none_of=of_train)
        if of_train:
            assert text.sampled_tokens == counted(twin.pieces(ids, sampled))
            assert text.chance_tokens == counted(twin.pieces(ids, chance))
        else:
            assert (text.sampled_tokens, text.chance_tokens) == (None, None)

        census["tokens that count"] += text.tokens
        census["tokens of one owner that are boilerplate"] += sum(
            last - first - len(revealing) for _, first, last, *_, revealing in pieces
        )
        holders = [twin.holders(window) for _, window in texts]
        census["windows that several patients hold"] += sum(len(own - {target}) > 1 for own in holders)
        census["windows that a nontrain patient holds, too"] += sum(
            len(own & set(train)) == 1 and bool(own & set(nontrain)) and target not in own for own in holders
        )
        census["windows that the target holds in other ids"] += sum(target in own for own in holders)
        bare = twin.texts(ids, target=target, prompt=None) if written.prompt else texts
        echoed = {first for first, _ in bare} - {first for first, _ in texts}
        all_sole = twin.sole(bare, target=target, of=train, none_of=nontrain)
        census["windows that share a token with echo"] += len(echoed & {first for first, _ in all_sole})
        census["windows of notes with carriage returns"] += sum(
            all("\r" in note for note in corpus.patients[owner]) for _, owner in windows
        )
        census["sampled tokens"] += text.sampled_tokens or 0
        census["chance tokens"] += text.chance_tokens or 0
        census["windows of one owner in the pools alone"] += len(set(sampled) - set(windows))
        census["targets whose pools are empty"] += not of_train
        census["runs that no single note holds"] += len(pieces) - len(twin.runs(windows))
        census["nontrain targets with tokens that count"] += target in nontrain and text.tokens > 0


@pytest.mark.parametrize("block", [FEW, *in_blocks(CORPORA, each=A_BLOCK)])
def test_random_corpora_equal_the_twin(block, tokenizer, tmp_path):
    census: Counter[str] = Counter()
    for number in block:
        rng = random.Random(f"{number // A_BLOCK} {number % A_BLOCK}")
        corpus = random_corpus(rng, tokenizer)
        # And a way through all of one patient's notes, in an answer about any patient; the prompt may give some of it.
        target, notes = rng.randrange(len(corpus.patients)), rng.choice(corpus.patients)
        prompt = rng.choice([None, cut(rng, rng.choice(notes))])
        corpus.generations.append(Written(target, prompt, walked(rng, notes, tokenizer, corpus.n)))
        compare(corpus, measure(corpus, tokenizer, tmp_path / str(number)), tokenizer, census)
    assert not [kind for kind in KINDS if not census[kind]]
