"""Masked K and the echo of a prompt's facts: by hand, and against notes masked by construction."""

import random
import re

import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.evidence_frames import generation_frame
from support.measured_text import estimates_of, measured_rows
from support.runs.tables import value_of
from support.simulations import first_of
from support.slotted_notes import Atom, SlottedNote
from support.written_corpus import answer_of, write_corpus

from clinaudit.audit.measures.memorization import masked_notes, patient_specificity
from clinaudit.audit.measures.memorization.masked_notes import ValueKind
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import match_generations
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.profile import load_profile

PROFILE = load_profile()
#: Tokens of a match; a token is a letter or a few.
N = 12

#: Name, age, sex, birth, visit, of whom the first four are in the train split.
PEOPLE = {
    "green": ("Brandon Green", "46", "male", "03/04/1978", "06/13/2024"),
    "poe": ("Mary Ann Poe", "31", "female", "1993-01-02", "06/14/2024"),
    "roe": ("Rae Roe", "77", "female", "10/11/1946", "02/03/2024"),
    "doe": ("Jon T. Doe", "58", "male", "12/30/1965", "03/03/2024"),
    "lee": ("Ann Lee", "44", "female", "05/02/1980", "06/15/2024"),
}
VISITS = [{"provider": "Nan Nox, MD", "practice": "Elm Clinic"}] * 2
#: What only one patient's note says.
OWN = {
    "green": " {name} was tested for a disease of rare dogs, and {name} told nobody at home of the result.",
    "poe": " the left knee clicks when stairs are climbed.",
    "roe": " a cup of tea helps with sleep in most weeks.",
    "doe": " there is a new dog, and the cough is gone.",
    "lee": " a swim every morning keeps the back well.",
}
STYLE = " {name} is a pleasant {age}-year-old {sex} who presents today for the visit that had been planned."


def note_of(patient):
    name, age, sex, birth, visit = PEOPLE[patient]
    head = f"patient: {name}\ndob: {birth}\nage: {age}\nsex: {sex}\nvisit date: {visit}\nhpi:"
    return head + (STYLE + OWN[patient]).format(name=name, age=age, sex=sex)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    texts = [note_of(patient) for patient in PEOPLE]
    return ModelTokenizer(save_byte_level_tokenizer(tmp_path_factory.mktemp("words"), texts=texts, size=600))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    notes = {patient: [note_of(patient)] for patient in PEOPLE}
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus", notes, never_seen={"lee"}, visits=VISITS)


def measure(corpus, tokenizer, generations):
    return measured_rows(generations, MatchedCorpus(corpus, tokenizer, PROFILE), match_tokens=N)


def opening(patient):
    name, _, _, birth, visit = PEOPLE[patient]
    return f"patient: {name}\ndob: {birth}\nvisit date: {visit}\nhpi:"


def style_of(patient):
    name, age, sex, _, _ = PEOPLE[patient]
    return STYLE.format(name=name, age=age, sex=sex)


def labels_of(corpus, tokenizer, generations):
    """The labels of memorized tokens, before K is known."""
    notes, quiet = MatchedCorpus(corpus, tokenizer, PROFILE), Progress(quiet=True)
    return match_generations(generation_frame(generations), notes, match_tokens=N, progress=quiet)[1]["labels"]


def counts_of(found):
    """K and masked K of each piece."""
    return [(row["patient_count"], row["masked_patient_count"]) for row in found["regions"]]


def attributable(found):
    return [row["attributable_tokens"] for row in found["generation_metrics"]]


def test_house_style_with_the_patients_own_values_is_everyones(corpus, tokenizer):
    own = measure(corpus, tokenizer, [answer_of(tokenizer, "green", style_of("green"), prompt=opening("green"))])
    assert (counts_of(own), attributable(own)) == ([(1, 4)], [0])
    # A piece that begins within the name, and one that ends within the age.
    cut = style_of("green")[5:]
    assert counts_of(measure(corpus, tokenizer, [answer_of(tokenizer, "green", cut)])) == [(1, 4)]


