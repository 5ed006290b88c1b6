"""The detectors by presidio-analyzer as its authors ship it, with nothing of ours: over a blank pipeline, or spaCy's.

They stand beside the rules for comparison. Nothing is fetched: domains are read by the list of suffixes that tldextract
ships. A pattern that presidio would skip because it runs too long raises here.
"""

import logging
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.detectors.word_lists import read_labels
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import overlapping_pieces
from clinaudit.audit.runtime.language.english_pipeline import blank_english, import_presidio, load_english

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

#: The score from which a result counts: presidio's own example, and above every pattern that it names weak.
_THRESHOLD: Final = 0.4
#: Marks without a letter or figure among them: a line that is drawn.
_RULES: Final = re.compile(r"(?:[^\w\s]|_){50,}")
#: How much of a text it is given at once, and how much of it two neighbours share at least.
_PIECE_CHARS: Final = 10_000
_SHARED_CHARS: Final = 500
_LOGGER: Final = "presidio-analyzer"


class PresidioDetector:
    """Finds what presidio's recognizers find: without a language model, or `over_model`, spaCy's small English one.

    Raises `BadInputError` where the model is not installed.
    """

    name = "presidio"

    def __init__(self, *, over_model: bool = False) -> None:
        self._engine = _load_engine(over_model)
        # Presidio may raise where it is asked for what no recognizer of its version finds, as US_MBI and US_NPI.
        known = set(self._engine.get_supported_entities("en"))
        named = {**read_labels("presidio"), **(read_labels("presidio_spacy") if over_model else {})}
        self._categories = {entity: category for entity, category in named.items() if entity in known}

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands.

        Raises TimeoutError where presidio gives up a pattern.
        """
        watch = _RaiseWhereSkipped()
        logging.getLogger(_LOGGER).addHandler(watch)
        try:
            # spaCy takes a second for a rule of 5,000 asterisks, and four times that for one twice as long.
            ruled = _RULES.sub(lambda rule: " " * len(rule[0]), text)
            # It looks for the words beside each result from the beginning of what it is given.
            pieces = overlapping_pieces(ruled, chars=_PIECE_CHARS, shared=_SHARED_CHARS)
            return resolve_overlaps(
                EntitySpan(begin + one.start, begin + one.end, self._categories[one.entity_type], self.name)
                for begin, end in pieces
                for one in self._engine.analyze(
                    ruled[begin:end], language="en", entities=list(self._categories), score_threshold=_THRESHOLD
                )
            )
        finally:
            logging.getLogger(_LOGGER).removeHandler(watch)


class _RaiseWhereSkipped(logging.Handler):
    """Turns presidio's warning that it skipped a pattern into an error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Raise TimeoutError for such a warning."""
        if "timed out" in record.msg:
            raise TimeoutError("a pattern of presidio ran too long: the text was not looked through")


@cache
def _load_engine(over_model: bool) -> "AnalyzerEngine":
    import_presidio()
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
    from presidio_analyzer.nlp_engine.ner_model_configuration import MODEL_TO_PRESIDIO_ENTITY_MAPPING

    use_shipped_suffixes()
    logging.getLogger(_LOGGER).setLevel(logging.WARNING)
    ignored = [label for label, category in read_labels("presidio_spacy").items() if category == "none"]
    mapping = {**MODEL_TO_PRESIDIO_ENTITY_MAPPING, "FAC": "LOCATION"}
    labels = NerModelConfiguration(labels_to_ignore=ignored, model_to_presidio_entity_mapping=mapping)
    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "en"}], ner_model_configuration=labels)
    # Loaded here: presidio would fetch a model that it loads by its name.
    if over_model:
        # The parser takes time, and presidio reads nothing of it.
        pipeline = load_english(exclude=["parser"], otherwise="choose another system")
    else:
        # It splits words and names nothing.
        pipeline = blank_english()
        # The limit is for models, whose memory grows with the text; words alone are split in constant memory.
        pipeline.max_length = sys.maxsize
    engine.nlp = {"en": pipeline}  # type: ignore[assignment]  # presidio declares None
    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    if not over_model:
        registry.remove_recognizer("SpacyRecognizer")
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def use_shipped_suffixes() -> None:
    """Make tldextract read domains by the list that it ships: by default it fetches one, and keeps it in a cache."""
    from tldextract import TLDExtract, tldextract

    tldextract.TLD_EXTRACTOR = TLDExtract(suffix_list_urls=(), cache_dir=None)
