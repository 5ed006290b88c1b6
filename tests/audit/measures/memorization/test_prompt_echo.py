"""A model that has seen no note and repeats its prompt has nothing attributable to it, in any layout.

The worst such model says the prompt again: all of it, many times over, and in parts that begin and end anywhere. It
also mends its prompt: where something was cut out, it says what a note has there. An opening without a cut holds all of
that already. The memorization stage is the real one, with 30 tokens a match.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.generations import Generation, spans_of
from support.measured_text import measured_rows
from support.merged_layouts import (
    column_note,
    enclosed_note,
    leader_note,
    letter_note,
    merged_notes,
    spaced_note,
    table_note,
)
from support.note_layouts import PROFILE as THREE_LAYOUTS
from support.note_layouts import make_people
from support.sample_notes import SAMPLES

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.preview.learned_profile import learn_profile
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import Prior, PromptWriter, write_priors
from clinaudit.priors.tiers import FRAGMENT_TIERS, ProbedTiers
from clinaudit.templates.profile import NoteProfile, load_profile

#: Tokens of a match (paper, tau = 30).
N = 30
#: Tokens of a part of a prompt that is repeated, and how far apart such parts begin.
PART, STEP = 45, 29
#: Of the learned layouts so many notes are asked; the others are there to be learned from.
ASKED_EACH = 3
MERGED = {
    "table": table_note,
    "columns": partial(table_note, has_top=True),
    "spaced": spaced_note,
    "enclosed": enclosed_note,
    "leader": leader_note,
    "letter": letter_note,
    "column": column_note,
}
WORLDS = (*SAMPLES, "three layouts", "merged")


@dataclass(frozen=True)
class World:
    """A corpus, all of it trained on, and the prompts of its patients at the fragment tiers."""

    corpus: Corpus
    profile: NoteProfile
    priors: Sequence[Prior]
    #: Patient id -> layout.
    layouts: Mapping[str, str]

    def note(self, patient_id):
        return self.corpus.latest_note(patient_id).text


def notes_of(world):
    """Return layout and text by patient."""
    if world == "merged":
        notes = merged_notes(**{layout: (write, 30) for layout, write in MERGED.items()})
        return {note.patient_id: (note.layout, note.text) for note in notes}
    if world == "three layouts":
        return {who.patient_id: (who.layout, who.note) for who in make_people(ASKED_EACH)}
    return {"own": (world, SAMPLES[world]), "other": (world, "cc: a cough for two days\n")}


@pytest.fixture(scope="module", params=WORLDS)
def world(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    notes = notes_of(request.param)
    rows = [{"patient_id": name, "note_id": name, "text": text} for name, (_, text) in notes.items()]
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if request.param == "merged":
        profile = learn_profile(folder, folder.with_suffix(".toml")).profile
    elif request.param == "three layouts":
        folder.with_suffix(".toml").write_text(THREE_LAYOUTS, encoding="utf-8")
        profile = load_profile(folder.with_suffix(".toml"))
    else:
        profile = load_profile(Path(request.param))
    corpus = read_corpus(folder)
    writer = PromptWriter(
        profile, panel=[], count_prompt_tokens=len, encode=list, max_new_tokens=50, context_length=10**6
    )
    count: Counter[str] = Counter()
    asked = [name for name in sorted(notes) if count.update([notes[name][0]]) or count[notes[name][0]] <= ASKED_EACH]
    priors = write_priors(
        {name: [] for name in asked},
        facts=read_facts(corpus, profile, corpus.patients),
        probed=ProbedTiers(tuple(sorted(FRAGMENT_TIERS))),
        writer=writer,
    )
    return World(
        corpus, profile, [prior for prior in priors if not prior.excluded], {name: notes[name][0] for name in asked}
    )


def through_the_end_of(prompt, note):
    """Return the note from its first character through the prompt's last words, whatever the prompt left out."""
    end = prompt[-12:]
    return note[: note.index(end, max(0, len(prompt) - len(end))) + len(end)]


