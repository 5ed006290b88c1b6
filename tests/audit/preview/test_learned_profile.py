"""A profile learned from a corpus gives prompts that are the notes' own openings, with a few edits by hand or none."""

import difflib
import shutil
import stat
from collections import Counter
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH
from support.patient_facts import corpus_of, note_rows, writer_of
from support.varied_notes import VariedNote, banner_notes, labelled_notes, shorthand_notes

from clinaudit.audit.commands.main import run
from clinaudit.audit.preview.learned_profile import learn_profile
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import TIERS, Fact
from clinaudit.templates.profile import load_profile

EACH = 100
LAYOUTS = {"banner": banner_notes(EACH), "labelled": labelled_notes(EACH), "shorthand": shorthand_notes(EACH)}
EVERY = [note for trio in zip(*LAYOUTS.values(), strict=True) for note in trio]
FRAGMENTS = [tier for tier in TIERS if tier.is_fragment]
#: Facts of the fragment tiers.
OPENING = {fact for tier in FRAGMENTS for fact in tier.facts}
_UNLIMITED = 1 << 40


def write_corpus(folder, notes, patients=None):
    corpus = folder / "corpus"
    corpus_of(corpus, note_rows((note.patient_id, note.text) for note in notes), patients)
    return corpus


def facts_of(corpus, profile):
    read = read_corpus(corpus)
    return read_facts(read, profile, read.patients)


def unbroken(facts, profile):
    """Return for each fragment tier for how many patients the prompt is the note's own opening."""
    writer = writer_of(profile, limit=_UNLIMITED, context=_UNLIMITED * 2)
    counts = Counter[str]()
    for known in facts.values():
        for tier in FRAGMENTS:
            (prior,) = writer.write(known, tier, (), "opening")
            is_opening = not prior.excluded and bool(prior.unbroken)
            # Not by the writer's word alone.
            assert not is_opening or known.at(tier).note.startswith(prior.prompt)
            counts[tier.id] += is_opening
    return {tier.id: counts[tier.id] for tier in FRAGMENTS}


def right(notes, facts):
    """Return for each fact of the fragment tiers for how many patients it is found as the note holds it."""
    counts = Counter[Fact]()
    for note in notes:
        for fact, field in facts[note.patient_id].in_note.items():
            value, truth = field.value.split(), note.facts.get(fact, "").split()
            # A line of prose that starts with "Plan" ends the history where headers lead their lines.
            counts[fact] += value == truth or (fact is Fact.HPI and truth[: len(value)] == value)
    return {fact: counts[fact] for fact in OPENING}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_profile_as_learned_gives_unbroken_openings(tmp_path, layout):
    notes = LAYOUTS[layout]
    corpus = write_corpus(tmp_path, notes)
    learned = learn_profile(corpus, tmp_path / "learned.toml")
    facts = facts_of(corpus, learned.profile)
    least = 0.95 * len(notes)
    assert min(unbroken(facts, learned.profile).values()) >= least
    # Nor is a fact without a place: all of each tier are found, and as the notes have them.
    assert min(right(notes, facts).values()) >= least


def foreign(note):
    """The same note with headers whose words say nothing of facts."""
    text = note.text
    for word, other in (("Presenting Problem", "Anlass"), ("History", "Anamnese"), ("Plan", "Procedere")):
        text = text.replace(f"**{word}**", f"**{other}**")
    return VariedNote(note.patient_id, text, note.facts)


