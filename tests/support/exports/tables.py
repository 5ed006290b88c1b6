"""The invented hospital as MIMIC-IV-Note, as OMOP CDM 5.4 and as a table of a site's own, by their public formats."""

import csv
import gzip
import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl
from support.exports.hospital import PEOPLE, VISITS, Visit

Rows = Iterable[Sequence[object]]
_MIMIC_HEADS = {
    "note/discharge": "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text",
    "note/radiology": "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text",
    "hosp/patients": "subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod",
    "hosp/admissions": "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admit_provider_id,"
    "admission_location,discharge_location,insurance,language,marital_status,race,edregtime,edouttime,"
    "hospital_expire_flag",
    "hosp/diagnoses_icd": "subject_id,hadm_id,seq_num,icd_code,icd_version",
}


#: Ages in 2021; the second patient's note is of 2020.
_ANCHOR_AGES = {"10001": 51, "10002": 35, "10003": 31}


def csv_text(head: str, rows: Rows, *, delimiter: str = ",") -> str:
    """Return a CSV with a header."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n", delimiter=delimiter)
    table.writerow(head.split(","))
    table.writerows(rows)
    return out.getvalue()


def _mimic_type(visit: Visit) -> str:
    return "RR" if visit.identifier == "502" else "DS"


def mimic_rows() -> dict[str, list[list[object]]]:
    """Return the rows of the five tables; the second note is a radiologist's."""
    notes = [
        [f"{one.patient}-{_mimic_type(one)}-{one.identifier}", one.patient, "2" + one.identifier, _mimic_type(one), 1,
         f"{one.day} 00:00:00", f"{one.day} 09:30:00", one.text]
        for one in VISITS
    ]  # fmt: skip
    return {
        "note/discharge": [row for row in notes if row[3] == "DS"],
        "note/radiology": [row for row in notes if row[3] == "RR"],
        "hosp/patients": [
            [one.identifier, one.sex[0].upper(), _ANCHOR_AGES[one.identifier], 2021, "2017 - 2019", ""]
            for one in PEOPLE
        ],
        "hosp/admissions": [
            [one.identifier, f"2{number}", f"20{year}-01-01 07:00:00", f"20{year}-01-02 07:00:00", "", "EW EMER.", "P1",
             "EMERGENCY ROOM", "HOME", "Medicare", "English", status, one.race.upper(), "", "", 0]
            for number, one in enumerate(PEOPLE)
            for year, status in ((19, "WIDOWED"), (20, one.marital_status.upper()))
        ],
        "hosp/diagnoses_icd": [
            [one.identifier, f"2{one.identifier}", 1, one.icd10.replace(".", ""), 10] for one in PEOPLE
        ],
    }  # fmt: skip


def write_mimic(folder: Path, rows: dict[str, list[list[object]]] | None = None) -> Path:
    """Write the folders note/ and hosp/ with their compressed tables."""
    for name, table in (rows or mimic_rows()).items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(csv_text(_MIMIC_HEADS[name], table).encode(), mtime=0))
    return folder


_OMOP_HEADS = {
    "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,birth_datetime,race_concept_id,"
    "ethnicity_concept_id,location_id,provider_id,care_site_id,person_source_value",
    "note": "note_id,person_id,note_date,note_datetime,note_type_concept_id,note_class_concept_id,note_title,note_text,"
    "encoding_concept_id,language_concept_id,provider_id,visit_occurrence_id",
    "provider": "provider_id,provider_name,npi",
    "care_site": "care_site_id,care_site_name,place_of_service_concept_id",
    "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date,provider_id,care_site_id",
    "condition_occurrence": "condition_occurrence_id,person_id,condition_concept_id,condition_start_date,"
    "condition_source_value,condition_source_concept_id",
    "concept": "concept_id,concept_name,domain_id,vocabulary_id,concept_class_id,standard_concept,concept_code",
    "concept_ancestor": "ancestor_concept_id,descendant_concept_id,min_levels_of_separation,max_levels_of_separation",
}
_GENDERS, _RACES = {"male": 8507, "female": 8532}, {"White": 8527, "Asian": 8515}


def omop_rows() -> dict[str, list[list[object]]]:
    """Return the rows of the tables; the first patient's depression is a descendant of a concept of the panel."""
    return {
        "person": [
            [one.identifier, _GENDERS[one.sex], one.born.year, one.born.month, one.born.day, "", _RACES[one.race], 0,
             "", "", "", f"MRN{one.identifier}"]
            for one in PEOPLE
        ],
        "note": [
            [one.identifier, one.patient, one.day, f"{one.day} 10:00:00", 32831, 706391, "Progress note", one.text,
             32678, 4180186, "NULL" if one.identifier == "501" else 71, f"9{one.identifier}"]
            for one in VISITS
        ],
        "provider": [[71, "Dr. Ida Quist", "1234567893"]],
        "care_site": [[81, "Riverside Clinic", 0]],
        "visit_occurrence": [[f"9{one.identifier}", one.patient, 9202, one.day, 71, 81] for one in VISITS]
        + [[99999, "10003", 9202, "2019-01-01", 71, 81]],
        "condition_occurrence": [
            [1, "10001", 4999, "2021-03-04", "F32.1", 0],
            [2, "10002", 439727, "2020-01-02", "B20", 35205781],
            [3, "10003", 320128, "2019-01-01", "I10", 35207668],
        ],
        "concept": [
            [439727, "Human immunodeficiency virus infection", "Condition", "SNOMED", "Disorder", "S", "86406008"],
            [35205781, 'HIV "disease"', "Condition", "ICD10CM", "3-char billing code", "", "B20"],
            [35207668, "Essential hypertension", "Condition", "ICD10CM", "3-char billing code", "", "I10"],
            [320128, "Essential hypertension", "Condition", "SNOMED", "Disorder", "S", "59621000"],
            [440383, "Depressive disorder", "Condition", "SNOMED", "Disorder", "S", "35489007"],
            [4999, "Moderate depression", "Condition", "SNOMED", "Disorder", "S", "310496002"],
            [45, "F30-F39 block", "Condition", "ICD10CM", "ICD10 SubChapter", "", "F30-F39"],
        ],
        "concept_ancestor": [[440383, 4999, 1, 1], [440383, 440383, 0, 0], [439727, 439727, 0, 0]],
    }  # fmt: skip


