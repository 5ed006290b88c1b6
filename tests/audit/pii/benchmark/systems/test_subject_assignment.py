"""Which entity is whose: by turns and the nearest name before it, over the text and the spans alone."""

import pytest
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.benchmark.systems.answers import assign_subjects
from clinaudit.audit.pii.taxonomy import EntitySpan

#: Marked with whose each entity is.
CASES = {
    "no name is one subject": "She is [A age|34] and lives in [A city|Ashford].",
    "nothing was found": "All is well.",
    "the nearest name before": "[A full_name|Ann Bell] is [A age|34]. [B full_name|Bob Crane] works at "
    "[B company|Norvale]. [A full_name|Ann Bell] has [A diagnosis|asthma].",
    "a first name is the person of the whole name": "[A full_name|Ann Bell] is here. [B full_name|Bob Crane] too. "
    "[A nickname|Ann] turned [A age|34].",
    "what stands before the first name is that name's": "At [A age|34], [A full_name|Ann Bell] retired.",
    "speakers without names in the text": "[PER_1]: I am [A age|34].\n[PER_2]: I live in [B city|Ashford].\n"
    "[PER_1]: I have [A diagnosis|asthma].",
    "a named speaker owns the turn, and whom a turn names owns what follows": "[A full_name|Ann Bell]: I am [A age|34]."
    "\n[B full_name|Bob Crane]: I am [B age|51].\n[A full_name|Ann Bell]: My brother [C full_name|Carl Dorn] is "
    "[C age|29].",
    "a label that opens one line alone is no speaker": "Address: [A street_address|12 Elm Road]\nAge: [A age|34]",
}


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES.keys())
def test_each_entity_goes_to_one_subject(marked) -> None:
    sample = sample_of(marked)
    spans = [EntitySpan(one.start, one.end, one.category, "test") for one in sample.entities()]
    expected = [[(one.start, one.end) for one in subject.entities] for subject in sample.subjects]
    for given in (sorted(spans), sorted(spans, reverse=True)):
        found = assign_subjects(sample.description, given)
        assert [[(span.start, span.end) for span in subject] for subject in found] == expected
