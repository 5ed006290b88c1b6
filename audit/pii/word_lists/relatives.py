"""What people call those who are close to somebody, as patterns that are searched without regard to case.

Knows nothing of names: what stands beside such a word is for others to tell.
"""

from typing import Final

#: One step further than father and mother: "great-grandson", "step-sister", "godmother"; none begins a family history.
FURTHER_KIN: Final = (
    r"(?:(?:great-?){1,2}(?:aunt|uncle|niece|nephew)|(?:great-?){0,2}grand(?:child|parent|ma|pa)|(?:step-?|god)(?:child|parent)"
    r"|(?:(?:great-?){0,2}grand|step-?|god|half-?|foster\s)(?:mother|father|mom|mum|dad|son|daughter|sister|brother))"
)
#: By blood, marriage or upbringing.
KIN: Final = (
    rf"(?:{FURTHER_KIN}|(?:mother|father|sister|brother|son|daughter)(?:-in-law)?|mom|mum|dad|aunt|uncle|niece|nephew|wife"
    r"|husband|spouse|partner|cousin|parent|sibling|fianc[eé]e?)"
)
#: By choice or by care.
CLOSE: Final = r"(?:friend|neighbou?r|caregiver|carer|roommate|girlfriend|boyfriend|guardian)"
