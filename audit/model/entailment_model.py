"""A model of natural-language inference in a directory: whether one text entails another.

Such as PubMedBERT-MNLI-MedNLI, which AMNESIA uses. Knows nothing of questions and scores.
"""

from pathlib import Path

from clinaudit.audit.model.text_encoder import WEIGHTS_FILE, TextEncoder, inspect_encoder
from clinaudit.errors import BadInputError


class EntailmentModel:
    """Says of a premise and a hypothesis whether entailment is the likeliest of the model's labels."""

    def __init__(self, directory: Path) -> None:
        """Load it; raises `BadInputError` where its configuration names no label of entailment."""
        files = inspect_encoder(directory)
        labels = files.config.get("id2label")
        named = labels if isinstance(labels, dict) else {}
        found = [int(place) for place, label in named.items() if str(label).lower().startswith("entail")]
        if len(found) != 1:
            raise BadInputError(
                f"the model in {files.directory.name} does not say which of its labels is entailment; write the "
                "labels' names into id2label of its config.json"
            )
        self.name = f"{files.directory.name}, SHA-256 {files.digests[WEIGHTS_FILE][:12]}"
        self._label = found[0]
        self._encoder = TextEncoder(files, loader="AutoModelForSequenceClassification")

    def entails(self, premise: str, hypothesis: str) -> bool:
        """Return whether the premise entails the hypothesis."""
        return int(self._encoder.run(premise, hypothesis).logits[0].argmax()) == self._label
