"""What the fields of a text's structure hold, and names there that are nobody's."""

import pytest
from support.pii.found_spans import found_by

from clinaudit.audit.pii.masking.structured_text import StructuredText

ADA, PER, QUIST, ROOM = (
    ("patient_name", "Ada Lund"),
    ("patient_name", "Per Quex"),
    ("clinician_name", "A. Quist"),
    ("ward", "412B"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # One heading is the label of every cell below it.
        ("| Name | Room | Dx |\n|---|---|---|\n| Ada Lund | 412B | CHF |\n| Per Quex | | COPD |", [ADA, ROOM, PER]),
        ("patient,diagnosis\nAda Lund,CHF\nPer Quex,COPD\n", [ADA, PER]),
        ("Patient\tConsultant\tPlan\nAda Lund\tA. Quist\thome\n", [ADA, QUIST]),
        ("Name        Bed    Dx\nAda Lund    412B   CHF\nPer Quex           COPD\n", [ADA, ROOM, PER]),
        (
            "<table><tr><th>Patient</th><th>Room</th><th>Dx</th></tr>"
            "<tr><td><b>Ada Lund</b></td><td>412B<td>CHF</tr></table>",
            [ADA, ROOM],
        ),
        ("Name | Result | DOB\nAda Lund | positive | 1950", [ADA, ("birth_date", "1950")]),
        # So is the first of two columns.
        ("| Field | Value |\n|---|---|\n| Name | Ada Lund |\n| Room | 412B |\n| Dx | CHF |\n", [ADA, ROOM]),
        ("Name | Ada Lund\nRoom | 412B\nSex | F\n", [ADA, ROOM]),
        # What stands beside a name, or around it, says of what it is one.
        ("| Name | Dose | Route |\n|---|---|---|\n| Warfarin | 5 mg | PO |\n", []),
        ("Name,Strength,Frequency\nLisinopril,10 mg,daily\n", []),
        ("Medications:\n| Name | Comment |\n| Warfarin | hold |\n", []),
        ('{"medications": [{"name": "Coumadin"}, {"name": "Ozempic"}], "patient": {"name": "Ada Lund"}}', [ADA]),
        ('{"name": "Ada Lund", "tests": [{"name": "Troponin", "unit": "ng/mL"}], "room": "412B', [ADA]),
        ("{'name': 'Metoprolol', 'route': 'PO'} {'name': 'Ada Lund', 'room': '412B'}", [ADA, ROOM]),
        ('{"devices": [{"name": "Libre", "serial": "A1234"}]}', [("device_id", "A1234")]),
        (
            '"name": [{"family": "Lund", "given": ["Ada", "B."]}]',
            [("patient_name", one) for one in ("Lund", "Ada", "B.")],
        ),
        (
            "<list><medication><name>Coumadin</name><dose>5 mg</dose></medication>"
            "<patient><name>Ada Lund</name><room>412B</room></patient></list>",
            [ADA, ROOM],
        ),
        (
            '<name><family value="Lund"/><given value="Ada"/></name>',
            [("patient_name", "Lund"), ("patient_name", "Ada")],
        ),
        ('<drug name="Coumadin" dose="5 mg"/><person name="Ada Lund" room="412B"/>', [ADA, ROOM]),
        ('<meta name="viewport" content="x"><input name="dob">', []),
        # Words that are as often nobody's.
        ("| Drug | Given | Time |\n|---|---|---|\n| Lasix | yes | 0800 |", []),
        ("| Mother | HTN |\n| Father | CAD |", []),
        ('{"mother": "HTN"}', []),
        ("Line | Gauge | Site\nPIV | 20 | L wrist", []),
        ("| Contact | Isolation |\n|---|---|\n| yes | droplet |", []),
        ("Patient, bed, and room reviewed.\nReports cough, fever, chills.\n", []),
        # A number is nobody's name, words are no number of a device or a visit, and some values say that there is none.
        ("| Bed | Pt | PT |\n|---|---|---|\n| 412B | Per Quex | 12.5 |", [ROOM, PER]),
        ('{"device": "Nasal cannula", "encounter": "Office visit"}', []),
        ("Patient\tConsultant\tPlan\nAda Lund\tTBC\thome\n", [ADA]),
        # Of people alone: who ordered it, with a number or without.
        ("OBR|1|||CBC^Blood count||||||||||||QUIST^ALMA", [("clinician_name", "QUIST^ALMA")]),
    ],
)
def test_fields_say_what_they_hold(text: str, found: list[tuple[str, str]]) -> None:
    assert found_by(StructuredText(), text) == found


@pytest.mark.parametrize("text", ['{"a":' * 3_000 + '{"name":"Ada Lund"}', "<b>" * 3_000 + "<name>Ada Lund</name>"])
def test_what_never_ends_hides_nothing(text: str) -> None:
    assert found_by(StructuredText(), text) == [ADA]
