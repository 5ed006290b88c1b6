"""Samples for the page of the review: two persons, a character outside the basic plane, and markup in the text."""

from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.benchmark.sample import Sample

_FIRST = (
    "😀 [A full_name|Mae Ott], [A age|34], of [A city|Bern] asks Dr. [B full_name|Ivo Lang] <b>again</b> about her "
    "[A medical_condition*|asthma]. Her sister is also 34 and lives in Bern. She can be reached at "
    "[A phone|555-0143]; asthma runs in the family."
)
_SECOND = "[A nickname|Buddy] earns [A monthly_income*|$4,200] and pays [A monthly_expenses*|$3,900] a month."


def planted_samples() -> list[Sample]:
    first = sample_of(_FIRST, key="s1", query="Which inhaler would help? <script>alert(1)</script>")
    second = sample_of(_SECOND, key="s2", query="How much could be saved in a year?")
    long = sample_of(" ".join([_SECOND, "Nothing else was said."] * 40), key="s3", query="What is left at the end?")
    return [first, second, long]