def test_a_few_lines_by_hand_place_what_no_profile_has_words_for(tmp_path):
    notes = [foreign(note) for note in LAYOUTS["labelled"]]
    corpus = write_corpus(tmp_path, notes)
    out = tmp_path / "learned.toml"
    learned = learn_profile(corpus, out)
    assert right(notes, facts_of(corpus, learned.profile))[Fact.HPI] == 0
    before = out.read_text(encoding="utf-8")
    (absent,) = [line for line in before.splitlines() if line.startswith("not_in_notes") and '"hpi"' in line]
    kept = absent.replace('"chief_complaint", ', "").replace('"hpi", ', "")
    after = before.replace(
        absent, f'{kept}\nfields.chief_complaint.headers = ["Anlass"]\nfields.hpi.headers = ["Anamnese"]'
    )
    changes = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert len(changes) <= 20
    out.write_text(after, encoding="utf-8")
    profile = load_profile(out)
    facts = facts_of(corpus, profile)
    assert min(unbroken(facts, profile).values()) >= 0.95 * len(notes)
    assert min(right(notes, facts).values()) >= 0.95 * len(notes)


def test_a_lone_date_that_the_table_calls_the_birth_is_not_the_visits(tmp_path, capsys):
    births = [f"19{40 + number}-0{1 + number % 9}-1{number % 9}" for number in range(12)]
    heads = "cc: hip pain\nhpi: since spring, worse at night\nmeds: ibuprofen\nplan: rest\n"
    rows = note_rows((f"p{number}", f"Una Berg\n{born}\n\n{heads}") for number, born in enumerate(births))
    patients = "patient_id,split,dob\n" + "".join(f"p{number},train,{born}\n" for number, born in enumerate(births))
    corpus_of(tmp_path / "corpus", rows, patients)
    learn_profile(tmp_path / "corpus", tmp_path / "ours.toml")
    assert run(["check", str(tmp_path / "corpus"), "--template", str(tmp_path / "ours.toml"), "--quiet"]) == 0
    assert "dob   12 of 12 values stand in the notes" in capsys.readouterr().out


def test_an_age_of_another_day_than_the_tables_has_its_place(tmp_path, capsys):
    heads = "cc: hip pain\nhpi: since spring, worse at night\nmeds: ibuprofen\nplan: rest\n"
    rows = note_rows((f"p{number}", f"2021/03/0{1 + number % 9}  {41 + number}F\n\n{heads}") for number in range(12))
    patients = "patient_id,split,age\n" + "".join(f"p{number},train,{43 + number}\n" for number in range(12))
    corpus_of(tmp_path / "corpus", rows, patients)
    assert (
        Fact.AGE
        in learn_profile(tmp_path / "corpus", tmp_path / "ours.toml").profile.layouts[0].patterns[0].pattern.groups
    )
    assert run(["check", str(tmp_path / "corpus"), "--template", str(tmp_path / "ours.toml"), "--quiet"]) == 0
    assert "not_in_notes names age" not in capsys.readouterr().out


def test_the_command_writes_a_file_for_its_owner_alone_and_never_overwrites_one(tmp_path, capsys):
    corpus, out = write_corpus(tmp_path, EVERY), tmp_path / "ours.toml"
    assert run(["template", "learn", str(corpus), "--out", str(out)]) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    printed = capsys.readouterr().out
    assert "Read the latest note of 300 patients.\n" in printed
    assert "review it before it leaves this machine" in printed
    assert not any(note.facts[Fact.NAME] in printed for note in EVERY)
    written = out.read_bytes()
    assert run(["template", "learn", str(corpus), "--out", str(out)]) == 3
    assert "ours.toml exists, and is not overwritten" in capsys.readouterr().err
    assert out.read_bytes() == written
    # A link to nowhere is no free name.
    (tmp_path / "link.toml").symlink_to(tmp_path / "nowhere.toml")
    assert run(["template", "learn", str(corpus), "--out", str(tmp_path / "link.toml")]) == 3
    assert not (tmp_path / "nowhere.toml").exists()
    assert run(["template", "learn", str(corpus), "--out", str(tmp_path / "no" / "ours.toml")]) == 3


LABELLED = LAYOUTS["labelled"][:30]


def rewritten(write):
    return [VariedNote(note.patient_id, write(note.text.replace("\r\n", "\n")), note.facts) for note in LABELLED]


