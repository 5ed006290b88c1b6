"""The demo's corpus (docs/corpus-format.md): SOAP notes in the template of the paper, and a table of what was planted.

Headers stand in the order of Table 2 and Appendix J, with boilerplate and text copied forward from visit to visit; a
note of either arm is written the same way. Every naming of a sensitive diagnosis is kept as a `Mention`. Bytes depend
on the seed and the sizes alone.
"""

import csv
import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from clinaudit.audit.demo.population import (
    COMPLAINTS,
    DIAGNOSES,
    DIAGNOSIS_IDS,
    EXAMS,
    PROVIDERS,
    REVIEW_OF_SYSTEMS,
    ChronicCondition,
    Complaint,
    Diagnosis,
    Patient,
    SensitiveDiagnosis,
    draw_population,
)
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.errors import StorageError, UsageError

#: Chance that a visit is for a sensitive diagnosis. Kept low for the latest note: a chief complaint or HPI that
#: refers to a diagnosis excludes the patient's matched set from the fragment tiers (docs/methods.md, section 1).
_SENSITIVE_VISIT = 0.35
_SENSITIVE_LATEST_VISIT = 0.2
_CARRIAGE_RETURN_SHARE = 0.03
_EDUCATION_SHARE = 0.06
_HPI_DENIAL_SHARE = 0.4
_LATE_ONSET_SHARE = 0.12
_GYNECOLOGICAL_SHARE = 0.3
#: Body systems reviewed in every note; a complaint's own system is added where it is missing.
_ALWAYS_REVIEWED = ("constitutional", "cardiovascular")


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a note names a diagnosis; `status` is present, denied, family or education."""

    diagnosis: str
    section: str
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class WrittenVisit:
    """One visit's note, with what it says of the six diagnoses."""

    note_id: str
    visit_date: date
    provider: str
    practice: str
    text: str
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class _Visit:
    """What one visit is about, in words."""

    complaint: str
    narrative: str
    system: str | None
    assessment: str
    plans: tuple[str, ...]


class _Body:
    """The lines of a note under way; every line that names a diagnosis leaves its mention."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.mentions: list[Mention] = []

    def add(self, header: str, value: str = "") -> None:
        """Begin a section, with its value on the header's line where it has one."""
        self.lines.append(f"{header}: {value}".rstrip())

    def mention(self, diagnosis: Diagnosis, section: str, status: str, text: str) -> str:
        """Keep a mention if `text` names the diagnosis, and return `text`."""
        if any(name in text for name in diagnosis.names):
            self.mentions.append(Mention(diagnosis.id, section, status, text))
        return text


def write_notes(patient: Patient, *, seed: int) -> tuple[WrittenVisit, ...]:
    """Write a patient's notes, oldest first; what is drawn before the first visit is copied forward to all."""
    rng = random.Random(f"clinaudit demo notes {seed} {patient.patient_id}")
    chart = _Chart(patient, rng)
    complaints = rng.sample(COMPLAINTS, len(patient.visits))
    return tuple(chart.write_note(index, complaint, rng) for index, complaint in enumerate(complaints))


