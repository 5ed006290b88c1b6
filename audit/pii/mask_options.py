"""The options of `clinaudit mask`, each declared once, and what follows of them alone."""

from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import MinLen
from pydantic import ValidationError

from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.settings import Options, option
from clinaudit.errors import UsageError


class MaskOptions(Options):
    """The options of `mask`."""

    prompts: Path
    out: Path
    corpus: Path | None = option(
        None,
        "The site's own corpus: its patients' names, birth dates and numbers are found wherever they stand.",
        metavar="CORPUS",
    )
    #: As of an audit; the processes change nothing of the result.
    template: Path | None = None
    identifier_rules: Path | None = None
    processes: int | None = None
    rules_only: bool = option(
        False, "Use no language model. It is faster, and leaves up to 3 times as many direct identifiers."
    )
    name_model: Path | None = option(
        None,
        "Directory of a Hugging Face model that labels names in a text (token classification), such as one trained on "
        "a site's own notes; used beside the rules, in place of the small model that clinaudit installs.",
        metavar="DIR",
    )
    query_field: Annotated[str, MinLen(1)] | None = option(
        None,
        "Key that holds a row's question about its text; at least one row must have it.",
        metavar="KEY",
        shown="query, if a row has it",
    )
    query: Annotated[str, MinLen(1)] | None = option(
        None, "The question about PROMPTS, if it is a .txt file.", metavar="QUESTION"
    )
    with_query: bool = option(False, "Also write the question, masked as the text is.")
    new_ids: bool = option(False, "Use each row's line number as its id, instead of its own id.")
    policy: MaskingPolicy = option(
        "minimum-necessary",
        "What may stay: what the question needs, or that minus what HIPAA's Safe Harbor lists, such as a city.",
    )
    keep: Path | None = option(
        None,
        "Terms that stay wherever they are found, one a line: the site's own devices, trials, wards.",
        metavar="FILE",
    )
    map: Path | None = option(None, "Where the map goes.", metavar="FILE", shown="in OUT.evidence/")

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return the options of some values, of which None is none; raises `UsageError` that names what is wrong."""
        try:
            return cls.model_validate({name: value for name, value in given.items() if value not in (None, ())})
        except ValidationError as error:
            names = ", ".join(f"--{fault['loc'][0]}".replace("_", "-") for fault in error.errors())
            raise UsageError(f"{names} cannot be used so; clinaudit mask --help says what it takes") from None

    @property
    def finders(self) -> str:
        """What looks for identifiers, in words."""
        model = "a small language model" if self.name_model is None else f"the language model in {self.name_model.name}"
        own = {"the site's own names and numbers": self.corpus, "the site's own rules": self.identifier_rules}
        used = [name for name, path in own.items() if path is not None]
        return ", ".join(["rules", *([] if self.rules_only else [model]), *used])

    @property
    def map_path(self) -> Path:
        """Where the map is."""
        return self.map or self.out.with_name(f"{self.out.name}.evidence") / "map.jsonl"
