"""Words that look like people's names and are none: eponyms of medicine, drugs, devices, abbreviations.

Owns the reading of `allowed_terms.txt`, and the endings that words of medicine have and names do not. Knows nothing of
how names are found.
"""

import re
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.values.normal_form import fold_words
from clinaudit.audit.pii.word_lists.reading import read_lines

#: Endings of findings, procedures and specialties, and the stems by which generic names of drugs are made (USAN).
_MEDICAL: Final = re.compile(
    r"[a-z]{2,}(?:[a-z]{2}emia|itis|osis|ectomy|otomy|ostomy|oscopy|oscopic|algia|uria|penia|pnea|phagia|plegia|paresis|oplasty"
    r"|pathy|pathic|ology|ologic|ological|ography|ographic|megaly|cephalic|cardia|cardial|cardiac|rrhea|rrhoea|rrhage"
    r"|rrhagic|vascular|vascularly|thesia|plasia|trophy|trophic|stasis|static|sclerosis|sclerotic|arcinoma|denoma|ymphoma"
    r"|elanoma|arcoma|ibroma|lioma|glycemic|iliac|thoracic|gastric|temporal|lateral|laterally|axial|itic|otic"
    r"|mycin|micin|cillin|cycline|floxacin|statin|april|opril|sartan|olol|prazole|conazole|dipine|tidine|gliptin|gliflozin"
    r"|glutide|tinib|zumab|ximab|lukast|triptan|oxetine|azepam|azolam|barbital|heparin|xaban|thiazide|semide|metasone"
    r"|olone|steride|terone|setron|profen|ciclovir|navir|tegravir|buvir|azine|azole|amide|oxacin|phylline|formin|triptyline|gabalin|bactam)"
)


@cache
def allowed_terms() -> frozenset[str]:
    """Return the terms, folded: in lower case, without accents and apostrophes."""
    return frozenset(fold_words(term) for term in read_lines("allowed_terms"))


@lru_cache(maxsize=100_000)
def is_allowed(text: str) -> bool:
    """Whether a text is one of the terms, or a word that ends as those of medicine do; "Parkinson's" is one."""
    folded = fold_words(text)
    alone = folded.removesuffix("s")
    return folded in allowed_terms() or alone in allowed_terms() or _MEDICAL.fullmatch(alone) is not None