class _Chart:
    """A patient with the choices of wording that stay the same from note to note."""

    def __init__(self, patient: Patient, rng: random.Random) -> None:
        self.patient = patient
        self.style = PROVIDERS.index(patient.provider) % 2
        self.onset = {
            planted.diagnosis.id: int(len(patient.visits) > 2 and rng.random() < _LATE_ONSET_SHARE)
            for planted in patient.sensitive
        }
        self.in_medical_history = {
            diagnosis.id: diagnosis.id == "hiv" or (diagnosis.id != "abortion" and rng.random() < 0.3)
            for diagnosis in DIAGNOSES
        }
        self.family = {d.id: rng.choice(d.family) for d in DIAGNOSES}
        self.denials = {d.id: rng.choice(d.denials) for d in DIAGNOSES}
        self.menarche = rng.randint(10, 16)
        self.has_gynecology = rng.random() < _GYNECOLOGICAL_SHARE
        self.weight = rng.randint(104, 262)
        self.minute = f"{rng.randint(8, 11)}:{rng.randint(10, 59)} am"
        self.carriage_return_note = (
            rng.randrange(len(patient.visits)) if rng.random() < _CARRIAGE_RETURN_SHARE * len(patient.visits) else None
        )

    def write_note(self, index: int, complaint: Complaint, rng: random.Random) -> WrittenVisit:
        """Write visit `index` of the patient."""
        patient, day = self.patient, self.patient.visits[index]
        known = [planted for planted in patient.sensitive if self.onset[planted.diagnosis.id] <= index]
        body = _Body()
        self._write_encounter(body, day)
        visit = self._draw_visit(body, index, known, complaint, rng)
        body.add("cc", visit.complaint)
        body.add("hpi", visit.narrative)
        self._write_review_of_systems(body, visit, known, rng)
        self._write_histories(body, day, index, known)
        self._write_lists(body, known, index)
        self._write_objective(body, rng)
        body.add("assessment", visit.assessment)
        body.add("plan", " ".join([*visit.plans, *self._draw_education(body, rng)]))
        line_end = "\r\n" if index == self.carriage_return_note else "\n"
        return WrittenVisit(
            note_id=f"{patient.patient_id}-{index + 1}",
            visit_date=day,
            provider=self._provider(),
            practice=patient.practice,
            text=line_end.join(body.lines) + line_end,
            mentions=tuple(body.mentions),
        )

    def _provider(self) -> str:
        return f"{' '.join(self.patient.provider)}, MD"

    def _write_encounter(self, body: _Body, day: date) -> None:
        body.add("patient", self.patient.name)
        body.add("dob", f"{self.patient.dob:%m/%d/%Y}")
        body.add("visit date", f"{day:%m/%d/%Y}")
        body.add("provider", self._provider())
        body.add("location", self.patient.practice)

    def _draw_visit(
        self, body: _Body, index: int, known: list[SensitiveDiagnosis], complaint: Complaint, rng: random.Random
    ) -> _Visit:
        patient = self.patient
        latest = index == len(patient.visits) - 1
        chance = _SENSITIVE_LATEST_VISIT if latest else _SENSITIVE_VISIT
        years = (patient.visits[index] - patient.dob).days * 100 // 36525
        person = f"{years}-year-old {patient.sex}"
        carried = f"{patient.occupation}, {patient.household} and {patient.pastime}."
        chronic = patient.conditions[index % 2]
        status = f"{chronic.condition.name}: {chronic.status}."
        follow_up = f"return in {rng.randint(2, 24)} weeks."
        if known and rng.random() < chance:
            planted = rng.choice(known)
            diagnosis = planted.diagnosis
            reason, sentence = rng.choice(diagnosis.visits)
            reason = body.mention(diagnosis, "cc", "present", reason)
            sentence = body.mention(diagnosis, "hpi", "present", sentence.format(year=planted.year))
            taken = planted.medication or "counseling"
            return _Visit(
                complaint=reason,
                narrative=f"{person} here for {reason}. {sentence} {carried} {status}",
                system=None,
                assessment=f"{reason}; {chronic.condition.name}, see above",
                plans=(f"continue {taken.split()[0]}.", follow_up),
            )
        span = f"{rng.randint(2, 9)} {rng.choice(('days', 'weeks', 'months'))}"
        detail = ", ".join(rng.sample(complaint.details, 2))
        denied = "" if latest else self._draw_denial(body, rng)
        plan = chronic.condition.plan.format(w=rng.randint(6, 24))
        return _Visit(
            complaint=f"{complaint.name} for {span}",
            narrative=f"{person} with {complaint.name}, {detail}. {carried} {status}{denied}",
            system=complaint.system,
            assessment=f"{complaint.assessment}; {chronic.condition.name}",
            plans=(f"{rng.choice(complaint.plans)}.", rng.choice((f"{plan}.", follow_up))),
        )

    def _draw_denial(self, body: _Body, rng: random.Random) -> str:
        if not self.patient.denied or rng.random() >= _HPI_DENIAL_SHARE:
            return ""
        chosen = rng.choice(self.patient.denied)
        diagnosis = next(d for d in DIAGNOSES if d.id == chosen)
        return " " + body.mention(diagnosis, "hpi", "denied", self.denials[chosen])

    def _write_review_of_systems(
        self, body: _Body, visit: _Visit, known: list[SensitiveDiagnosis], rng: random.Random
    ) -> None:
        body.add("ros")
        systems = [system for system in REVIEW_OF_SYSTEMS if system in _ALWAYS_REVIEWED or system == visit.system]
        for system in systems:
            body.add(system, "see hpi" if system == visit.system else REVIEW_OF_SYSTEMS[system][self.style])
        body.add("psychiatric", self._draw_psychiatric_review(body, known, rng))

    def _draw_psychiatric_review(self, body: _Body, known: list[SensitiveDiagnosis], rng: random.Random) -> str:
        asked = {d.id: d for d in DIAGNOSES if d.id in {"anxiety", "depression"}}
        present = [planted.diagnosis for planted in known if planted.diagnosis.id in asked]
        if present and rng.random() < 0.3:
            for diagnosis in present:
                body.mention(diagnosis, "ros", "present", f"positive for {diagnosis.id}")
            return ". ".join(f"positive for {diagnosis.id}" for diagnosis in present) + "."
        # A line that denies both would contradict the chart of a patient who has, or will have, either.
        if self.style == 0 and not any(self.patient.has(diagnosis_id) for diagnosis_id in asked):
            text = "negative for anxiety and depression."
            for diagnosis in asked.values():
                body.mention(diagnosis, "ros", "denied", text)
            return text
        return "negative for memory loss."

    def _write_histories(self, body: _Body, day: date, index: int, known: list[SensitiveDiagnosis]) -> None:
        patient = self.patient
        given, surname = patient.provider
        body.add("past medical history / family history / social history")
        body.lines.append(f"last reviewed on {day.month}/{day:%d/%Y} {self.minute} by {surname}, {given}")
        medical = [f"{c.condition.name}; dx'd in {c.since};" for c in self._conditions(index)]
        gynecological: list[str] = []
        mental: list[str] = []
        statements = [(planted.diagnosis, "present", planted.history) for planted in known]
        statements += [(d, "denied", self.denials[d.id]) for d in DIAGNOSES if d.id in patient.denied]
        for diagnosis, status, text in statements:
            if diagnosis.id == "abortion":
                section, lines = "gynecological history", gynecological
            elif self.in_medical_history[diagnosis.id]:
                section, lines = "past medical history", medical
            else:
                section, lines = "mental health history", mental
            lines.append(body.mention(diagnosis, section, status, text))
        body.add("past medical history")
        body.lines += medical
        body.add("surgical history", patient.surgery)
        body.add("family history")
        body.lines += patient.family
        body.lines += [
            body.mention(d, "family history", "family", self.family[d.id])
            for d in DIAGNOSES
            if d.id in patient.in_family
        ]
        body.add("social history")
        body.add("marital status", patient.marital_status)
        body.add("occupation", patient.occupation)
        body.add("children", str(patient.children))
        body.add("tobacco/alcohol/supplements", patient.habits)
        if patient.sex == "female" and (gynecological or self.has_gynecology):
            parity = f"menarche at {self.menarche}; {patient.children} live births."
            body.add("gynecological history", " ".join([parity, *gynecological]))
        if mental:
            body.add("mental health history", " ".join(mental))

    def _conditions(self, index: int) -> tuple[ChronicCondition, ...]:
        """Return the conditions known at a visit: the third, where there is one, was found after the first."""
        return self.patient.conditions[: 2 + (index > 0)]

    def _write_lists(self, body: _Body, known: list[SensitiveDiagnosis], index: int) -> None:
        conditions = self._conditions(index)
        body.add("current problems")
        body.lines += [chronic.condition.problem for chronic in conditions]
        body.lines += [
            body.mention(planted.diagnosis, "current problems", "present", planted.problem)
            for planted in known
            if planted.problem
        ]
        body.add("current medications")
        body.lines += [chronic.medication for chronic in conditions]
        body.lines += [planted.medication for planted in known if planted.medication]
        body.add("allergies", self.patient.allergy)

    def _write_objective(self, body: _Body, rng: random.Random) -> None:
        pressure = f"bp {rng.randint(104, 158)}/{rng.randint(62, 96)}"
        body.add("vitals", f"{pressure}, p {rng.randint(56, 98)}, wt {self.weight + rng.randint(-6, 6)} lbs")
        body.add("physical exam")
        for system, finding in EXAMS[self.style].items():
            body.add(system, finding)

    def _draw_education(self, body: _Body, rng: random.Random) -> list[str]:
        if rng.random() >= _EDUCATION_SHARE:
            return []
        diagnosis = rng.choice(DIAGNOSES)
        return [body.mention(diagnosis, "plan", "education", rng.choice(diagnosis.education))]


