"""Words that look like people's names and are none: eponyms of medicine, drugs, devices, abbreviations.

Owns the lists of them that are read here (`allowed_terms`, `clinical_shorthand`; drugs are read in `priors`), and the
endings that words of medicine have and names do not. Knows nothing of how names are found.
"""

import re
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.values.normal_form import fold_words
from clinaudit.audit.pii.word_lists.reading import read_lines, read_words
from clinaudit.priors.diagnoses import drug_words

#: Endings of findings, procedures and specialties. Drugs go by their list: a surname can end as they do ("Bartolone").
_FINDING: Final = re.compile(
    r"[a-z]{2,}(?:[a-z]{2}emia|itis|osis|ectomy|otomy|ostomy|oscopy|oscopic|algia|uria|penia|pnea|phagia|plegia|paresis|oplasty"
    r"|pathy|pathic|ology|ologic|ological|ography|ographic|megaly|cephalic|cardia|cardial|cardiac|rrhea|rrhoea|rrhage"
    r"|rrhagic|vascular|vascularly|thesia|plasia|trophy|trophic|stasis|static|sclerosis|sclerotic|arcinoma|denoma|ymphoma"
    r"|elanoma|arcoma|ibroma|lioma|glycemic|iliac|thoracic|gastric|temporal|lateral|laterally|axial|itic|otic)"
)
#: Names that end as findings do, of those that are known to.
_NAMES_TOO: Final = frozenset({"anastasis", "euphemia", "kritis", "politis"})
#: The stems by which nonproprietary names of drugs are made (USAN), for those that no list has yet.
_DRUG_STEM: Final = re.compile(
    r"[a-z]{2,}(?:mycin|micin|cillin|cycline|floxacin|statin|opril|sartan|olol|prazole|conazole|dipine|tidine|gliptin"
    r"|gliflozin|glutide|tinib|[zx]umab|ximab|lukast|triptan|oxetine|azepam|azolam|barbital|heparin|xaban|thiazide|semide"
    r"|metasone|olone|steride|terone|setron|profen|ciclovir|navir|tegravir|buvir|azine|azole|amide|oxacin|phylline|formin"
    r"|triptyline|gabalin|bactam|mab|nib|ciclib|parib|rafenib|limus|gepant|orexant)"
)
_DOSE: Final = re.compile(
    r"[ ,]{1,2}(?:(?:[A-Z]{2}|to|at|of|dose)[ ])?\d+(?:[.,]\d+)?\s?(?:mg|mcg|µg|μg|g|ml|units?|iu|mEq|%|tab|cap"
    r"|puff|drop)",
    re.IGNORECASE,
)


@cache
def allowed_terms() -> frozenset[str]:
    """Return the terms, folded: in lower case, without accents and apostrophes."""
    return frozenset(map(fold_words, (*read_lines("allowed_terms"), *drug_words())))


@lru_cache(maxsize=100_000)
def is_allowed(text: str) -> bool:
    """Whether a text is one of the terms, or a word that ends as findings do; "Parkinson's" is one.

    An abbreviation is one only as it is written: "MS", and no "Ms".
    """
    if text.strip(".,;:()").removesuffix("s") in read_words("clinical_shorthand"):
        return True
    folded = fold_words(text)
    alone = folded.removesuffix("s")
    if folded in allowed_terms() or alone in allowed_terms():
        return True
    return folded not in _NAMES_TOO and any(map(_FINDING.fullmatch, (folded, alone)))


def is_dosed_drug(text: str, start: int, end: int) -> bool:
    """Whether a stretch ends with a word made as names of drugs are, and a dose follows it: "Zerlinib 5 mg"."""
    last = text[start:end].rpartition(" ")[2].lower()
    return _DRUG_STEM.fullmatch(last) is not None and _DOSE.match(text, end) is not None
