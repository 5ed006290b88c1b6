"""What an audit of a corpus would cover, found without running a model, and the text that says so (`clinaudit check`).

Labels are the table's or the lexicon's, tokens are estimated from characters, and nobody is matched: matching takes
seconds and hundreds of megabytes to load. The counts are exact, for the corpus's owner alone; the text holds these and
words of the profile, nothing of a note.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.measures.cohorts.cohort import foresee_targets
from clinaudit.audit.measures.everyday.tasks import load_tasks
from clinaudit.audit.measures.judge.labels import Annotator, label_patients, labels_of_table
from clinaudit.audit.measures.judge.stage import make_judge
from clinaudit.audit.measures.population import tabulate_facts
from clinaudit.audit.preview import fit
from clinaudit.audit.preview.fit import Finding
from clinaudit.audit.runtime.cluster import LocalRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import write_lines_atomically
from clinaudit.audit.runtime.served.question import CHARS_PER_TOKEN, estimate_tokens
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import PatientFacts, identity_reader
from clinaudit.priors.fragments import FEWEST_OWN_PROMPTS, Coverage
from clinaudit.priors.prompts import Prior, PromptWriter, write_priors
from clinaudit.priors.table_agreement import Standing
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIERS, ProbedTiers
from clinaudit.reports.terminal import wrap
from clinaudit.reports.wording.escaped_text import shell_word
from clinaudit.templates.header_styles import NO_LAYOUT, named_layout
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile, load_profile
from clinaudit.templates.shown_text import find_styles, said_in

_SPLITS: Final[tuple[Split, ...]] = ("train", "nontrain")
#: No limit: the model's context is not known here.
_UNLIMITED: Final = 1 << 40
_PROMPT_COLUMNS: Final = ("patient_id", "tier", "form", "prompt", "excluded", "reason")
_DISTINGUISHING: Final = {tier.id: " or ".join(tier.distinguishing) for tier in TIERS}


@dataclass(frozen=True, slots=True)
class PromptCount:
    """The prompts of one tier; counts of patients."""

    tier: str
    #: By arm: `made`; `missed`, since the template does not find what it places in the note; `fitting`, where the
    #: prompt is the beginning of the patient's own note, and of background facts the table's row is the patient's;
    #: `own`, where no other patient is asked with the same text; `earlier`, of an earlier note than the latest.
    arms: Mapping[Split, Counter[str]]
    #: Patients without a prompt, by reason.
    excluded: Counter[str]
    #: By what else the note's beginning shows, and by the header of a section that it runs on into, since the template
    #: does not know it.
    also_shows: Counter[str]
    runs_on: Counter[str]


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found of a corpus, and what an audit would do, as far as it can be told without its model."""

    profile: NoteProfile
    facts: Mapping[str, PatientFacts]
    #: What is wrong with the template, and with the tables.
    findings: tuple[Finding, ...]
    #: What would be asked of the targets; and its counts.
    priors: Sequence[Prior]
    prompts: Sequence[PromptCount]
    #: How many patients the rules of a policy have.
    coverage: Coverage
    #: What stands under PROBLEMS in the text, an entry a problem, in that order.
    problems: tuple[str, ...]
    #: What `clinaudit check` prints.
    text: str