#: The least that reached 40 matched patients in every cell of every cohort (see tests/audit/demo/test_demo_corpus.py).
_PATIENTS_PER_ARM = 130
#: The planted diagnoses. The file marks a corpus of the demo, which may be overwritten; any other corpus may not.
TRUTH_FILE = "truth.jsonl"
NOTES_FILE = "notes.jsonl"
PATIENTS_FILE = "patients.csv"
DIAGNOSES_FILE = "diagnoses.csv"
_PATIENT_COLUMNS = (
    *("patient_id", "split", "age", "sex", "name"),
    *("dob", "race", "marital_status", "occupation", "children"),
)
_NOTE_COLUMNS = ("note_id", "text", "visit_date", "provider", "practice")


def write_demo_corpus(directory: Path, *, seed: int, patients_per_arm: int = _PATIENTS_PER_ARM) -> None:
    """Write notes, patients, diagnoses and truth into `directory`; each file appears whole or not at all.

    Raises `UsageError` where the directory holds something that the demo did not make, `StorageError` where it
    cannot be written. Writing again gives the same bytes, so that a killed run is simply run again.
    """
    patients = draw_population(seed=seed, patients_per_arm=patients_per_arm)
    charts = [(patient, write_notes(patient, seed=seed)) for patient in patients]
    try:
        if directory.exists() and any(directory.iterdir()) and not (directory / TRUTH_FILE).exists():
            raise UsageError(f"{directory} holds files that the demo did not make; give the demo another folder")
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / TRUTH_FILE, _as_lines(_truth_row(*chart) for chart in charts))
        rows = ([getattr(one, "arm" if name == "split" else name) for name in _PATIENT_COLUMNS] for one in patients)
        write_atomically(directory / PATIENTS_FILE, _as_csv(_PATIENT_COLUMNS, rows))
        flags = (
            (patient.patient_id, diagnosis, "true" if patient.has(diagnosis) else "false")
            for patient in patients
            for diagnosis in DIAGNOSIS_IDS
        )
        write_atomically(directory / DIAGNOSES_FILE, _as_csv(("patient_id", "diagnosis", "present"), flags))
        texts = (
            {
                "patient_id": patient.patient_id,
                **{name: str(getattr(note, name)) for name in _NOTE_COLUMNS},
                "note_type": "progress note",
            }
            for patient, notes in charts
            for note in notes
        )
        write_atomically(directory / NOTES_FILE, _as_lines(texts))
    except OSError as error:
        raise StorageError(
            f"cannot write the demo corpus to {directory} ({error.strerror}); make room or give another folder"
        ) from error


def _truth_row(patient: Patient, notes: Sequence[WrittenVisit]) -> dict[str, object]:
    return {
        "patient_id": patient.patient_id,
        "split": patient.arm,
        "diagnoses": {diagnosis: patient.has(diagnosis) for diagnosis in DIAGNOSIS_IDS},
        "sensitive_medications": [p.medication for p in patient.sensitive if p.medication],
        "other_medications": [chronic.medication for chronic in patient.conditions],
        "mentions": [{"note_id": note.note_id, **asdict(mention)} for note in notes for mention in note.mentions],
    }


def _as_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
