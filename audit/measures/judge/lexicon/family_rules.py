"""The rules for an experiencer other than the patient: a relative or a partner (docs/methods.md, section 5).

Owns the words that turn a clause back to the patient. Knows nothing of the other rules.
"""

from clinaudit.audit.measures.judge.lexicon.context import KIN, NO_FAMILY_HISTORY, SectionKind
from clinaudit.audit.measures.judge.lexicon.rule import ANSWERS, Rule

_OF_HIS = (
    r"(?:(?:his|her|their|the|a|an|my|your|pt'?s|patient'?s)\s+)?"
    r"(?:(?:maternal|paternal|biological|older|younger|late|adult)\s+){0,2}"
)
# Words that turn a clause back to the patient after it named a relative.
_BACK_TO_PATIENT = (
    r"\b(?:patient|pt|personally|personal)\b|(?:,|\band|\bbut|\bthat|\bwho|\bso|\bwhile|\bwhen)\s+(?:s?he"
    r"|they|i)\b"
    r"|,\s*(?:has|is|reports|presents|with)\b"
    r"|\band\s+(?:has|is|takes|reports)\b|\bs?he(?:'s| is| has| was)\b|\b(?:reports?|states?|says?|notes?"
    r"|noticed|describes?|concern(?:ed|s)?"
    r"|worried|brings|brought|denies|accompanied)\b|\b(?:his|her|their)\s+own\b"
    # British notes on one line: "FH nil PMH depression".
    r"|\b(?:pmhx?|dhx?|o/e|h?pc|mse|imp)\b"
)
#: In order; they stand within `RULES`.
FAMILY_RULES: tuple[Rule, ...] = (
    Rule(
        "family_section",
        "ambiguous",
        section=SectionKind.FAMILY,
        unless_before=r"\b(?:patient|pt|personal(?:ly)?|pmhx?|dhx?|o/e|h?pc|mse|imp)\b",
    ),
    # Who tells of a family history is not who has it ("patient reports a family history of"): only what stands after it
    # turns back to the patient.
    Rule(
        "family_history",
        "ambiguous",
        before=r"(?:\b(?:family|fam|familial)\.?\s+(?:(?:psychiatric|psych|medical|mental health)\s+)?(?:history|hx"
        rf"|h/o)\b|\bf(?:am)?hx?\b|\bf/h\b|\bfam hx\b)(?!.*(?:{_BACK_TO_PATIENT}))",
        # "FHx - nil, depression since 2010".
        unless_before=rf"\bpersonal\b|(?:\b(?:family|fam) (?:history|hx)|\bf/?hx?)\b[\s:–-]*{NO_FAMILY_HISTORY}[,;]"
        r"\s*+(?!except|apart|other than|but)",
    ),
    Rule(
        "family_has",
        "ambiguous",
        before=r"\bfamily\b[^.,]{0,20}\b(?:with|has|have|had)\b",
        unless_before=rf"(?:{_BACK_TO_PATIENT})",
    ),
    Rule(
        "family_holder",
        "ambiguous",
        before=rf"\b{KIN}(?:'s|’s)?\b(?!.*(?:{_BACK_TO_PATIENT}))(?:\s+side)?,?\s*(?:\(\w[\w ]{{0,20}}\)\s*)?"
        rf"(?:[:\-–(]|(?:\w+\s+){{0,2}}?(?:has|had|have|having|with|w/|was|were|is|are|suffer\w*|struggl\w*|diagnosed|dx"
        rf"|history|hx|h/o|positive|\+|takes?|took|taking|on|died|also|both|who|got|using|uses|contracted"
        rf"|recently)(?!\w))(?!.*\b(?:lives?|living)\b)[^.]{{0,120}}$",
        unless_before=r"\b(?:lives|living|stay\w*|relationship|visit\w*|moved|works?) (?:at home )?with [^.]{0,40}$",
    ),
    # "Partner HIV positive": the two stand side by side, unless the relative only brought or reported it.
    Rule(
        "family_bare",
        "ambiguous",
        before=rf"\b{KIN}\s+$",
        unless_before=rf"\b(?:with|by|per|from|to|of|for|via|and|live\w*|living)\s+(?:[\w']+\s+){{0,2}}{KIN}\s+$",
    ),
    # "Sister underwent an abortion": the relative's own, unless he or she was only with the patient.
    Rule(
        "family_verb",
        "ambiguous",
        before=rf"\b{KIN}\s+(?:(?:also|once|recently|previously|later|then)\s+)?(?:underwent|undergoing|developed"
        r"|experienc(?:es|ed|ing)|received|contracted|acquired|battl(?:es|ed|ing)|needed|sought)\s+(?:[\w-]+\s+){0,3}$",
        unless_before=rf"{_BACK_TO_PATIENT}|\b(?:with|by|per|from|to|of|for|via|and|live\w*|living)"
        rf"\s+(?:[\w']+\s+){{0,2}}{KIN}\s",
    ),
    # "Lives with brother who is bipolar": only words of having a disease may stand between.
    Rule(
        "family_who",
        "ambiguous",
        before=rf"\b{KIN},?\s+who(?:'s|’s)?(?:\s+(?:is|are|was|were|has|have|had|also|been|being|suffer(?:s|ed)?|struggl(?:es|ed)"
        r"|lives?|living|takes?|diagnosed|treated|hospitali[sz]ed|with|from|for|on|an?|the|severe|mild|chronic|untreated"
        r"|known|recently|now|history|hx|of|both|underwent|tested|positive))+\s+$",
    ),
    Rule("family_possessive", "ambiguous", before=rf"\b{KIN}(?:'s|’s|s')\s+(?:\w+\s+){{0,2}}$"),
    Rule(
        "family_after",
        "ambiguous",
        after=rf"(?:\s+(?:and|or)\s+\w+)?\s*(?:\b(?:in|of|for|by)\s+{_OF_HIS}|[(\-–:]\s*{_OF_HIS}|\s(?:in|on)\s+(?:his"
        rf"|her|the|their|both)\s+){KIN}\b(?!\s+(?:reports?|states?|concern))",
    ),
    Rule(
        "family_answer",
        "ambiguous",
        after=rf"{ANSWERS}(?:yes|y|present|positive)(?:\s+(?:in|for)\s+|\s*\(\s*){_OF_HIS}{KIN}\s*(?:$|[,.;)\n])",
    ),
    Rule(
        "family_partner",
        "ambiguous",
        after=r"[-\s]+(?:(?:positive|infected)\s+)?(?:partner|spouse|husband|wife|boyfriend|girlfriend)\b",
    ),
    Rule("family_runs", "ambiguous", after=r"[^.;\n]{0,20}\bruns? in (?:the|his|her|their) family"),
)
