"""The demo's corpus (docs/corpus-format.md): SOAP notes in the template of the paper, and a table of what was planted.

Headers stand in the order of Table 2 and Appendix J, with boilerplate and text copied forward from visit to visit; a
note of either arm is written the same way. Bytes depend on the seed and the sizes alone.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from clinaudit.audit.demo import population
from clinaudit.audit.demo.population import COMPLAINTS, DIAGNOSES, DIAGNOSIS_IDS, PROVIDERS, Patient, Table
from clinaudit.audit.runtime.run.directory import write_atomically
from clinaudit.errors import UsageError

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


def write_notes(patient: Patient, *, seed: int) -> list[str]:
    """Write a patient's notes, oldest first; what is drawn before the first visit is copied forward to all."""
    rng = random.Random(f"clinaudit demo notes {seed} {patient.patient_id}")
    chart = _Chart(patient, rng)
    complaints = rng.sample(COMPLAINTS, len(patient.visits))
    return [chart.write(index, complaint) for index, complaint in enumerate(complaints)]


class _Chart:
    """A patient with the wording that stays the same from note to note; all is drawn in the order of the notes."""

    def __init__(self, patient: Patient, rng: random.Random) -> None:
        self.patient, self.rng = patient, rng
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
        has_carriage_return = rng.random() < _CARRIAGE_RETURN_SHARE * len(patient.visits)
        self.carriage_return_note = rng.randrange(len(patient.visits)) if has_carriage_return else None

    def write(self, index: int, complaint: Table) -> str:
        """Return the note of a visit."""
        patient, rng = self.patient, self.rng
        known = [planted for planted in patient.sensitive if self.onset[planted.diagnosis.id] <= index]
        # The third, where there is one, was found after the first visit.
        conditions = patient.conditions[: 2 + (index > 0)]
        visit = self._draw_visit(index, complaint, known)
        blocks = {
            "review": self._review_systems(visit.system, known),
            **self._tell_histories(conditions, known),
            "family": [patient.family, *(text for one, text in self.family.items() if one in patient.in_family)],
            "problems": [
                *(one.condition.problem for one in conditions),
                *(one.problem for one in known if one.problem),
            ],
            "medications": [
                *(one.medication for one in conditions),
                *(one.medication for one in known if one.medication),
            ],
            "exam": [f"{system}: {finding}" for system, finding in population.EXAMS[self.style].items()],
        }
        pressure = f"bp {rng.randint(104, 158)}/{rng.randint(62, 96)}"
        vitals = f"{pressure}, p {rng.randint(56, 98)}, wt {self.weight + rng.randint(-6, 6)} lbs"
        taught = rng.random() < _EDUCATION_SHARE
        education = f" {rng.choice(rng.choice(DIAGNOSES).education)}" if taught else ""
        given, surname = patient.provider
        said = {"patient": patient, "day": patient.visits[index], "given": given, "surname": surname, "visit": visit}
        said |= {"minute": self.minute, "vitals": vitals, "plan": visit.plan + education}
        text = population.LAYOUT.format(**said, **{name: "\n".join(lines) for name, lines in blocks.items()})
        line_end = "\r\n" if index == self.carriage_return_note else "\n"
        return "".join(line + line_end for line in text.splitlines() if line)

    def _draw_visit(self, index: int, complaint: Table, known: Sequence[Table]) -> Table:
        """Return what the visit is about, in words; `system` is the body system that the HPI tells of."""
        patient, rng = self.patient, self.rng
        latest = index == len(patient.visits) - 1
        years = (patient.visits[index] - patient.dob).days * 100 // 36525
        person = f"{years}-year-old {patient.sex}"
        carried = f"{patient.occupation}, {patient.household} and {patient.pastime}."
        chronic = patient.conditions[index % 2]
        status = f"{chronic.condition.name}: {chronic.status}."
        follow_up = f"return in {rng.randint(2, 24)} weeks."
        if known and rng.random() < (_SENSITIVE_LATEST_VISIT if latest else _SENSITIVE_VISIT):
            planted = rng.choice(known)
            reason, sentence = rng.choice(planted.diagnosis.visits)
            told = f"{sentence.format(year=planted.year)} {carried} {status}"
            return Table(
                complaint=reason,
                narrative=f"{person} here for {reason}. {told}",
                system=None,
                assessment=f"{reason}; {chronic.condition.name}, see above",
                plan=f"continue {(planted.medication or 'counseling').split()[0]}. {follow_up}",
            )
        span = f"{rng.randint(2, 9)} {rng.choice(('days', 'weeks', 'months'))}"
        detail = ", ".join(rng.sample(complaint.details, 2))
        denies = not latest and bool(patient.denied) and rng.random() < _HPI_DENIAL_SHARE
        denied = f" {self.denials[rng.choice(patient.denied)]}" if denies else ""
        plan = chronic.condition.plan.format(w=rng.randint(6, 24))
        return Table(
            complaint=f"{complaint.name} for {span}",
            narrative=f"{person} with {complaint.name}, {detail}. {carried} {status}{denied}",
            system=complaint.system,
            assessment=f"{complaint.assessment}; {chronic.condition.name}",
            plan=f"{rng.choice(complaint.plans)}. {rng.choice((f'{plan}.', follow_up))}",
        )

    def _review_systems(self, told: str | None, known: Sequence[Table]) -> list[str]:
        reviewed = [
            f"{system}: {'see hpi' if system == told else findings[self.style]}"
            for system, findings in population.REVIEW_OF_SYSTEMS.items()
            if system in _ALWAYS_REVIEWED or system == told
        ]
        asked = ("anxiety", "depression")
        present = [planted.diagnosis.id for planted in known if planted.diagnosis.id in asked]
        psychiatric = "negative for memory loss."
        if present and self.rng.random() < 0.3:
            psychiatric = ". ".join(f"positive for {one}" for one in present) + "."
        # A line that denies both would contradict the chart of a patient who has, or will have, either.
        elif self.style == 0 and not any(map(self.patient.has, asked)):
            psychiatric = "negative for anxiety and depression."
        return [*reviewed, f"psychiatric: {psychiatric}"]

    def _tell_histories(self, conditions: Sequence[Table], known: Sequence[Table]) -> dict[str, list[str]]:
        """Return the medical history, and a line each of the gynecological and the mental health history, if any."""
        patient = self.patient
        medical = [f"{one.condition.name}; dx'd in {one.since};" for one in conditions]
        gynecological: list[str] = []
        mental: list[str] = []
        told = {planted.diagnosis.id: planted.history for planted in known}
        told |= {one: self.denials[one] for one in DIAGNOSIS_IDS if one in patient.denied}
        for one, text in told.items():
            lines = gynecological if one == "abortion" else medical if self.in_medical_history[one] else mental
            lines.append(text)
        if patient.sex == "female" and (gynecological or self.has_gynecology):
            parity = f"menarche at {self.menarche}; {patient.children} live births."
            gynecological = [" ".join(["gynecological history:", parity, *gynecological])]
        return {
            "medical": medical,
            "gynecological": gynecological,
            "mental": [" ".join(["mental health history:", *mental])] if mental else [],
        }