def survey_corpus(settings: AuditSettings, progress: Progress, *, minimum_unbroken_share: float) -> Survey:
    """Return what an audit with these settings would cover; raises as `read_corpus` and `load_profile` do.

    Of the settings those of corpus, template, tiers, panel and cohorts count; no model is looked at.
    `minimum_unbroken_share` is what a policy asks of the prompts of a tier.
    """
    profile = load_profile(settings.template)
    corpus = read_corpus(settings.corpus, stated=identity_reader(profile))
    facts = fit.read_all_facts(corpus, profile, progress, LocalRunner(settings.processes))
    panel, sensitive = load_panel(settings.diagnoses, only=settings.diagnosis), load_panel(settings.diagnoses)
    # Without the judge, which takes seconds to load, where the table tells.
    table = labels_of_table(corpus, sensitive)
    labels = table
    if labels is None:
        judge = make_judge("lexicon", settings, panel=sensitive, seed=settings.seed)
        annotator = Annotator(judge, sensitive, corpus, LocalRunner(settings.processes))
        labels = label_patients(facts, annotator, progress)[0]
    groups = {diagnosis.id: {(split, has): 0 for split in _SPLITS for has in (True, False)} for diagnosis in panel}
    for patient_id, diagnosis, present in labels.select("patient_id", "diagnosis", "present").drop_nulls().iter_rows():
        if diagnosis in groups:
            groups[diagnosis][corpus.patients[patient_id].split, present] += 1
    patients = tabulate_facts(facts.values(), corpus)
    sets, foreseen = foresee_targets(patients, labels=labels, panel=panel, settings=settings)
    targets: dict[str, list[str]] = dict(foreseen.iter_rows())
    arms = Counter(facts[patient_id].arm for patient_id in targets)
    # Without a model: tokens are estimated, and no prompt is too long.
    writer = PromptWriter(
        profile,
        panel=panel,
        count_prompt_tokens=len,
        encode=lambda text: range(estimate_tokens(text)),
        max_new_tokens=settings.max_new_tokens,
        context_length=_UNLIMITED,
    )
    priors = write_priors(targets, facts=facts, probed=ProbedTiers(settings.probed.ids), writer=writer)
    prompts = count_prompts(priors)
    places, misfits = fit.find_misfits(facts, profile)
    findings = (*misfits, *fit.find_table_misfits(facts.values()))
    unasked = (
        f"no prompt can be made at {count.tier}, which needs {_DISTINGUISHING[count.tier]}; where the notes hold it, "
        "the template must say where, and not name it in not_in_notes"
        for count in prompts
        if not count.arms["train"]["made"]
    )
    problems = (*(finding.text for finding in findings), *unasked)
    # Where there are any sets, targets and what is asked of them are about what an audit has.
    about = "about " if any(sets.values()) else ""
    said_of_problems = ["No problem was found in how template and tables fit the notes."]
    if problems:
        said_of_problems = [
            "PROBLEMS: prompts are wrong or few, and an audit may find less than the model gives away:",
            *(f"  {problem}" for problem in problems),
            "  what to do: mend table or template (docs/note-templates.md), or have a template proposed:",
            f"    clinaudit template learn {shell_word(settings.corpus)} --out ours.toml",
        ]
    blocks = (
        _corpus_lines(corpus),
        _layout_lines(places, profile),
        _table_lines(facts.values()),
        said_of_problems,
        _tier_lines(prompts, f"{about}{_pair(arms)}", minimum_unbroken_share),
        _cohort_lines(groups, sets, corpus, known={diagnosis.id for diagnosis in sensitive}),
        _work_lines(priors, settings, about),
    )
    return Survey(
        profile=profile,
        facts=facts,
        findings=findings,
        priors=priors,
        prompts=prompts,
        coverage=Coverage(
            tiers={count.tier: (count.arms["train"]["made"], count.arms["nontrain"]["made"]) for count in prompts},
            smallest_groups=None
            if table is None
            else {
                diagnosis: min(count for (split, _), count in cells.items() if arms[split])
                for diagnosis, cells in groups.items()
            },
        ),
        problems=problems,
        text="\n\n".join("\n".join(lines) for block in blocks if (lines := list(map(_wrapped, block)))) + "\n",
    )


# The corpus ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """Counts of a corpus; shared texts are compared with `\\r\\n` and `\\r` read as `\\n`."""

    #: By split: `patients`, `notes`, `dated` notes, and the patients of whom a table tells `age`, `sex`, `name`, `dob`.
    splits: Mapping[Split, Mapping[str, int]]
    #: Patients and notes of the validation split.
    validation: tuple[int, int]
    #: Distinct note texts that stand in notes of both splits.
    shared_texts: int
    #: Patients, of either split, with such a note.
    patients_with_shared_texts: int
    #: Style of a surrogate tag -> patients of whose notes some holds one.
    tagged: Mapping[str, int]


