"""presidio-analyzer as its authors ship it over spaCy's small English model, with nothing of ours: for comparison.

Nothing is fetched: domains are read by the list of suffixes that tldextract ships.
"""

import logging
from functools import cache
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.detectors.word_lists import read_labels
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.runtime.language.english_pipeline import import_presidio, load_english

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

#: The score from which a result counts: presidio's own example, and above every pattern that it names weak.
_THRESHOLD: Final = 0.4


class PresidioDetector:
    """Finds what presidio's recognizers find; raises `BadInputError` where the model is not installed."""

    name = "presidio"

    def __init__(self) -> None:
        self._engine = _load_engine()
        # Presidio may raise where it is asked for what no recognizer of its version finds, as US_MBI and US_NPI.
        known = set(self._engine.get_supported_entities("en"))
        named = {entity: category for entity, category in read_labels("presidio").items() if category != "none"}
        self._categories = {entity: category for entity, category in named.items() if entity in known}

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        found = self._engine.analyze(text, language="en", entities=list(self._categories), score_threshold=_THRESHOLD)
        return resolve_overlaps(
            EntitySpan(one.start, one.end, self._categories[one.entity_type], self.name) for one in found
        )


@cache
def _load_engine() -> "AnalyzerEngine":
    import_presidio()
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
    from presidio_analyzer.nlp_engine.ner_model_configuration import MODEL_TO_PRESIDIO_ENTITY_MAPPING
    from tldextract import TLDExtract, tldextract

    # By default it fetches a list, and keeps it in a cache.
    tldextract.TLD_EXTRACTOR = TLDExtract(suffix_list_urls=(), cache_dir=None)
    logging.getLogger("presidio-analyzer").setLevel(logging.WARNING)
    ignored = [label for label, category in read_labels("presidio").items() if category == "none"]
    mapping = {**MODEL_TO_PRESIDIO_ENTITY_MAPPING, "FAC": "LOCATION"}
    labels = NerModelConfiguration(labels_to_ignore=ignored, model_to_presidio_entity_mapping=mapping)
    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "en"}], ner_model_configuration=labels)
    # Loaded here: presidio would fetch a model that it loads by its name. It reads nothing of the slow parser.
    pipeline = load_english(exclude=["parser"], otherwise="choose another system")
    engine.nlp = {"en": pipeline}  # type: ignore[assignment]  # presidio declares None
    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