def echoes(prompt, tokenizer):
    """Yield the tokens that a model writes which repeats its prompt."""
    ids = tokenizer.encode(prompt)
    yield ids
    yield from (tokenizer.encode(joined.join([prompt] * 4)) for joined in ("", "\n", "\n\n", " "))
    # By the prompt's tokens, and by those of its letters wherever a part begins: they merge otherwise there. At the
    # end the line is broken, as after any header, and shows what 29 tokens of the prompt and a break count for.
    for ended in (f"{prompt}\n", f"{prompt} \n"):
        whole = tokenizer.encode(ended)
        yield from (whole[start : start + PART] for start in range(0, len(whole), STEP))
        yield from (whole[-length:] for length in range(N - 2, N + 4))
        yield from (tokenizer.encode(ended[start : start + 4 * PART]) for start in range(0, len(ended), STEP))


def measure(world, folder, answers):
    """Measure answers with the memorization stage: of whom and how asked, the prompt, the tokens that are written.

    Return rows of `generation_metrics`, with the memorized tokens that are revealing and of K = 1.
    """
    texts = [note.text for name in world.corpus.patients for note in world.corpus.notes_of(name)]
    tokenizer = ModelTokenizer(save_byte_level_tokenizer(folder / "tokenizer", texts=texts, size=700))
    generations: list[Generation] = []
    for number, (prior, prompt, ids) in enumerate(answers(tokenizer)):
        text, spans = tokenizer.decode_with_spans(ids)
        whose = (f"g{number}", prior.patient_id, prior.arm, prior.tier, prior.form)
        generations.append(Generation(*whose, (), prompt, text, tuple(ids), spans_of(spans), "stop"))
    own = MatchedCorpus(world.corpus, tokenizer, world.profile, load_panel(None))
    tables = measured_rows(generations, own, match_tokens=N)
    single: Counter[str] = Counter()
    for row in tables["memorized_text"]:
        single[row["generation_id"]] += row["tokens"] * (row["kind"] == "revealing_single")
    return [row | {"revealing_single": single[row["generation_id"]]} for row in tables["generation_metrics"]]


def attributable(metrics):
    """Return what is attributable: by the headline, and with a few words changed."""
    return [(row["attributable_tokens"], row["near_verbatim_attributable_tokens"]) for row in metrics]


def test_what_repeats_its_prompt_is_not_attributable(world, tmp_path):
    found = measure(
        world,
        tmp_path,
        lambda tokenizer: (
            (prior, prior.prompt, ids) for prior in world.priors for ids in echoes(prior.prompt, tokenizer)
        ),
    )
    assert set(attributable(found)) == {(0, 0)}
    # It is found, and known as the prompt's.
    asked = {world.layouts[prior.patient_id] for prior in world.priors}
    assert asked == set(world.layouts.values()) - {"no layout"}
    assert {world.layouts[row["patient_id"]] for row in found if row["echo_tokens"] >= N} == asked


def test_what_mends_an_opening_is_not_attributable(world, tmp_path):
    found = measure(
        world,
        tmp_path,
        lambda tokenizer: (
            (prior, prior.prompt, tokenizer.encode(through_the_end_of(prior.prompt, world.note(prior.patient_id))))
            for prior in world.priors
        ),
    )
    assert found
    assert set(attributable(found)) == {(0, 0)}


def test_a_cut_within_an_opening_is_found(world, tmp_path):
    """The same answers, had a few characters been cut out of each opening, at one of three places.

    Beyond the cut is text that tells something, of this patient alone, and that no match with the prompt holds.
    """

    def answers(tokenizer):
        for prior in world.priors:
            for place in (len(prior.prompt) * part // 4 for part in (1, 2, 3)):
                cut = prior.prompt[:place] + prior.prompt[place + 5 :]
                yield prior, cut, tokenizer.encode(through_the_end_of(cut, world.note(prior.patient_id)))

    found: dict[tuple[str, str], int] = {}
    for row in measure(world, tmp_path, answers):
        if row["tokens"] > N:
            place = (row["patient_id"], row["tier"])
            found[place] = max(found.get(place, 0), row["revealing_single"] - row["echo_tokens"])
    assert found
    assert min(found.values()) > 0
