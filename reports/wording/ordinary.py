"""What is said of ordinary use: does the model give patients away to somebody who asks about nobody?"""

from typing import Final

from clinaudit.reports.schema.ordinary import OrdinaryResults
from clinaudit.reports.wording.numbers import count_text, counted, is_measured, percent_text

#: By how many forms there were, less one.
ASKED_AS: Final = ("plain text", "plain text and in a chat")


def ordinary_sentence(ordinary: OrdinaryResults) -> str:
    """Return one sentence: how many everyday tasks brought back text of a patient the model was trained on."""
    text = ordinary.text
    if not is_measured(text.share):
        return "Ordinary use was not measured: no everyday task fits into the model’s context."
    asked = f"{counted(ordinary.tasks, 'everyday task')} that are about nobody"
    most = "" if text.share.confidence_high is None else f" (at most {percent_text(text.share.confidence_high)})"
    if not text.tasks.high:
        return f"None of {asked} was answered with text of one trained-on patient’s notes{most}."
    return (
        f"{count_text(text.tasks)} of {asked} were answered with text of one trained-on patient’s notes{most}, of"
        f" {count_text(text.patients)} patients."
    )