@pytest.mark.parametrize(
    ("write", "named"),
    [
        (lambda text: text.replace("\n", "\\.br\\"), r"30 notes have line breaks written as HL7 escapes (\.br\)"),
        (lambda text: text.replace("\n", "\\n"), r"30 notes have line breaks written as a literal \n"),
        (lambda text: text.replace("\n", "\\r\\n"), r"30 notes have line breaks written as a literal \n"),
        (lambda text: text.replace("\n", "&#10;"), "30 notes have line breaks written as character references (&#10;)"),
        (lambda text: text.replace("\n", " "), "30 notes have no line breaks"),
        (lambda text: text.replace("\n", "<br>"), "30 notes are <br>, or hold it"),
    ],
)
def test_what_keeps_headers_from_being_found_is_named_and_nobody_is_sent_to_write_a_profile(
    tmp_path, capsys, write, named
):
    corpus, out = write_corpus(tmp_path, rewritten(write)), tmp_path / "ours.toml"
    assert run(["template", "learn", str(corpus), "--out", str(out)]) == 3
    said = capsys.readouterr().err
    assert named in said
    assert "by hand" not in said
    assert not out.exists()
    assert run(["check", str(corpus), "--template", "soap", "--quiet"]) == 0
    assert named.replace("30 notes", "30 of 30 notes looked at") in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "write",
    [
        lambda text: "\u200b" + text.replace("\n", "\n\u200b"),
        lambda text: "\ufeff" + text.replace(": ", ":\u00a0"),
        lambda text: text.replace(" ", "\u2009"),
        lambda text: text.replace(" ", "\u3000"),
        lambda text: text.replace(" ", "\u2007").replace("\n", "\u00a0\n"),
        lambda text: text.replace("\n", "\u2028"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("e", "\u00ade"),
    ],
)
def test_blanks_breaks_and_invisible_characters_of_every_kind_hide_nothing(tmp_path, capsys, write):
    notes = rewritten(write)
    corpus, out = write_corpus(tmp_path, notes), tmp_path / "ours.toml"
    learned = learn_profile(corpus, out)
    found = facts_of(corpus, learned.profile)
    shown = {
        fact: sum(found[note.patient_id].in_note[fact].value.split() == note.facts[fact].split() for note in notes)
        for fact in OPENING
    }
    assert shown == dict.fromkeys(OPENING, 30)
    assert min(unbroken(found, learned.profile).values()) == 30
    assert run(["check", str(corpus), "--template", str(out), "--quiet"]) == 0
    assert "No problem was found in how template and tables fit the notes." in capsys.readouterr().out


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_real_visit_notes_are_learned_as_the_shipped_profile_reads_them(tmp_path):
    corpus = tmp_path / "notes alone"
    corpus.mkdir()
    shutil.copy(ACI_BENCH / "notes.jsonl", corpus)
    learned = learn_profile(corpus, tmp_path / "learned.toml")
    shipped = load_profile(Path("capitals"))
    found, own = facts_of(corpus, shipped), facts_of(corpus, learned.profile)
    counts = Counter(fact for known in own.values() for fact in {*known.in_note, *known.in_prose})
    for fact in (Fact.CHIEF_COMPLAINT, Fact.HPI, Fact.MEDICATIONS, Fact.NAME, Fact.AGE, Fact.SEX):
        # One pattern of the shipped profile, for ages in months, stands in too few notes to be proposed.
        assert counts[fact] >= sum(fact in known.in_note for known in found.values()) - 1
    assert learned.profile.layouts[0].header_styles == ("capitals",)
    assert learned.profile.headers <= shipped.headers
    # Where tables have name, age and sex, no sentence is searched for them.
    with_tables = learn_profile(ACI_BENCH, tmp_path / "with tables.toml")
    assert with_tables.profile.layouts[0].placed == {"chief_complaint", "hpi", "medications"}
    assert with_tables.profile.layouts[0].patterns == ()
