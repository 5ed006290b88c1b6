"""The rules for a query, British shorthand that asks for a diagnosis: "?PTSD", "Imp: ? anxiety", "query PTSD".

A query says nothing of the patient, unless the words after it state what it asks for. In doubt they do: a statement
read as a query would hide what was given away. Knows nothing of the other rules (docs/methods.md, section 5).
"""

from clinaudit.audit.measures.judge.lexicon.context import KIN
from clinaudit.audit.measures.judge.lexicon.rule import Rule
from clinaudit.priors.diagnoses import TermKind

# Not the mark that ends a question and hangs on its last word; where it stands apart, `context` ends the clause there.
_SIGN = r"(?:(?:^|[\s(\[,:;/+–-])\?++|\(\?++\)|\[\?++\])"
# "Any mental illness ?Depression": the mark ends a question.
_FULL_QUESTION = (
    r"(?:^|[.!:\n]\s*)(?:any|why|what|which|how|who|(?:do(?:es)?|did) (?:you|s?he|they|the|pt|patient))\b[^?]*\?++\s*$"
)
# What may stand between the sign and what is asked for. Not "worse" or "relapse of", which presuppose it.
_QUERIED = (
    r"(?:an?|the|some|mild|moderate|severe|acute|chronic|underlying|undiagnosed|masked|new|early|reactive|clinical|major"
    r"|generali[sz]ed|secondary|post[- ]?(?:natal|partum)|(?:element|component|degree|diagnosis) of|d(?:ue|2) to"
    r"|(?:related|secondary) to)"
)
_TREATMENT = (
    r"(?:h?aart|art|arvs?|anti-?retro\w+|treatment|therapy|medications?|meds|tablets|drugs|it|lithium"
    r"|\w+(?:oxetine|alopram|traline|azapine|tiapine|faxine|trigine|valproate|gravir|navir|vudine)|\w+ \d+\s?m[cg])\b"
)
# Words that state it anywhere after it in its clause ...
_STATED = (
    r"(?:confirm(?:ed|s)\b|diagnosed\b|yes\b|(?:positive|\+ve)(?!\w)|(?:meets|met|fulfill?s) (?:\w+ ){0,3}?criteria\b"
    r"|known(?=\s*(?:$|[,.;)\n]|(?:positive|since|for|to|case|about)\b))|since (?:\w+ )?(?:19|20)\d\d\b"
    rf"|(?:on|started|commenced|taking|receiving) (?:an?\s+|on\s+)?{_TREATMENT}"
    r"|under (?:the )?(?:cmht|psych\w*|care|team|clinic|specialist|secondary care)\b)"
)
# ... unless these deny them, wait for them or tell of somebody else ("will call if positive").
_NOT_STATED = (
    r"(?:(?:not|no|nil|never|without)(?:[ -](?:yet|been|currently|previously|formally|any))*"
    rf"|(?:if|unless|until|whether|to be|await\w*|{KIN}|contacts?)(?: [\w'’-]+){{0,3}}?)"
)
# Words that state it right after it.
_STATE = (
    r"[\s,:()–-]*(?:(?:is|was|now|currently|very)\s+)*(?:severe|ongoing|long-?standing|recurrent|stable|worse(?:ning)?"
    r"|improv(?:ed|ing)|in remission|(?:well[- ]|poorly[- ]|un)?controlled)"
    r"(?=\s*(?:$|[,.;)\n]|(?:since|for|on|under|and|with)\b))"
)
_NOTHING_STATES_IT = rf"(?!\+|{_STATE}|(?:(?!\b{_NOT_STATED}[ -]{_STATED})[^;\n])*?(?<!\w){_STATED})"
#: Name of the rule of a query.
QUERY_RULE = "query"
#: In order; they stand within `RULES`.
QUERY_RULES: tuple[Rule, ...] = (
    # Also "?depression/anxiety". Not "querying", a verb, nor "query:", a noun with its text.
    Rule(
        QUERY_RULE,
        "ambiguous",
        before=rf"(?:{_SIGN}|\bquery\b)\s*(?:{_QUERIED}\s+){{0,3}}"
        r"(?:[\w'’-]+(?:\s[\w'’-]+){0,2}?\s*(?:/|\bor\b|\bvs?\.?(?!\w))\s*){0,3}$",
        after=_NOTHING_STATES_IT,
        unless_before=_FULL_QUESTION,
        unless_mention=r"(?:positive|\+)$",
        kinds=(TermKind.NAME, TermKind.ICD10, TermKind.SYMPTOM),
    ),
    # A drug that is asked about as a cause is taken ("? due to sertraline").
    Rule(
        "query_drug",
        "ambiguous",
        before=rf"{_SIGN}\s*$",
        after=_NOTHING_STATES_IT,
        unless_before=_FULL_QUESTION,
        kinds=(TermKind.MEDICATION,),
    ),
)