def describe_corpus(corpus: Corpus) -> CorpusDescription:
    """Count what is in a corpus."""
    splits: dict[Split, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    texts: list[tuple[bytes, str, Split]] = []
    tagged: Counter[str] = Counter()
    for patient_id, patient in corpus.patients.items():
        notes, counts, styles = corpus.notes_of(patient_id), splits[patient.split], set[str]()
        counts.update(patients=1, notes=len(notes), dated=sum(note.visit_date is not None for note in notes))
        known = {"age": patient.age, "sex": patient.sex, "name": patient.name, "dob": patient.dob or patient.birth_year}
        counts.update(fact for fact, value in known.items() if value is not None)
        for text in (normalize_newlines(note.text) for note in notes):
            # Digests: all texts together would not fit into memory.
            texts.append((hashlib.blake2b(text.encode(), digest_size=16).digest(), patient_id, patient.split))
            styles |= find_styles(text)
        tagged.update(styles)
    frame = pl.DataFrame(texts, schema={"text": pl.Binary, "patient_id": pl.String, "split": pl.String}, orient="row")
    shared = frame.filter(pl.col("split").n_unique().over("text") == 2)
    return CorpusDescription(
        splits=splits,
        validation=(len(corpus.validation), sum(len(corpus.notes_of(patient_id)) for patient_id in corpus.validation)),
        shared_texts=shared["text"].n_unique(),
        patients_with_shared_texts=shared["patient_id"].n_unique(),
        tagged=dict(sorted(tagged.items())),
    )


# Prompts -------------------------------------------------------------------------------------------------------------


def count_prompts(priors: Iterable[Prior]) -> list[PromptCount]:
    """Return the counts for each tier; of several prompts of a patient, scrubbed for diagnoses, all must fit."""
    tiers: dict[str, dict[str, list[Prior]]] = {}
    for prior in priors:
        tiers.setdefault(prior.tier, {}).setdefault(prior.patient_id, []).append(prior)
    return [_count_tier(tier, list(asked.values())) for tier, asked in tiers.items()]


def _count_tier(tier: str, patients: Sequence[Sequence[Prior]]) -> PromptCount:
    arms: dict[Split, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    count = PromptCount(tier, arms, Counter(), Counter(), Counter())
    said = [{said_in(prior.prompt) for prior in of if not prior.excluded} for of in patients]
    holders = Counter(text for texts in said for text in texts)
    for of, texts in zip(patients, said, strict=True):
        made = [prior for prior in of if not prior.excluded]
        if not made:
            arms[of[0].arm].update(missed=int(any(prior.unbroken is False for prior in of)))
            count.excluded[min(prior.reason or "" for prior in of)] += 1
            continue
        arms[made[0].arm].update(
            made=1,
            # As numbers: the first of a count is kept as it comes.
            fitting=int(all(prior.unbroken is True for prior in made)),
            own=int(all(holders[text] == 1 for text in texts)),
            earlier=int(any(prior.earlier_note for prior in made)),
        )
        count.also_shows.update({shown for prior in made for shown in prior.also_shows})
        count.runs_on.update({header for prior in made for header in prior.runs_on})
    return count


def write_prompts(path: Path, priors: Iterable[Prior]) -> None:
    """Write a line for each prompt into a file of mode 0600, which is there whole or not at all."""
    # Characters beyond ASCII are escaped: a lone surrogate of a note breaks no reader.
    rows = ({name: getattr(prior, name) for name in _PROMPT_COLUMNS} | {"fits": prior.unbroken} for prior in priors)
    write_lines_atomically(path, map(json.dumps, rows))


# The text ------------------------------------------------------------------------------------------------------------


def _wrapped(line: str) -> str:
    """Return a line in lines, those after the first indented further; a command is one, for a shell."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return line if line.lstrip().startswith("clinaudit ") else wrap(line, indent=indent)


def _corpus_lines(corpus: Corpus) -> Iterator[str]:
    about = describe_corpus(corpus)
    yield "The corpus is valid."
    for name, of in about.splits.items():
        told = ", ".join(f"{fact} {of[fact]}" for fact in ("age", "sex", "name", "dob"))
        counts = f"{of['patients']:6} patients, {of['notes']} notes ({of['dated']} dated)"
        yield f"  {name:9} {counts}; tables: {told}"
    if about.validation[0]:
        patients, notes = about.validation
        yield f"  validation {patients:5} patients, {notes} notes; described in the report, never probed"
    if about.shared_texts:
        yield (
            f"  SHARED: {about.shared_texts} note texts stand in both splits ({about.patients_with_shared_texts} "
            "patients); what the model repeats of them cannot be attributed to training"
        )
    if about.tagged:
        styles = ", ".join(f"{style} in those of {count} patients" for style, count in about.tagged.items())
        yield f"  tags of de-identification stand in the notes: {styles}; a fact that is a tag is known to nobody"
    yield from (f"  note: {warning}" for warning in (*corpus.readings, *corpus.warnings))


def _layout_lines(places: pl.DataFrame, profile: NoteProfile) -> Iterator[str]:
    yield f"Found in the patients' latest notes, by layout of the template {profile.name} (train / nontrain):"
    arms = {split: pl.col("arm") == split for split in _SPLITS}
    counts = places.group_by("layout", "place", maintain_order=True).agg(
        notes=pl.struct(is_in.sum().alias(split) for split, is_in in arms.items()),
        found=pl.struct((is_in & pl.col("is_found")).sum().alias(split) for split, is_in in arms.items()),
    )
    for layout in (*(layout.name for layout in profile.layouts), NO_LAYOUT):
        rows = counts.filter(layout=layout).rows(named=True)
        if rows:
            yield f"  {named_layout(layout)}: {_pair(rows[0]['notes'])} patients"
        if everywhere := [row["place"] for row in rows if row["found"] == row["notes"]]:
            yield f"    in every note: {', '.join(everywhere)}"
        yield from (f"    {row['place']:17} {_pair(row['found'])}" for row in rows if row["found"] != row["notes"])


def _table_lines(patients: Collection[PatientFacts]) -> Iterator[str]:
    if not (columns := fit.count_standing(patients)):
        return
    yield "The patients table beside the patients' own notes:"
    for fact, told in columns.items():
        kinds = ((Standing.DIFFERS, "differ"), (Standing.UNTOLD, "not told"))
        more = "".join(f", {told[kind]} {what}" for kind, what in kinds if told[kind])
        stands, known = told[Standing.STANDS], told.total()
        yield f"  {fact:5} {stands} of {known} values stand in the notes ({_percent(stands, known)}){more}"
    own, compared = fit.count_own_rows(patients)
    yield f"  rows that agree: {own} of {compared}"


def _tier_lines(prompts: Sequence[PromptCount], targets: str, minimum: float) -> Iterator[str]:
    yield (
        f"Patients whom an audit would probe (train / nontrain): {targets}. Those for whom a prompt can be made, by "
        "tier, and how many of these prompts fit:"
    )
    for count in prompts:
        made, own, earlier = (
            _pair({arm: of[name] for arm, of in count.arms.items()}) for name in ("made", "own", "earlier")
        )
        fits = " / ".join(_percent(of["fitting"], of["made"] + of["missed"]) for of in count.arms.values())
        said = [f"  {count.tier:17} {made:>13}  fit {fits}"]
        said += [f"shared with no other patient {own}"] if own != made else []
        said += [f"of an earlier note {earlier}"] if any(of["earlier"] for of in count.arms.values()) else []
        said += [f"also shows: {', '.join(sorted(count.also_shows)).replace('_', ' ')}"] if count.also_shows else []
        lacks = f"not found: {_DISTINGUISHING[count.tier]}"
        reasons = count.excluded.items()
        said += [f"{left} excluded: {reason.replace('no distinguishing fact', lacks)}" for reason, left in reasons]
        # Where no rule can pass or be decided: the lowest share of either arm counts.
        arms = count.arms.values()
        if not count.arms["train"]["made"]:
            said.append("CANNOT BE AUDITED")
        elif any(of["fitting"] < minimum * (of["made"] + of["missed"]) for of in arms):
            said.append(f"NO RULE CAN PASS (a policy asks for {100 * minimum:.3g}%)")
        elif count.tier in FRAGMENT_TIERS and any(of["own"] < FEWEST_OWN_PROMPTS * of["made"] for of in arms):
            said.append("CANNOT BE DECIDED (fewer than half of the prompts are one patient's own)")
        yield "; ".join(said)
        if count.runs_on:
            named = ", ".join(f"{header} {found}" for header, found in sorted(count.runs_on.items()))
            yield f"    prompts run on into: {named}; give the template these headers, or their style"
    if any(of["fitting"] < of["made"] + of["missed"] for count in prompts for of in count.arms.values()):
        yield "  whose prompts do not fit: --prompts FILE leaves them in a file (PHI), as fits: false"


def _cohort_lines(
    groups: Mapping[str, Mapping[tuple[Split, bool], int]],
    most_sets: Mapping[str, int],
    corpus: Corpus,
    *,
    known: Collection[str],
) -> Iterator[str]:
    """Yield the patients by diagnosis, split and whether they have it; and the most matched sets that there can be."""
    told = corpus.diagnosis_labels
    source = (
        "no diagnoses table: labels read off the notes with the lexicon"
        if told is None
        else "labels of the diagnoses table"
    )
    held_out = corpus.patient_ids("nontrain")
    sets = "sets of four" if held_out else "pairs (of an audit with a control model, since nobody was held out)"
    yield (
        f"Patients by diagnosis, before matching (positive / negative), and the most matched {sets} that there can be, "
        f"of which half or more stay so that age, sex and number of notes are alike; {source}:"
    )
    if unknown := sum(name not in known for _, name in told or {}):
        yield (
            f"  note: {unknown} rows name a diagnosis that is not in the built-in panel (ids are lower-case, such as "
            "hiv); without an entry in the configuration an audit will not use them"
        )
    for diagnosis, counts in groups.items():
        most = most_sets.get(diagnosis, 0)
        cells = ", ".join(f"{split} {counts[split, True]} / {counts[split, False]}" for split in _SPLITS)
        yield f"  {diagnosis:11} {cells}; matched sets: {f'at most {most}' if most else 'none'}"


def _work_lines(priors: Sequence[Prior], settings: AuditSettings, about: str) -> Iterator[str]:
    # Equal prompts are continued once, and count in the tier's first form.
    planned = {(row.patient_id, row.tier, row.prompt): row for row in reversed(priors) if not row.excluded}
    made = Counter((row.tier, row.form) for row in reversed(planned.values()))
    # The likeliest answer, and one that is drawn.
    tasks = [task.text for task in load_tasks().tasks for _ in range(2)]
    read = sum(map(estimate_tokens, [*(row.prompt for row in planned.values()), *tasks]))
    written = sum(row.max_new_tokens for row in planned.values()) + len(tasks) * settings.max_new_tokens
    by_tier = ", ".join(f"{tier} {form} {count}" for (tier, form), count in made.items())
    yield "What an audit would ask, with the default settings and no chat template:"
    yield f"  prompts to continue: {about}{made.total()} ({by_tier})"
    yield f"  everyday tasks about nobody: {len(tasks)} answers (--no-everyday leaves them out)"
    yield f"  tokens, at {CHARS_PER_TOKEN} characters a token: about {read:,} to read, at most {written:,} to write"


def _pair(arms: Mapping[Split, int]) -> str:
    return f"{arms['train']} / {arms['nontrain']}"


def _percent(part: int, whole: int) -> str:
    """Return a share in whole percents, downwards: 100% is all of them."""
    return f"{100 * part // whole}%" if whole else "-"
