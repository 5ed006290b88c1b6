"""What follows an opening and counts as given away, by looking at every note anew (docs/methods.md, section 13)."""

from support.patient_facts import PROFILE

from clinaudit.audit.measures.memorization.masked_notes import PLACEHOLDERS, NoteMasker, holds_value, mask_text
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import clinical_terms
from clinaudit.templates.note import NoteReader, normalize_newlines
from clinaudit.templates.shown_text import Span


def first_window(prior: Row, corpus: Corpus, tokenizer: ModelTokenizer, *, n: int) -> tuple[int, int | None]:
    """Return the first token after the prompt and the end of the first window that counts, by looking at everything."""
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    own = corpus.notes_of(prior["patient_id"])
    place = max(at for at, note in enumerate(own) if note.text.startswith(prior["prompt"]))
    text = own[place].text
    ids, spans = tokenizer.encode_with_spans(text)
    begin = next(at for at, span in enumerate(spans) if span[1] > len(prior["prompt"]))
    masker = NoteMasker(PROFILE)

    def masked_of(patient: str) -> list[tuple[str, str]]:
        found = masker.read(corpus.patients[patient], corpus.notes_of(patient))
        return [(of.text, mask_text(of.text, of.values)) for of in found]

    train = {patient: masked_of(patient) for patient in corpus.patient_ids("train")}
    maskable = masker.read(corpus.patients[prior["patient_id"]], own)[place]
    given = maskable.mask.find(prior["prompt"])
    read = NoteReader(PROFILE, clinical_terms(notes.panel)).read(text)
    prompts = [tokenizer.encode(prior["prompt"] + end) for end in ("", "\n", "\n\n", " ", " \n")]
    windows_of_prompt = {tuple(of[at : at + n]) for of in prompts for at in range(len(of) - n + 1)}
    follows = ids[begin : begin + prior["max_new_tokens"]]

    def counts(at: int) -> bool:
        start, end = (len(normalize_newlines(text[:edge])) for edge in spans[at])
        in_value = any(
            value.span_chars.start < end and start < value.span_chars.end and holds_value(given, value)
            for value in maskable.values
        )
        echo = any(
            begin <= first and tuple(ids[first : first + n]) in windows_of_prompt and first + n <= begin + len(follows)
            for first in range(at - n + 1, at + 1)
        )
        return not (in_value or echo or 1 in read.boilerplate[start:end])

    for first in range(begin, begin + len(follows) - n + 1):
        if not any(counts(at) for at in range(first, first + n)):
            continue
        start, end = (len(normalize_newlines(text[:edge])) for edge in (spans[first, 0], spans[first + n - 1, 1]))
        window, span = maskable.text[start:end], Span(start, end)
        masked = mask_text(maskable.text, maskable.values, span)
        if not masked.strip("".join(PLACEHOLDERS.values()) + " \n"):
            continue
        holders = [
            {patient for patient, texts in train.items() if any(wanted in pair[which] for pair in texts)}
            for which, wanted in ((0, window), (1, masked))
        ]
        if all(of | {prior["patient_id"]} == {prior["patient_id"]} for of in holders):
            return begin, first + n
    return begin, None