def test_clinical_text_with_the_name_in_it_stays_patient_specific(corpus, tokenizer):
    told = OWN["green"].format(name="Brandon Green")
    leaked = answer_of(tokenizer, "green", told, prompt=opening("green"))
    unasked = answer_of(tokenizer, "green", told, name="h")
    found = measure(corpus, tokenizer, [leaked, unasked])
    assert counts_of(found) == [(1, 1), (1, 1)]
    # All but the two names, which the prompt gave. Without a prompt that holds it, the name was given away, too.
    names = [found.start() for found in re.finditer("Brandon Green", told)]
    given = sum(
        any(token.start < name + len("Brandon Green") and name < token.end for name in names)
        for token in leaked.token_chars
    )
    assert given >= 2
    assert attributable(found) == [len(leaked.token_ids) - given, len(leaked.token_ids)]


def test_a_model_that_learned_nothing_but_house_style(tmp_path, tokenizer):
    """Every patient never seen gets the sentence that all notes share, with the name and age of the prompt."""
    surnames = ("Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple", "Oak", "Pine", "Rowan", "Yew")
    notes, generations, train = {}, [], []
    for place, surname in enumerate(surnames):
        name, age, sex = f"Sam {surname}", str(20 + 5 * place), "male" if place % 2 else "female"
        head = f"patient: {name}\nage: {age}\nsex: {sex}\nvisit date: 01/{place + 1:02}/2024\nhpi:"
        style = STYLE.format(name=name, age=age, sex=sex)
        notes[surname] = [head + style + f" the complaint number {place}."]
        train += [surname] * (place < 8)
        arm: Arm = "train" if place < 8 else "nontrain"
        generations.append(answer_of(tokenizer, surname, style, prompt=head, arm=arm, name=surname))
    found = measure(
        write_corpus(tmp_path / "corpus", notes, never_seen=notes.keys() - train, visits=VISITS), tokenizer, generations
    )
    estimates = estimates_of(found, match_tokens=N)
    for arm in ("train", "nontrain"):
        place = {"form": "text", "tier": "public", "arm": arm}
        wanted = {"memorized_fraction": 1, "attributable_fraction": 0}
        assert {metric: value_of(estimates, metric, **place) for metric in wanted} == wanted
        assert value_of(estimates, "attributable_patients", **place) == 0
        # The paper's own tables keep K as it stands.
        assert value_of(estimates, "k_distribution", **place, by="k", part="1") == 1
    assert [(row["patient_count"], row["masked_patient_count"]) for row in found["regions"]] == [
        *[(1, 8)] * 8,
        *[(1, 9)] * 4,
    ]
    assert {row["attributable_tokens"] for row in found["generation_metrics"]} == {0}


#: Literal text; a word in braces is a value of those patients who have it.
LITERALS = (
    "cc: {dog}; ",
    "plan:\n",
    "the {cat} sat, ",
    "he is well; ",
    "\n",
    "aged {77}; ",
    "f/u in 46 days, 58 mg, 77.5 ",
    "his {46} year old ",
    "2 May; ",
)
VALUES = ("name", "age", "sex", "date", "provider", "practice")