def write_omop(folder: Path, rows: dict[str, list[list[object]]] | None = None, *, parquet: bool = False) -> Path:
    """Write the tables, the vocabulary tab-separated as Athena exports it; names in capitals, as SQL Server has them.

    With `parquet` the notes are Parquet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (rows or omop_rows()).items():
        head = _OMOP_HEADS[name]
        if parquet and name == "note":
            columns = {
                column: [None if row[place] == "" else row[place] for row in table]
                for place, column in enumerate(head.split(","))
            }
            pl.DataFrame(columns, strict=False).write_parquet(folder / f"{name}.parquet")
        elif name.startswith("concept"):
            lines = ["\t".join(map(str, row)) for row in (head.split(","), *table)]
            (folder / f"{name.upper()}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            (folder / f"{name.upper()}.csv").write_text(csv_text(head.upper(), table), encoding="utf-8")
    return folder


OWN_HEAD = "MRN,Note ID,Visit,Sex,Born,Note,ICD"
_COLUMNS = """
[columns]
patient_id = "mrn"
note_id = "Note ID"
visit_date = "Visit"
sex = "Sex"
dob = "Born"
text = "Note"

[diagnoses]
codes = "ICD"
system = "icd10"
"""
OWN_MAP = f"""
delimiter = ";"
encoding = "cp1252"
blank = ["NULL"]
{_COLUMNS}separator = "|"

[formats]
visit_date = "%d/%m/%Y"
dob = "%d/%m/%Y"
"""
EXCEL_MAP = f'sheet = "Notes"\n{_COLUMNS}'
#: What Windows-1252 lacks.
_REPLACED = "😀"


def own_rows() -> list[list[str]]:
    """Return one row a note; the patient's sex stands in the first of its rows alone."""
    people = {one.identifier: one for one in PEOPLE}
    seen: set[str] = set()
    rows = []
    for one in VISITS:
        person = people[one.patient]
        sex = "NULL" if one.patient in seen else person.sex[0].upper()
        seen.add(one.patient)
        born, day = person.born.strftime("%d/%m/%Y"), one.day.strftime("%d/%m/%Y")
        rows.append([one.patient, one.identifier, day, sex, born, one.text, f"{person.icd10}|I10"])
    return rows


def write_own_csv(path: Path, rows: Rows | None = None) -> Path:
    """Write the table as a British spreadsheet would: semicolons, Windows-1252, days first."""
    text = csv_text(OWN_HEAD, rows or own_rows(), delimiter=";").replace(_REPLACED, "…")
    path.write_bytes(text.encode("cp1252"))
    return path


def write_excel(path: Path, sheets: dict[str, Sequence[Sequence[object]]]) -> Path:
    """Write a workbook by ECMA-376: texts in the shared strings, numbers and dates (style 1) as numbers."""
    strings: dict[str, int] = {}

    def cell(place: str, value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return f'<c r="{place}" t="s"><v>{strings.setdefault(value, len(strings))}</v></c>'
        if hasattr(value, "toordinal"):
            return f'<c r="{place}" s="1"><v>{value.toordinal() - 693594}</v></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, rows in enumerate(sheets.values(), start=1):
            lines = []
            for at, row in enumerate(rows, start=1):
                cells = "".join(cell(f"{'ABCDEFGH'[place]}{at}", value) for place, value in enumerate(row))
                lines.append(f'<row r="{at}">{cells}</row>')
            body = f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{number}.xml", body)
        names = "".join(
            f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>' for at, name in enumerate(sheets, start=1)
        )
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_R}"><sheets>{names}</sheets></workbook>'
        )
        shared = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in strings)
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{_MAIN}">{shared}</sst>')
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        )
        links = "".join(
            f'<Relationship Id="rId{at}" Type="{_R}/worksheet" Target="worksheets/sheet{at}.xml"/>'
            for at in range(1, len(sheets) + 1)
        )
        others = "".join(
            f'<Relationship Id="rIdx{name}" Type="{_R}/{name}" Target="{name}.xml"/>'
            for name in ("sharedStrings", "styles")
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_REL}">{links}{others}</Relationships>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_REL}">'
            f'<Relationship Id="rId1" Type="{_R}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr("[Content_Types].xml", _TYPES)
    return path


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_REL = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>'
)


def write_own_excel(path: Path) -> Path:
    """Write the table as a workbook of two sheets: ids as numbers, dates as dates."""
    people = {one.identifier: one for one in PEOPLE}
    rows = [
        [int(one.patient), int(one.identifier), one.day, people[one.patient].sex, people[one.patient].born, one.text,
         people[one.patient].icd10]
        for one in VISITS
    ]  # fmt: skip
    return write_excel(path, {"Read me": [["made on a Monday"]], "Notes": [OWN_HEAD.split(","), *rows]})
