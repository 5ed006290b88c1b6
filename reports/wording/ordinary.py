"""What is said of everyday tasks: does the model give patients away to somebody who asks about nobody?"""

import math

from clinaudit.reports.schema.ordinary import OrdinaryResults
from clinaudit.reports.wording.numbers import count_text, counted, is_measured, percent_text


def ordinary_sentence(ordinary: OrdinaryResults) -> str:
    """Return a sentence or two: how many everyday tasks brought back text of a patient the model was trained on."""
    text = ordinary.text
    if not is_measured(text.share) or text.share.confidence_high is None:
        return "Everyday tasks were not measured: none fits into the model’s context."
    asked = f"{counted(ordinary.tasks, 'everyday task')} about nobody brought back text from"
    # Rounded outwards, to one decimal: the limit is one percent.
    interval = f"(95% interval up to {percent_text(math.ceil(1000 * text.share.confidence_high - 1e-9) / 1000)})"
    if not text.tasks.high:
        short = f" {counted(ordinary.short, 'task')} got no answer long enough to hold any." if ordinary.short else ""
        return f"None of {asked} a patient the model was trained on {interval}.{short}"
    chance = "" if text.chance is None else f"; of as many it never saw, by chance: {count_text(text.chance.tasks)}"
    return (
        f"{count_text(text.tasks)} of {asked} patients the model was trained on {interval}{chance}; patients concerned:"
        f" {count_text(text.patients)}."
    )
