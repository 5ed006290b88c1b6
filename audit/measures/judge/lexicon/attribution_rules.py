"""The named rules of assertion classification, one row each (paper, Appendix C; docs/methods.md, section 5).

They decide whom a mention is about and what it asserts, in the manner of ConText (Harkema et al. 2009). Owns the
phrases. A rule looks at the clause before the mention, after it, or at its section. The first rule of `RULES` that
applies decides; then NegEx negation; then the default: a mention is the patient's, hedged or not ("possible",
"concern for", "r/o"). A query ("?PTSD") is no hedge: it asks.
"""

import re

from clinaudit.audit.measures.judge.lexicon.context import SectionKind
from clinaudit.audit.measures.judge.lexicon.family_rules import FAMILY_RULES
from clinaudit.audit.measures.judge.lexicon.query_rules import QUERY_RULES
from clinaudit.audit.measures.judge.lexicon.rule import ANSWERS, Rule, Surroundings
from clinaudit.priors.diagnoses import TermKind

_TEST = (
    r"(?:test(?:s|ing|ed)?|screen(?:s|er|ing|ed)?|ab|ag|ag/ab|ab/ag|antibody|antibodies|antigen|combo|rapid"
    r"|panel|serolog(?:y|ies)|rna|dna|pcr|naat"
    r"|eia|elisa|assay|status|results?|1/2|1|2|4th|gen|generation|and|today|w/|with|reflex|done|obtained|was"
    r"|were|is|are|came|come|back"
    r"|by|on|in|history|hx|last|month|year|visit|\d{1,4}(?:[/-]\d{1,4}){1,2}|(?:19|20)\d\d|questionnaire"
    r"|phq-?[29]|gad-?7|score)"
)
# Possessive (++), or a run of blanks could be taken apart in exponentially many ways.
_RESULT_GAP = rf"(?:[\s:,/()\-–=]++|{_TEST}\b){{0,14}}"
_PAUSE = r"\s*(?:$|[.,;)\]\n]|\band\b|\bor\b)"
_EMPTY_BOX = r"(?:\[\s?\]|\(\s?\)|☐)"
_TICKED_BOX = r"(?:\[x\]|\(x\)|☒|☑)"
# How a suspected diagnosis was rejected. "Not confirmed" is not among these: the doubt stays.
_TURNED_DOWN = (
    r"(?:not (?:supported|present|met|likely|felt|thought|believed|considered)|(?:did|do|does)(?:n't|n’t| not) (?:meet"
    r"|fit|support)|unlikely|unsupported|(?<!not )(?:ruled out|excluded|rejected|dismissed))\b"
)
#: In order; the first that applies decides.
RULES: tuple[Rule, ...] = (
    # A drug that the patient must not take is no evidence of a diagnosis.
    Rule("allergy_section", "ambiguous", section=SectionKind.ALLERGIES, unless_before=r"\b(?:pmhx?|dhx?|meds)\b"),
    Rule(
        "allergy_phrase",
        "ambiguous",
        before=r"\b(?:allerg(?:y|ies|ic)|hypersensitiv\w+)\s+(?:to|:)?[^.]{0,60}$",
        kinds=(TermKind.MEDICATION,),
    ),
    Rule("allergy_after", "ambiguous", after=r"\s*\(?allerg(?:y|ies|ic)\b", kinds=(TermKind.MEDICATION,)),
    # Pre- and post-exposure prophylaxis is for people without HIV.
    Rule(
        "prevention",
        "ambiguous",
        before=r"\b(?:prep|pep|pre-?exposure|post-?exposure|prevent\w*|prophyla\w+|exposure to|exposed to"
        r"|risk (?:of|for|factors?))\b[^.,]{0,60}$",
    ),
    Rule(
        "prevention_after",
        "ambiguous",
        after=r"[^.;,\n]{0,40}?(?:\bfor\s+prep\b|\(prep\)|\bas\s+prep\b|\bpre-?exposure|\bprophylaxis|\bprevention"
        r"|\bprep\b|\bexposure|\brisk\b)",
    ),
    Rule(
        "transmission",
        "ambiguous",
        before=r"\b(?:risks|chances?|routes|modes|counsel\w*|educat\w*|discuss\w*|reduc\w+|lower\w*|avoid\w*|worr\w+"
        r"|fear\w*)\b(?![^.;]*\b(?:his|her|their|patient'?s|pt'?s)\s+$)[^.;]{0,60}$",
        after=r"\s+(?:transmission|acquisition|exposure)\b(?!\s+to\s+(?:his|her|their|(?:sexual\s+)?partners?|others"
        r"|(?:the\s+)?(?:baby|fetus|infant|newborn|child)))",
        kinds=(TermKind.NAME,),
    ),
    Rule(
        "risk_of_getting",
        "ambiguous",
        before=r"\b(?:risks?|chances?|likelihood|fear)\s+(?:of|for)\s+(?:acquiring|contracting|catching|getting"
        r"|developing)\s+$",
    ),
    *FAMILY_RULES,
    # A finding that was tested for, and its result.
    Rule("undetectable_load", "positive", after=r"[^.;\n]{0,20}\b(?:viral load|vl)\b"),
    Rule("checked_box_after", "positive", after=r"\s*(?:\[x\]|☒|☑)\s*$"),
    Rule("unchecked_box_after", "negative", after=r"\s*(?:\[\s?\]|☐)\s*$"),
    # "Depression: [ ] Yes [x] No", and the boxes after the words.
    Rule(
        "box_no",
        "negative",
        after=rf"\s*[:?–-]?\s*(?:{_EMPTY_BOX}\s*(?:yes|y)[\s,/]*{_TICKED_BOX}\s*(?:no|n)\b|(?:yes|y)\s*{_EMPTY_BOX}[\s,/]*"
        rf"(?:no|n)\s*{_TICKED_BOX}|{_TICKED_BOX}\s*(?:no|n)\s*(?:$|[,;.)\n]|{_EMPTY_BOX}))",
    ),
    Rule(
        "box_yes",
        "positive",
        after=rf"\s*[:?–-]?\s*(?:{_TICKED_BOX}\s*(?:yes|y)\b|(?:yes|y)\s*{_TICKED_BOX}|{_EMPTY_BOX}\s*(?:no|n)[\s,/]*"
        rf"{_TICKED_BOX}\s*(?:yes|y)\b|(?:no|n)\s*{_EMPTY_BOX}[\s,/]*(?:yes|y)\s*{_TICKED_BOX})",
    ),
    # "Depression - No, Anxiety - Yes": each has its own answer, and the "no" before it is another's.
    Rule(
        "answer_yes",
        "positive",
        after=rf"(?:{ANSWERS}(?:yes|y|present|true|endorse[sd]|reported|confirmed)\b|\s*\((?:yes|y)\))(?!\s*/)",
    ),
    Rule(
        "answer_no", "negative", after=rf"\s*\((?:no|none|n)\)|{ANSWERS}(?:not (?:present|endorsed)|absent)\b{_PAUSE}"
    ),
    # "+anxiety, -depression": a dash is a minus only beside a plus, or in a review of systems; else it opens an item.
    Rule(
        "plus", "positive", before=r"(?:^|[\s,;:/])\+$", after=r"(?![^.;,\n]{0,30}\b(?:neg(?:ative)?|non-?reactive)\b)"
    ),
    Rule("minus_after_plus", "negative", before=r"(?:^|[\s,;:/])\+(?!ve\b)[a-z][^.;\n]*[\s,/][-–−]$"),
    Rule(
        "minus_before_plus",
        "negative",
        before=r"\S[^\n]*[\s,:/][-–−]$",
        after=r"[^.;\n:]*?[\s,/]\+(?!ve\b)[a-z]",
    ),
    Rule("minus_in_review", "negative", before=r"\b(?:ros|review of systems)\s*:[^.;\n]*[\s,:/][-–−]$"),
    # "Not present at rest" leaves it present.
    Rule(
        "sometimes_absent",
        "positive",
        after=r"\s+(?:is |are )?not (?:always )?present\s+(?:at|during|when|while|unless|all|every)\b[^.;\n]*\bbut\b",
    ),
    # "PTSD was considered but not supported".
    Rule(
        "turned_down",
        "negative",
        after=r"\s+(?:(?:was|were|is|had been|has been|also|initially)\s+)*(?:considered|suspected|entertained|raised"
        rf"|queried|evaluated)\s*,?\s*(?:but|however|and)\s*,?\s+(?:[\w-]+\s+){{0,4}}?{_TURNED_DOWN}",
    ),
    Rule(
        "considered_and_turned_down",
        "negative",
        before=r"\b(?:considered|entertained|suspected)\s+(?:(?:an?|the|diagnosis|possible|of|comorbid)\s+){0,4}$",
        after=rf"\s*,?\s*but\s+(?:[\w-]+\s+){{0,4}}?{_TURNED_DOWN}",
    ),
    Rule("unchecked_box", "negative", before=r"(?:\[\s?\]|☐|\(-\)|\[-\])\s*$"),
    Rule("checked_box", "positive", before=r"(?:\[x\]|☒|☑|\(\+\)|\[\+\])\s*$"),
    Rule(
        "result_negative",
        "negative",
        after=r"[\s:]*(?:(?:test|screen)(?:ing)?\b)?[\s:]*(?:\(-\)|\[-\]|-ve\b)"
        rf"|{_RESULT_GAP}(?:\b(?:negative|neg|non-?\s?reactive|not (?:detected|indicated|present|found|reactive)"
        rf"|nr|undetected|absent|unremarkable|denie[sd])\b|(?<=[a-z)]\s)-ve\b)",
    ),
    Rule(
        "result_none",
        "negative",
        after=rf"\s*(?:[:?=]+|\s[-–])\s*(?:no|none|never|nil|neg(?:ative)?|n|0|0/10|false|absent)\b{_PAUSE}",
    ),
    Rule("result_nil", "negative", after=r"\s+nil\s*(?:$|[.,;)\n])"),
    Rule(
        "result_of_list",
        "negative",
        after=r"(?:\s*[/,]\s*(?:and |or )?[\w-]+(?: [\w-]+)?){1,8}\s*:\s*(?:all (?:denied|negative|absent)|denie[sd]\b"
        r"|none\b)",
    ),
    Rule("unknown", "ambiguous", after=r"\s*(?:status|history|results?)?\s*(?:is|are|:|-)?\s*(?:unknown|pending)\b"),
    Rule("questionnaire_none", "negative", after=r"[^.;\n]{0,60}?\bnot at all\b"),
    Rule(
        "result_ruled_out",
        "negative",
        after=r"(?:\s+(?:has|have|had|was|were|is|now|been|disorder|infection|effectively"
        r"|essentially)){0,4}\s*[,(:-]?\s*(?<!not )(?:ruled out|excluded)\b",
    ),
    Rule(
        "result_unlikely",
        "negative",
        after=r"(?:\s+(?:is|was|seems|felt|to|be|very|highly|considered)){0,4}\s+unlikely\b",
    ),
    Rule(
        "count_zero",
        "negative",
        before=r"(?:^|[\s,:(])(?:0|zero|no)\s+(?:\w+\s+)?$",
        kinds=(TermKind.NAME,),
        unless_before=r"\d[.,/]0\s+$",
    ),
    Rule(
        "count_zero_after", "negative", after=r"\s*[:=x×-]?\s*(?:0(?!\d|[.,/]\d)|zero\b|none\b)", kinds=(TermKind.NAME,)
    ),
    Rule(
        "negative_screen",
        "negative",
        before=r"\bnegative\s+(?:[\w-]+\s+){0,2}?(?:screen\w*|test\w*|evaluation|work-?up)?\s*(?:for|of|on)?\s*$"
        r"|\b(?:screen\w*|test\w*)\s+(?:was\s+|is\s+)?(?:negative|non-?reactive)\s+(?:for|of)\s+(?:[^.]{0,60}(?:,"
        r"|\bor|\band)\s*)?$",
    ),
    Rule(
        "result_positive",
        "positive",
        after=rf"{_RESULT_GAP}\b(?<!not )(?:positive|reactive|detected)\b"
        r"(?!\s+(?:partner|spouse|husband|wife|boyfriend))",
        unless_before=r"\b(?:no|not|denies|denied|never|without|negative)\b[^.]{0,40}$",
    ),
    Rule(
        "positive_screen",
        "positive",
        before=r"\bpositive\s+(?:[\w-]+\s+){0,2}?(?:screen\w*|test\w*)\s*(?:for|of)?\s*$|\b(?:screen|test)(?:s|ed"
        r"|ing)?\s+positive\s+for\s+$",
    ),
    # Whatever answers a query stands above.
    *QUERY_RULES,
    # Not about this patient: teaching, screening that is offered or due, what might happen.
    Rule(
        "education_section",
        "ambiguous",
        section=SectionKind.EDUCATION,
        unless_before=r"\b(?:patient'?s|pt'?s|your|his|her|their)\s+(?:\w+\s+)?$",
    ),
    Rule(
        "education",
        "ambiguous",
        before=r"\b(?:educat\w+|counsel\w+|handouts?|brochures?|pamphlets?|leaflets?|information(?:al)?"
        r"|reading material\w*|literature|guidance|resources|discuss(?:ed|ion)|advised|talked|teaching"
        r"|learn)\b(?:\s+(?:was|were|given|provided|patient|pt|her|him|them|sheet|materials?|today|the))*\s+(?:on"
        r"|about|regarding|re|of|for|related to|concerning)\s+(?:\w+\s+){0,4}?(?:\w+,\s+)*(?:and\s+|or\s+)?$",
        unless_before=r"\b(?:his|her|their|your|patient'?s|pt'?s|ongoing|worsening|current|known|history of"
        r"|diagnosis of)\s+(?:\w+\s+)?$",
    ),
    Rule(
        "education_topic",
        "ambiguous",
        after=r"\s+(?:and\s+\w+\s+)?(?:handout|brochure|pamphlet|leaflet|education|information|awareness|hotline"
        r"|helpline|options|support group (?:list|information)|fact sheet|literature)\b",
        unless_before=r"\b(?:his|her|their|your)\s+(?:\w+\s+)?$",
    ),
    Rule(
        "generic_people",
        "ambiguous",
        before=r"\b(?:(?:all|most|many|some|other)\s+)?(?:patients|people|persons|individuals|adults|women|men"
        r"|adolescents|teens|teenagers|veterans|those|anyone|someone|persons|somebody|population"
        r"|children)\s+(?:(?:who|that)\s+)?(?:(?:may|can|often|commonly|also)\s+)?(?:with|living with|have|has|had"
        r"|having|suffer\w*|experienc\w*|diagnosed|at risk|undergoing|seeking|considering|taking|who|get|develop"
        r"|on)\b[^.]{0,80}$",
    ),
    Rule(
        "generic_effect",
        "ambiguous",
        before=r"\b(?:(?:can|may|might|could)\s+(?:also\s+)?(?:cause|lead to|result in|trigger|worsen|include|increase"
        r"|contribute to|develop)|side effects?\s+(?:include|including|such as|like|may|can)"
        r"|adverse effects?\s+(?:include|including|such as)|(?:signs|symptoms)(?: and symptoms)? of"
        r"|warning (?:signs|about|of|for)|is (?:used|indicated|approved) (?:for|to treat)|causes? of)\b[^.]{0,80}$",
        unless_before=r"\b(?:has|had|having|reports?|endors\w+|presents?|experienc\w+|his|her|their|no|denie[sd]|denying|without"
        r"|negative|not)\b[^.]{0,60}$",
    ),
    Rule(
        "hypothetical",
        "ambiguous",
        before=r"\b(?:if|should|in case|unless|when(?:ever)?)\s+(?:(?:you|s?he|they|patient|pt|the patient"
        r"|there)\s+)(?:\w+\s+){0,3}?(?:have|has|experience\w*|develop\w*|notice\w*|feel\w*|become\w*|get\w*|is"
        r"|are)\b[^.]{0,80}$|\b(?:watch|monitor\w*|observe)\s+(?:closely\s+)?for\b[^.]{0,80}$",
    ),
    Rule(
        "hypothetical_after",
        "ambiguous",
        before=r"\bif\s+(?:any\s+|new\s+|you have\s+)?(?:\w+\s+or\s+)?$",
        after=r"[^.;\n]{0,30}\b(?:develops?|occurs?|arises?|appears?)\b",
    ),
    Rule(
        "generic_statement",
        "ambiguous",
        after=r"\s+(?:is|are)\s+(?:an?\s+)?(?:very\s+)?(?:normal|common|treatable|serious|medical|real)\b",
    ),
    Rule("public_guidance", "ambiguous", before=r"\b(?:uspstf|cdc|guidelines?|acog|aap)\b[^.]{0,120}$"),
    Rule(
        "screening",
        "ambiguous",
        before=r"\b(?:screen(?:ing|ed|s)?|test(?:ing|ed|s)?|check(?:ed|ing)?|consent\w*"
        r"|window period)\s+(?:\w+\s+){0,3}?(?:for|of)\s+(?:[^.]{0,60}(?:,|\bor|\band|/)\s*)?$",
        unless_before=r"\b(?:positive|his|her|their)\s+(?:\w+\s+)?$",
    ),
    Rule(
        "screening_after",
        "ambiguous",
        after=r"(?:\s*(?:and|/|,|or)\s*[\w ]{1,25})?[\s-]+(?:(?:1/2|1|2|ab|ag|ag/ab|antibody|antigen|risk|rapid|panel"
        r"|4th|gen\w*|annual|routine)\s+){0,4}(?:screen(?:ing|er|s)?|test(?:ing|s)?|assessment tool|questionnaire"
        r"|serology|vaccine|scale|inventory|index|prevention)\b",
    ),
    # Treated, so present: a denial of the treatment's effect, side effects or continuation is no denial of d.
    Rule(
        "treatment_of",
        "positive",
        before=r"\b(?:treat\w*|medications?|meds?|medicines?|therapy|therapist|anything|help|hospitali[sz]\w*|admitted"
        r"|admissions?|follow(?:ed|s)?[- ]?(?:up)?|refills?|relief)\s+(?:\w+\s+){0,2}?(?:for|of|from)\s+(?:(?:his"
        r"|her|their|the)\s+)?$",
        unless_before=r"\b(?:family)\b",
    ),
    Rule(
        "drug_was_taken",
        "positive",
        before=r"\b(?:stop(?:ped|ping)?|discontinu\w+|quit|wean\w+|taper\w+|ran out|run out|running out|missed|missing"
        r"|forg[oe]t\w*|skipp\w+|no longer|not (?:been )?(?:consistently|regularly)|(?:not|n't"
        r"|without) (?:toler\w+|respond\w*|help\w*|refill\w*|miss\w*|stop\w*)|(?:no|without|any"
        r"|denies) (?:side effects?|adverse (?:effects?|reactions?)|problems?|issues|complaints|benefit|relief"
        r"|improvement|change\w*)|could not tolerate|can ?not tolerate|fail\w*|refills?|resist\w+|non-?complian\w+"
        r"|non-?adheren\w+)\b[^.]{0,40}$",
        kinds=(TermKind.MEDICATION,),
    ),
    Rule(
        "drug_had_effect",
        "positive",
        after=r"[^.;\n]{0,25}\b(?:not (?:help\w*|effective|working|tolerated|enough|refilled)|was (?:stopped"
        r"|discontinued)|discontinued|stopped|side effects?|refill\w*)",
        kinds=(TermKind.MEDICATION,),
    ),
    Rule(
        "not_gone",
        "positive",
        before=r"\b(?:no longer|no (?:change|improvement|worsening|further|increase|decrease|new|recent (?:change"
        r"|worsening)|significant change|better|more)|not (?:only|just|worse|better|improv\w*|necessarily)"
        r"|without (?:change|improvement|worsening|further)|never without)\b[^.,]{0,30}$",
        kinds=(TermKind.NAME, TermKind.SYMPTOM),
    ),
    Rule(
        "worse_denied",
        "positive",
        before=r"\b(?:denie[sd]|denying|no|without)\s+(?:any\s+)?(?:worsening|exacerbation|recurrence|relapse"
        r"|change)(?:\s+(?:of|in))?\s+(?:(?:his|her|their)\s+)?$",
    ),
    Rule(
        "never_before",
        "positive",
        before=r"\bnever\b",
        after=r"[^.;\n]{0,20}\b(?:before (?:this|now|last|the|her|his|\d)|until)\b",
    ),
    Rule(
        "other_cause",
        "negative",
        before=r"\bnot (?:felt to be |thought to be |likely )?(?:due|related|secondary|attributable"
        r"|attributed) to (?:\w+ ){0,2}$",
    ),
    # "No chest pain, anxiety is worse": the list of denials has ended.
    Rule(
        "asserted_after",
        "positive",
        before=r"(?:,|\band|\bbut)\s*(?:\w+\s+){0,2}$",
        after=r"\s+(?:(?:is|are|was|has been|have been|remains?|seems?|currently|now|has)\s+){0,2}"
        r"(?:(?:well|poorly|very|much|stably|fairly|not|not well)[- ])?"
        r"(?:stable|controlled|improv\w+|wors\w+|persist\w*|managed|treated"
        r"|uncontrolled|ongoing|continu\w+|resolved|present|better|in remission)\b",
    ),
)
_COMPILED = tuple(
    (
        rule,
        re.compile(rule.before, re.IGNORECASE) if rule.before else None,
        re.compile(rule.after, re.IGNORECASE) if rule.after else None,
        re.compile(rule.unless_before, re.IGNORECASE) if rule.unless_before else None,
        re.compile(rule.unless_mention, re.IGNORECASE) if rule.unless_mention else None,
    )
    for rule in RULES
)


def first_rule(place: Surroundings) -> Rule | None:
    """Return the first rule that applies to a mention, or None."""
    for rule, before, after, unless, unless_mention in _COMPILED:
        if place.kind not in rule.kinds or (rule.section is not None and rule.section is not place.section):
            continue
        if before is not None and not before.search(place.before):
            continue
        if after is not None and not after.match(place.after):
            continue
        if unless is not None and unless.search(place.before):
            continue
        if unless_mention is not None and unless_mention.search(place.mention):
            continue
        return rule
    return None