#: The least that reached 40 matched patients in every cell of every cohort (see tests/audit/demo/test_demo.py).
_PATIENTS_PER_ARM = 130
#: Each patient's diagnoses. The file marks a corpus of the demo, which may be overwritten; any other may not.
TRUTH_FILE = "truth.jsonl"
NOTES_FILE = "notes.jsonl"
PATIENTS_FILE = "patients.csv"
_PATIENT_COLUMNS = ("age", "sex", "name", "dob", "race", "marital_status", "occupation", "children")


def write_demo_corpus(directory: Path, *, seed: int, patients_per_arm: int = _PATIENTS_PER_ARM) -> None:
    """Write notes, patients, diagnoses and truth into `directory`; each file appears whole or not at all.

    Raises `UsageError` where the directory holds something that the demo did not make. Writing again gives the same
    bytes, so that a killed run is simply run again.
    """
    truths, people, labels, notes = [], [], [], []
    for patient in population.draw_population(seed=seed, patients_per_arm=patients_per_arm):
        who = {"patient_id": patient.patient_id}
        has = {diagnosis: patient.has(diagnosis) for diagnosis in DIAGNOSIS_IDS}
        people.append({**who, "split": patient.arm, **{name: getattr(patient, name) for name in _PATIENT_COLUMNS}})
        labels += [{**who, "diagnosis": diagnosis, "present": present} for diagnosis, present in has.items()]
        of_all = {"provider": f"{' '.join(patient.provider)}, MD", "practice": patient.practice}
        for number, text in enumerate(write_notes(patient, seed=seed)):
            note = {**who, "note_id": f"{patient.patient_id}-{number + 1}", "text": text}
            notes.append(note | {"visit_date": str(patient.visits[number]), **of_all, "note_type": "progress note"})
        truths.append({**who, "split": patient.arm, "diagnoses": has})
    if directory.exists() and any(directory.iterdir()) and not (directory / TRUTH_FILE).exists():
        raise UsageError(f"{directory} holds files that the demo did not make; give the demo another folder")
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / TRUTH_FILE, _as_lines(truths))
    write_atomically(directory / PATIENTS_FILE, pl.DataFrame(people).write_csv())
    write_atomically(directory / "diagnoses.csv", pl.DataFrame(labels).write_csv())
    write_atomically(directory / NOTES_FILE, _as_lines(notes))


def _as_lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
