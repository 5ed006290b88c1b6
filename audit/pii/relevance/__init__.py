"""Which identifiers a question needs, told without a model: typed intents, and whom the question is about.

`needed_categories` reads the question alone, `needed_spans` the description beside it. What neither shows is not
needed. Knows nothing of tags and files; a served model is asked in served.py alone.
"""

from clinaudit.audit.pii.relevance.intents import needed_categories
from clinaudit.audit.pii.relevance.needed import needed_spans

__all__ = ["needed_categories", "needed_spans"]
