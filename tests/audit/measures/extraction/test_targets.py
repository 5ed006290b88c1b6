"""What follows an opening, window by window, against a search that looks at every note anew."""

import random
from dataclasses import replace

import polars as pl
import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.first_window_twin import first_window
from support.patient_facts import PROFILE, corpus_of
from support.repeating_notes import QUIET, plan

from clinaudit.audit.measures import extraction
from clinaudit.audit.measures.extraction import find_openings
from clinaudit.audit.measures.generation.stage import make_prompt_writer, plan_prompts
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers

#: Tokens of a window: a token is a word or a part of it.
N = 6
STOCK = (
    "the cough began on Monday and is worse at night. ",
    "no fever was noted at home, and sleep is poor. ",
    "{name} denies chest pain, and walks every day. ",
    "the left knee clicks when stairs are climbed. ",
    "Patient was advised to return if symptoms worsen. ",
)
PEOPLE = ("Ada Lund", "Ola Berg", "Ida Holm", "Eva Dahl", "Mia Vik", "Una Moe", "Kai Ruud")


def note_of(name: str, rng: random.Random, own: str) -> str:
    said = [rng.choice(STOCK).format(name=name) for _ in range(rng.randrange(1, 5))]
    said.insert(rng.randrange(len(said) + 1), own)
    ending = rng.choice(["\n", "\r\n"])
    born = f"02/03/19{rng.randrange(40, 99)}"
    head = f"patient: {name}\ndob: {born}\nvisit date: 05/01/2024\nprovider: Jo Ek, MD\n"
    head += "location: Elm Clinic\nCC: cough\n"
    return (head + f"hpi: {''.join(said)}\nplan: rest and fluids, {own}\n").replace("\n", ending)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = random.Random(5)
    rows, patients = [], "patient_id,split\n"
    for at, name in enumerate(PEOPLE):
        patients += f"p{at},{'nontrain' if at > 4 else 'train'}\n"
        for visit in range(2):
            seen = rng.choice(["a fox", "two owls", "a red kite"])
            text = note_of(name, rng, "" if at == 3 else f"{name.split()[0]} saw {seen} on the way. ")
            visited = {"note_id": f"p{at}-{visit}", "visit_date": f"2024-0{visit + 1}-03"}
            rows.append({"patient_id": f"p{at}", "text": text, **visited})
    return corpus_of(tmp_path_factory.mktemp("corpus"), rows, patients)


@pytest.fixture(scope="module")
def tokenizer(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    texts = [note.text for patient in corpus.patients for note in corpus.notes_of(patient)]
    return ModelTokenizer(save_byte_level_tokenizer(tmp_path_factory.mktemp("words"), texts=texts, size=420))


def openings_of(corpus: Corpus, tokenizer: ModelTokenizer, *, most: int = 1000) -> tuple[pl.DataFrame, pl.DataFrame]:
    facts = read_facts(corpus, PROFILE, corpus.patients)
    decoding = plan(corpus, tokenizer)[1]
    priors = plan_prompts(
        dict.fromkeys(corpus.patients, ()),
        facts=facts,
        probed=ProbedTiers(("public", "encounter", "encounter_cc", "encounter_cc_hpi")),
        writer=make_prompt_writer(PROFILE, panel=(), decoding=replace(decoding, max_new_tokens=most)),
    )
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    return find_openings(priors, facts, notes, match_tokens=N, progress=QUIET), priors


@pytest.mark.parametrize(("first_windows", "most"), [(1, 1000), (8, 1000), (8, N), (8, N - 1)])
def test_the_first_window_that_counts(
    corpus: Corpus, tokenizer: ModelTokenizer, monkeypatch: pytest.MonkeyPatch, first_windows: int, most: int
) -> None:
    monkeypatch.setattr(extraction, "_FIRST_WINDOWS", first_windows)
    openings, priors = openings_of(corpus, tokenizer, most=most)
    asked = {
        (row["patient_id"], row["tier"]): row
        for row in priors.filter(pl.col("tier") != "public", "unbroken", ~pl.col("excluded")).iter_rows(named=True)
    }
    assert openings.select("patient_id", "tier").rows() == list(asked)
    # They count as those who are asked do, whoever else is scored.
    assert set(openings["role"]) == {"target"}
    assert set(openings["tier"]) == {"encounter", "encounter_cc", "encounter_cc_hpi"}
    expected = [first_window(prior, corpus, tokenizer, n=N) for prior in asked.values()]
    assert openings.select("token_start", "token_end").rows() == expected
    assert openings["token_end"].has_nulls()
    assert (openings["token_end"] > openings["token_start"] + N + 8).any() is (most == 1000), "some windows count late"
