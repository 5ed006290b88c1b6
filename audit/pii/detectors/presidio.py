"""The detectors by presidio-analyzer as its authors ship it, with nothing of ours: over a blank pipeline, or spaCy's.

They stand beside the rules for comparison. Nothing is fetched: domains are read by the list of suffixes that tldextract
ships. A pattern that presidio would skip because it runs too long raises here.
"""

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import overlapping_pieces
from clinaudit.audit.runtime.language.english_pipeline import blank_english, import_presidio, load_english

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

#: Category by presidio's entity; those that are not here are of other countries, and are not asked for.
_CATEGORIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CREDIT_CARD": "credit_card",
        "CRYPTO": "bank_account",
        "DATE_TIME": "date",
        "EMAIL_ADDRESS": "email",
        "IBAN_CODE": "bank_account",
        "IP_ADDRESS": "ip_address",
        "MAC_ADDRESS": "device_id",
        "MEDICAL_LICENSE": "licence_number",
        "PHONE_NUMBER": "phone",
        "URL": "url",
        "US_BANK_NUMBER": "bank_account",
        "US_DRIVER_LICENSE": "driver_licence",
        "US_ITIN": "tax_id",
        "US_MBI": "health_plan_number",
        "US_NPI": "licence_number",
        "US_PASSPORT": "passport",
        "US_SSN": "ssn",
    }
)
#: Those of the model's entities, by its SpacyRecognizer.
_BY_MODEL: Final[Mapping[str, str]] = MappingProxyType(
    {"PERSON": "full_name", "LOCATION": "city", "ORGANIZATION": "company", "NRP": "nationality"}
)
#: The labels of the model that are no identifiers: those of presidio's own configuration (`conf/default.yaml`), but for
#: organizations, which it leaves out as too often wrong, and which the benchmark asks for.
_NOT_ASKED: Final = (
    "CARDINAL", "EVENT", "LANGUAGE", "LAW", "MONEY", "ORDINAL", "PERCENT", "PRODUCT", "QUANTITY", "WORK_OF_ART"
)  # fmt: skip
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
        self._over_model = over_model
        # Presidio may raise where it is asked for what no recognizer of its version finds, as US_MBI and US_NPI.
        known = set(self._engine.get_supported_entities("en"))
        named = {**_CATEGORIES, **_BY_MODEL} if over_model else _CATEGORIES
        self._categories = {entity: category for entity, category in named.items() if entity in known}

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands.

        Raises TimeoutError where presidio gives up a pattern.
        """
        logger = logging.getLogger(_LOGGER)
        watch = _RaiseWhereSkipped()
        logger.addHandler(watch)
        try:
            # spaCy takes a second for a rule of 5,000 asterisks, and four times that for one twice as long.
            ruled = _RULES.sub(lambda rule: " " * len(rule[0]), text)
            # It looks for the words beside each result from the beginning of what it is given.
            pieces = overlapping_pieces(ruled, chars=_PIECE_CHARS, shared=_SHARED_CHARS)
            return resolve_overlaps(span for begin, end in pieces for span in self._spans(ruled, begin, end))
        finally:
            logger.removeHandler(watch)

    def _spans(self, text: str, begin: int, end: int) -> Iterator[EntitySpan]:
        piece = text[begin:end]
        words: Any = None if self._over_model else _Words(self._engine, piece)
        for result in self._engine.analyze(
            piece, language="en", entities=list(self._categories), score_threshold=_THRESHOLD, nlp_artifacts=words
        ):
            category = self._categories[result.entity_type]
            yield EntitySpan(begin + result.start, begin + result.end, category, self.name)


class _Words:
    """The words of a text, split where presidio first asks for them: beside a result alone."""

    def __init__(self, engine: "AnalyzerEngine", text: str) -> None:
        self._engine = engine
        self._text = text

    def __getattr__(self, name: str) -> object:
        """Return what the artifacts of presidio's pipeline hold under a name."""
        self.__dict__.update(vars(self._engine.nlp_engine.process_text(self._text, "en")))
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]


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
    mapping = {**MODEL_TO_PRESIDIO_ENTITY_MAPPING, "FAC": "LOCATION"}
    labels = NerModelConfiguration(labels_to_ignore=_NOT_ASKED, model_to_presidio_entity_mapping=mapping)
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
