"""Text copied but for a few edits: what of it counts as attributable, beyond what a policy allows."""

import json
import random
from collections import Counter

import pytest
from support.aci_bench import ACI_BENCH
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.measured_text import estimates_of, measured_rows
from support.memorization_twin import Twin
from support.near_verbatim_twin import NearTwin
from support.random_corpora import random_corpus
from support.random_tables import read_drawn
from support.simulations import in_blocks
from support.written_corpus import answer_of, write_corpus

from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, concatenate_sequences
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

PROFILE = load_profile()
NEAR = "near_verbatim_attributable_fraction"


#: Words of one token each for a tokenizer that was trained on them.
WORDS = sorted({"".join(random.Random(seed).choices("bdfgklmnprst", k=4)) for seed in range(200)})


_SYSTEMS = ["chest pain", "palpitations", "wheezing", "nausea", "vomiting", "dizziness", "rash", "fever", "chills"]
#: Boilerplate, in words of one token each, too.
LINE = "ros:\n" + "".join(f"negative for {', '.join(_SYSTEMS[k:] + _SYSTEMS[:k])}\n" for k in range(9))


def words_of(seed, count):
    """Words in an order of one's own, in sentences."""
    words = random.Random(seed).choices(WORDS, k=count)
    return "hpi: " + " ".join(word + "." if place % 12 == 11 else word for place, word in enumerate(words))


def edit_words(text, *, every=15):
    """The text with every so many-th word another one."""
    words = text.split(" ")
    return " ".join("otherwise" if place % every == every - 1 else word for place, word in enumerate(words))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Words are mostly one token each, as they are for a model of today."""
    texts = [edit_words(words_of(seed, 400)) for seed in range(30)]
    texts += [f"{LINE} besides {LINE.replace('fever', 'ague')}"]
    if ACI_BENCH.is_dir():
        texts += [json.loads(line)["text"] for line in (ACI_BENCH / "notes.jsonl").read_text().splitlines()]
    return ModelTokenizer(save_byte_level_tokenizer(tmp_path_factory.mktemp("words"), texts=texts, size=12_000))


def measure(corpus, tokenizer, texts, *, prompt="", arm="train"):
    generations = [
        answer_of(tokenizer, patient, text, name=patient, arm=arm, tier="encounter", prompt=prompt)
        for patient, text in texts.items()
    ]
    return measured_rows(generations, MatchedCorpus(corpus, tokenizer, PROFILE), match_tokens=30)


def row_of(metric, found):
    (row,) = estimates_of(found, match_tokens=30).rows(metric)
    return row


def share_of(metric, found):
    return row_of(metric, found).value


def near_of(found):
    """The share with near matches; it is never below the headline."""
    near = share_of(NEAR, found)
    assert share_of("attributable_fraction", found) <= near
    return near


def test_boilerplate_with_edits_is_nobodys(tmp_path, tokenizer):
    # In one patient's note alone: nobody else's K tells that it is boilerplate.
    corpus = write_corpus(tmp_path / "corpus", {"p": [LINE], "r": [words_of(1, 400)]})
    edited = LINE.replace("fever", "ague")
    generated, note = (concatenate_sequences([tokenizer.encode(text)]) for text in (edited, LINE))
    near = find_near_matches(generated, note, match_tokens=30)
    assert near.covered_tokens(0, length=len(generated.ids)).sum() > 60
    summary = measure(corpus, tokenizer, {"p": edited})
    # Its LINE ends are part of no rule's span.
    line_ends = LINE.count("\n") / len(generated.ids)
    assert near_of(summary) <= line_ends


def test_an_echo_of_the_prompt_with_edits_is_no_leak(tmp_path, tokenizer):
    note = words_of(0, 400)
    corpus = write_corpus(tmp_path / "corpus", {"p": [note], "r": [words_of(1, 400)]})
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt="Patient note:\n")) > 0.75
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt=note)) == 0
    # As nearly as the note itself: the prompt with other words changed.
    words = note.split(" ")
    words[7::40] = ["besides"] * len(words[7::40])
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt=" ".join(words))) < 0.1


@pytest.fixture(scope="module")
def small_tokenizer(tokenizer_directory):
    return ModelTokenizer(tokenizer_directory)


@pytest.mark.parametrize("block", [range(20), *in_blocks(80, each=40)])
def test_random_corpora_equal_the_twin(small_tokenizer, tmp_path, block):
    """Copies of notes edited token by token, notes of several readings, shared, nested and periodic."""
    census: Counter[str] = Counter()
    reader, tokenizer = NoteReader(PROFILE, clinical_terms(load_panel())), small_tokenizer
    for seed in block:
        rng = random.Random(seed)
        n = rng.choice([10, 10, 12, 15, 20])
        corpus = random_corpus(rng, tokenizer)
        generations = []
        for number, drawn in enumerate(corpus.generations):
            ids = [*drawn.ids, *tokenizer.encode(rng.choice(corpus.patients[drawn.patient]))][:120]
            for _ in range(rng.randint(0, 1 + len(ids) // 8)):
                place = rng.randrange(len(ids)) if ids else 0
                ids[place : place + rng.randint(0, 1)] = rng.choices(ids or [1], k=rng.randint(0, 1))
            arm: Arm = "train" if corpus.train[drawn.patient] else "nontrain"
            prompt = rng.choice(corpus.patients[drawn.patient]) if rng.random() < 0.3 else drawn.prompt
            generations.append(answer_of(tokenizer, f"p{drawn.patient}", ids, name=str(number), arm=arm, prompt=prompt))
        notes = MatchedCorpus(read_drawn(corpus, tmp_path / str(seed)), small_tokenizer, PROFILE)
        rows = measured_rows(generations, notes, match_tokens=n)["generation_metrics"]
        near_tokens = {
            row["generation_id"]: row["near_verbatim_attributable_tokens"] - row["attributable_tokens"] for row in rows
        }
        for generation in generations:
            patient = int(generation.patient_id[1:])
            people = [own for own, train in zip(corpus.patients, corpus.train, strict=True) if train]
            people += [] if corpus.train[patient] else [corpus.patients[patient]]
            twin = NearTwin(Twin(tokenizer, corpus.patients[patient], n), people, reader)
            wanted, echoed = twin.tokens(generation.token_ids, generation.prompt or "")
            assert near_tokens[generation.generation_id] == len(wanted), seed
            census["added"] += len(wanted)
            census["echoed"] += len(echoed)
            census["with carriage returns"] += bool(wanted) and any("\r" in note for note in corpus.patients[patient])
            census["never seen"] += bool(wanted) and not corpus.train[patient]
    assert {kind for kind, count in census.items() if count} == {
        "added",
        "echoed",
        "with carriage returns",
        "never seen",
    }