@pytest.mark.parametrize("block", first_of(4, always=2))
def test_random_corpora_equal_notes_masked_by_construction(block, tokenizer, tmp_path, monkeypatch):
    """Half of the blocks count in many small shards, as on a cluster."""
    # Drawn patients share names, birth dates and whole notes, and are people all the same.
    monkeypatch.setattr("clinaudit.priors.corpus.corpus.find_people", lambda *_: {})
    rng = random.Random(block)
    if block % 2:
        monkeypatch.setattr(masked_notes, "PART_BYTES", 200)
        monkeypatch.setattr(patient_specificity, "SHARD_BYTES", 200)
    census = {"masked above raw": 0, "raw above masked": 0, "cut values": 0, "facts of prompts": 0}
    for number in range(12):
        people = _draw_people(rng)
        notes = {key: person[1] for key, person in people.items()}
        train = [key for key in people if rng.random() < 0.7]
        texts = {key: [note.text for note in own] for key, own in notes.items()}
        corpus = write_corpus(
            tmp_path / str(number),
            texts,
            never_seen=texts.keys() - train,
            patients={key: person[0] for key, person in people.items()},
            visits=VISITS,
        )
        generations = []
        for key, own in notes.items():
            note = rng.choice(own)
            start = rng.randrange(max(1, len(note.text) - 20))
            text = note.text[start : start + rng.randrange(20, 120)]
            prompt = " | ".join(value for _, _, value in rng.sample(note.slots(), k=min(2, len(note.slots()))))
            arm: Arm = "train" if key in train else "nontrain"
            generations.append(answer_of(tokenizer, key, text, prompt=prompt, arm=arm, name=key))
        census["facts of prompts"] += labels_of(corpus, tokenizer, generations)["told"].any()
        rows = measure(corpus, tokenizer, generations)["regions"]
        for row in rows:
            asked = row["generation_id"]
            everyone = [own for key, own in notes.items() if key in train or key == asked]
            note = notes[asked][int(row["source_note_id"].rpartition("-")[2])]
            count, masked_count = row["patient_count"], row["masked_patient_count"]
            start = note.text.index(row["text"])
            end = start + len(row["text"])
            wanted = note.masked(start, end)
            assert masked_count == sum(any(wanted in other.masked() for other in own) for own in everyone)
            assert count == sum(any(row["text"] in other.text for other in own) for own in everyone)
            census["masked above raw"] += masked_count > count
            census["raw above masked"] += masked_count < count
            census["cut values"] += any(
                span.start < start < span.end or span.start < end < span.end for span, _, _ in note.slots()
            )
    assert all(census.values()), census


def _draw_people(rng):
    """Patients whose notes share their literal text, and whose values differ, or are another's literal text."""
    shared = [[rng.choice([*LITERALS, *VALUES]) for _ in range(rng.randrange(6, 16))] for _ in range(2)]
    people: dict[str, tuple[dict[str, object], list[SlottedNote]]] = {}
    for place in range(rng.randrange(2, 6)):
        name, age = rng.choice(("Brandon Green", "Mary Ann Poe", "Rae Roe", "Cat Dog")), rng.choice((46, 58, 77))
        row: dict[str, object] = {"name": name, "sex": rng.choice(("female", "male")), "age": age, "dob": "1978-03-04"}
        ways: dict[ValueKind, list[str]] = {
            "name": [name, name.split()[0], name.upper()],
            "age": [str(age)],
            "sex": [str(row["sex"])],
            "date": ["03/04/1978", "1978-03-04"],
            "provider": ["Nan Nox, MD"],
            "practice": ["Elm  Clinic", "elm clinic"],
        }
        notes = [SlottedNote(_atoms(own, ways, rng)) for own in shared[: rng.randrange(1, 3)]]
        people[f"p{place}"] = (row, notes)
    return people


def _atoms(parts, ways, rng):
    atoms: list[Atom] = [("note; ", None)]
    for part in parts:
        kind = next((kind for kind in ways if kind == part), None)
        if kind is not None:
            before, after = rng.choice((("age ", "; "), ("", "yo; "))) if kind == "age" else ("", "; ")
            atoms += [(before, None), (rng.choice(ways[kind]), kind), (after, None)]
            continue
        before, _, rest = part.partition("{")
        word, _, after = rest.partition("}")
        known = next((kind for kind in ("name", "age") if word in ways[kind][0].lower().split()), None)
        atoms += [(before, None), (word, known), (after, None)]
    return [(text, kind) for text, kind in atoms if text]
