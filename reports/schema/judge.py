"""What a judge can say of a text, and whose labelled texts it was scored on."""

from typing import Literal, get_args

#: What a text can say of a diagnosis; the order of every matrix's rows and columns.
VerdictClass = Literal["positive", "negative", "ambiguous", "not_mentioned"]
VERDICT_CLASSES: tuple[VerdictClass, ...] = get_args(VerdictClass)
#: A verdict, or that there is none.
Outcome = Literal["negative", "not_mentioned", "ambiguous", "positive", "unjudged"]
#: `shipped`: the synthetic texts of this project; `site`: labelled texts that the site supplied.
LabelSource = Literal["shipped", "site"]
