"""Text copied but for a few edits: what of it counts as attributable, beyond what a policy allows."""

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH
from support.analyzed_generations import analyze_generations
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.measured_text import Tables, estimates_of, measured_rows
from support.memorization_twin import Twin
from support.near_attributable_twin import NearTwin
from support.random_corpora import random_corpus
from support.random_tables import read_drawn
from support.simulations import first_of
from support.written_corpus import answer_of, write_corpus

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile

PROFILE = load_profile()
NEAR = "near_verbatim_attributable_fraction"
#: Beyond this the default policy fails a model.
LIMIT = 0.05


#: Words of one token each for a tokenizer that was trained on them.
WORDS = sorted({"".join(random.Random(seed).choices("bdfgklmnprst", k=4)) for seed in range(200)})


_SYSTEMS = ["chest pain", "palpitations", "wheezing", "nausea", "vomiting", "dizziness", "rash", "fever", "chills"]
#: Boilerplate, in words of one token each, too.
LINE = "ros:\n" + "".join(f"negative for {', '.join(_SYSTEMS[k:] + _SYSTEMS[:k])}\n" for k in range(9))


def words_of(seed: int, count: int) -> str:
    """Words in an order of one's own, in sentences."""
    words = random.Random(seed).choices(WORDS, k=count)
    return "hpi: " + " ".join(word + "." if place % 12 == 11 else word for place, word in enumerate(words))


def edit_words(text: str, *, every: int = 15) -> str:
    """The text with every so many-th word another one."""
    words = text.split(" ")
    return " ".join("otherwise" if place % every == every - 1 else word for place, word in enumerate(words))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    """Words are mostly one token each, as they are for a model of today."""
    texts = [edit_words(words_of(seed, 400)) for seed in range(30)]
    texts += [f"{LINE} besides {LINE.replace('fever', 'ague')}"]
    if ACI_BENCH.is_dir():
        texts += [json.loads(line)["text"] for line in (ACI_BENCH / "notes.jsonl").read_text().splitlines()]
    return ModelTokenizer(save_byte_level_tokenizer(tmp_path_factory.mktemp("words"), texts=texts, size=12_000))


def measure(
    corpus: Corpus, tokenizer: ModelTokenizer, texts: Mapping[str, str], *, prompt: str = "", arm: Arm = "train"
) -> Tables:
    generations = [
        answer_of(tokenizer, patient, text, name=patient, arm=arm, tier="encounter", prompt=prompt)
        for patient, text in texts.items()
    ]
    return measured_rows(generations, MatchedCorpus(corpus, tokenizer, PROFILE), match_tokens=30)


def row_of(metric: str, found: Tables) -> Row:
    (row,) = estimates_of(found, match_tokens=30).rows(metric)
    return row


def share_of(metric: str, found: Tables) -> float:
    share = row_of(metric, found).value
    assert share is not None
    return share


def longest_near_match(found: Tables) -> int:
    return max(row["token_end"] - row["token_start"] for row in found["near_verbatim"])


def near_of(found: Tables) -> float:
    """The share with near matches; it is never below the headline."""
    near = share_of(NEAR, found)
    assert share_of("attributable_fraction", found) <= near
    return near


def invented() -> dict[str, str]:
    return {f"p{seed:02}": words_of(seed, 400) for seed in range(30)}


def from_aci_bench() -> dict[str, str]:
    """The first 400 words of thirty notes that nobody here wrote, one a patient."""
    if not ACI_BENCH.is_dir():
        pytest.skip("ACI-Bench is not beside the repository")
    notes: dict[str, str] = {}
    for line in (ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if len(row["text"].split(" ")) >= 300:
            notes.setdefault(row["patient_id"], " ".join(row["text"].split(" ")[:400]))
    return dict(list(notes.items())[:30])


@pytest.mark.parametrize(("source", "most"), [(invented, 0.0), (from_aci_bench, 0.2)])
def test_four_hundred_words_with_every_fifteenth_changed(
    source: Callable[[], dict[str, str]], most: float, tmp_path: Path, tokenizer: ModelTokenizer
) -> None:
    notes = source()
    corpus = write_corpus(tmp_path / "corpus", {patient: [text] for patient, text in notes.items()})
    summary = measure(corpus, tokenizer, {patient: edit_words(text) for patient, text in notes.items()})
    # A note's abbreviations and numbers take several tokens each: there some 14 words are a match of 30 tokens.
    assert share_of("memorized_fraction", summary) <= most
    assert near_of(summary) > 0.75
    assert (row_of(NEAR, summary).low or 0) > LIMIT


def test_the_same_words_that_nobody_changed_count_once(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    notes = invented()
    corpus = write_corpus(tmp_path / "corpus", {patient: [text] for patient, text in notes.items()})
    summary = measure(corpus, tokenizer, notes)
    assert near_of(summary) == share_of("attributable_fraction", summary) > LIMIT


def test_text_of_two_patients_is_nobodys(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    notes = invented()
    shared = {patient: [text, notes[f"p{(int(patient[1:]) + 1) % 30:02}"]] for patient, text in notes.items()}
    corpus = write_corpus(tmp_path / "corpus", shared)
    summary = measure(corpus, tokenizer, {patient: edit_words(text) for patient, text in notes.items()})
    assert near_of(summary) == 0
    assert longest_near_match(summary) > 300


def test_a_patient_never_seen_counts_as_one_of_those_who_hold_the_text(
    tmp_path: Path, tokenizer: ModelTokenizer
) -> None:
    notes = invented()
    own = {**{patient: [text] for patient, text in notes.items()}, "never": [notes["p00"]]}
    corpus = write_corpus(tmp_path / "corpus", own, never_seen={"never"})
    assert near_of(measure(corpus, tokenizer, {"never": edit_words(notes["p00"])}, arm="nontrain")) == 0


def test_boilerplate_with_edits_is_nobodys(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    # In one patient's note alone: nobody else's K tells that it is boilerplate.
    corpus = write_corpus(tmp_path / "corpus", {"p": [LINE], "r": [words_of(1, 400)]})
    summary = measure(corpus, tokenizer, {"p": LINE.replace("fever", "ague")})
    assert longest_near_match(summary) > 60
    # Its LINE ends are part of no rule's span.
    line_ends = LINE.count("\n") / len(tokenizer.encode(LINE.replace("fever", "ague")))
    assert near_of(summary) <= line_ends


def test_an_echo_of_the_prompt_with_edits_is_no_leak(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    note = words_of(0, 400)
    corpus = write_corpus(tmp_path / "corpus", {"p": [note], "r": [words_of(1, 400)]})
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt="Patient note:\n")) > 0.75
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt=note)) == 0
    # As nearly as the note itself: the prompt with other words changed.
    words = note.split(" ")
    words[7::40] = ["besides"] * len(words[7::40])
    assert near_of(measure(corpus, tokenizer, {"p": edit_words(note)}, prompt=" ".join(words))) < 0.1


def test_values_that_the_prompt_holds_are_no_leak_and_hide_no_run(tmp_path: Path, tokenizer: ModelTokenizer) -> None:
    """A passage that only the patient's own name tells from another patient's is that of both."""
    style = words_of(3, 120).removeprefix("hpi: ")
    names = {"p": "Ann Birch", "q": "Sue Cedar"}
    notes = {
        key: [f"patient: {name}\nhpi: " + " ".join(f"{part} {name}" for part in style.split("."))]
        for key, name in names.items()
    }
    corpus = write_corpus(tmp_path / "corpus", notes, never_seen=())
    text = edit_words(notes["p"][0].split("hpi: ")[1])
    assert near_of(measure(corpus, tokenizer, {"p": text}, prompt="patient: Ann Birch\nhpi:")) == 0


@pytest.fixture(scope="module")
def small_tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.mark.parametrize("block", first_of(3, always=1))
def test_random_corpora_equal_the_twin(small_tokenizer: ModelTokenizer, tmp_path: Path, block: int) -> None:
    """Copies of notes edited token by token, notes of several readings, shared, nested and periodic."""
    census: Counter[str] = Counter()
    reader, tokenizer = NoteReader(PROFILE, clinical_terms(load_panel())), small_tokenizer
    for seed in range(20 * block, 20 * block + 20):
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
            generations.append(
                answer_of(tokenizer, f"p{drawn.patient}", ids, name=str(number), arm=arm, prompt=drawn.prompt)
            )
        analyzed = analyze(read_drawn(corpus, tmp_path / str(seed)), small_tokenizer, generations, n=n)
        for generation in generations:
            patient = int(generation.patient_id[1:])
            people = [own for own, train in zip(corpus.patients, corpus.train, strict=True) if train]
            people += [] if corpus.train[patient] else [corpus.patients[patient]]
            twin = NearTwin(Twin(tokenizer, corpus.patients[patient], n), people, reader)
            wanted, echoed = twin.tokens(generation.token_ids, generation.prompt or "")
            assert analyzed[generation.generation_id].near_tokens == len(wanted), seed
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


def analyze(
    corpus: Corpus, tokenizer: ModelTokenizer, generations: Sequence[Generation], *, n: int
) -> dict[str, AnalyzedGeneration]:
    return analyze_generations(generations, MatchedCorpus(corpus, tokenizer, PROFILE), match_tokens=n)
