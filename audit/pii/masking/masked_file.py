"""A file of prompts masked, row by row, in constant memory: the stage behind `clinaudit mask` (docs/mask.md).

Owns the two files that are written, the masked prompts and the map, which appear whole or not at all. Knows nothing of
how identifiers are found.
"""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from clinaudit.audit.pii.masking.not_masked import count_clinical_terms
from clinaudit.audit.pii.masking.prompt import BatchRelevance, MaskedPrompt, PromptMasker, mask_prompts
from clinaudit.audit.pii.masking.repeated import fold_value
from clinaudit.audit.pii.masking.rows import CheckedRows, RowWriter, TextRow, check_rows, iter_rows, require_same_kind
from clinaudit.audit.pii.masking.written_tags import Forms, tagged_forms
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import make_private_directory, replacing, require_writable
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.record import Record

#: Rows that are worked on together: a served model is asked of as many at a time.
_BATCH_ROWS: Final = 64
_MAP_NAME: Final = "map.jsonl"
_QUERY_KEY: Final = "query"
#: Shorter ones stand in an id by chance.
_LEAST_IN_ID: Final = 4


@dataclass(frozen=True, slots=True)
class MaskOptions:
    """The options of `mask`; a field is the option of that name with dashes."""

    prompts: Path
    out: Path
    corpus: Path | None = None
    template: Path | None = None
    #: Rows of the site's own beside the table of rules.
    identifier_rules: Path | None = None
    #: Processes that mask, which change nothing of the result; None: one per core.
    processes: int | None = None
    #: Whether names are looked for by no language model.
    rules_only: bool = False
    #: Directory of the model that labels names; None: the small one that is installed.
    name_model: Path | None = None
    #: Key of the question, which some row must have; None: `query`, if a row has it.
    query_field: str | None = None
    #: The question about a prompt that is one text; rows have their own.
    query: str | None = None
    #: Whether the question is written too, masked as the text is.
    with_query: bool = False
    #: Whether a row's id is its line in the prompts, rather than its own as it stands.
    new_ids: bool = False
    policy: MaskingPolicy = "minimum-necessary"
    #: A site's terms that stay, one a line.
    keep: Path | None = None
    #: None: in the folder `OUT.evidence` beside the output.
    map_file: Path | None = None
    #: Of the served model that is asked what a question needs.
    served_url: str | None = None
    served_model: str | None = None
    served_key_file: Path | None = None
    phi_approved: tuple[str, ...] = ()

    @property
    def query_key(self) -> str:
        """The key that the question of a row is read by."""
        return self.query_field or _QUERY_KEY

    @property
    def finders(self) -> str:
        """What looks for identifiers, in words."""
        model = "a small language model" if self.name_model is None else f"the language model in {self.name_model.name}"
        found = ["rules"]
        found += [] if self.rules_only else [model]
        found += [] if self.corpus is None else ["the site's own names and numbers"]
        found += [] if self.identifier_rules is None else ["the site's own rules"]
        return ", ".join(found)

    @property
    def map_path(self) -> Path:
        """Where the map is."""
        return self.map_file or self.out.with_name(f"{self.out.name}.evidence") / _MAP_NAME


@dataclass(frozen=True, slots=True)
class MaskedFile:
    """What became of a file."""

    rows: CheckedRows
    #: Tags by kind.
    kinds: Counter[str]
    #: By the kind of tag and what found it, how often.
    found_by: Counter[tuple[str, str]]
    #: What was found and stays by decision: quasi-identifiers by kind, and kept terms.
    stays: Counter[str]
    #: Clinical terms that stood in something masked.
    clinical_terms: int
    #: Prompts that are withheld, by reason.
    withheld: Counter[str]


class MappedPrompt(Record):
    """A line of the map: what each tag of a prompt stands for, occurrence by occurrence. PHI."""

    id: str
    forms: dict[str, tuple[str, ...]]
    #: By tag, how often each rule, list or model found what it stands for.
    found_by: dict[str, dict[str, int]]


def check_prompts(options: MaskOptions) -> CheckedRows:
    """Read all prompts, before anything else is opened; raises for rows that cannot be used and places that are taken.

    `mask_file` takes what this returns.
    """
    _require_places(options)
    rows = check_rows(
        options.prompts,
        role="the prompts",
        query_field=options.query_key,
        null_text=False,
        needs_query_field=options.query_field is not None,
        query=options.query,
    )
    require_same_kind(rows, options.out)
    if options.with_query and rows.is_one_text:
        raise UsageError("--with-query adds the question to a row, and one text has no rows; leave it out")
    return rows


def mask_file(
    options: MaskOptions, rows: CheckedRows, masker: PromptMasker, relevance: BatchRelevance, *, progress: Progress
) -> MaskedFile:
    """Mask a file of prompts; return what became of its rows.

    Raises `StorageError` where another command writes to the same place, and `BadInputError` for an id that says who
    its row is about. Then nothing is written.
    """
    if options.map_file is None:
        make_private_directory(options.map_path.parent)
    terms = 0
    kinds, stays, withheld = Counter[str](), Counter[str](), Counter[str]()
    found_by = Counter[tuple[str, str]]()
    columns = ("id", "text", "tags", "kept", *(["query"] if options.with_query else []))
    waiting = iter_rows(rows)
    with (
        replacing(options.out) as output,
        # It comes to its place first: there is no output that its map is not there for.
        replacing(options.map_path) as tag_map,
        progress.stage("masking", total=2 * rows.chars, unit="characters") as advance,
    ):
        writer = RowWriter(output, rows, columns)
        while batch := list(islice(waiting, _BATCH_ROWS)):
            pairs = [(row.text or "", row.query) for row in batch]
            for given, masked in zip(batch, mask_prompts(pairs, masker, relevance, advance), strict=True):
                row = replace(given, id=given.row) if options.new_ids else given
                if not rows.is_one_text and not options.new_ids:
                    _require_silent_id(rows.file.name, row, masked, masker)
                kept = masked.stays.total()
                written = {"id": row.id, "text": masked.text, "tags": masked.tags, "kept": kept}
                writer.write(
                    written | ({"query": masked.query} if options.with_query and row.query is not None else {})
                )
                mapped = MappedPrompt(id=row.key, forms=dict(masked.forms), found_by=masked.found_by)
                tag_map.write(mapped.model_dump_json().encode() + b"\n")
                terms += count_clinical_terms(masked.forms)
                kinds += masked.kinds
                stays += masked.stays
                for tag, finders in masked.found_by.items():
                    found_by.update({(tag.rpartition("_")[0], name): count for name, count in finders.items()})
                withheld.update(filter(None, [masked.withheld]))
        # A disk that is full is found here, before the map comes to its place.
        output.flush()
    return MaskedFile(rows, kinds, found_by, stays, terms, withheld)


def read_map(path: Path) -> dict[str, Forms]:
    """Return what the tags of each prompt stand for, by its id; raises `BadInputError` for what is no map."""
    if not path.is_file():
        raise BadInputError(f"there is no map {path.name}; give the one that clinaudit mask wrote")
    try:
        with path.open("rb") as lines:
            prompts = [MappedPrompt.model_validate_json(line) for line in lines]
    except ValidationError:
        raise BadInputError(f"{path.name} is no map, or damaged; give the one that clinaudit mask wrote") from None
    return {prompt.id: prompt.forms for prompt in prompts}


def _require_places(options: MaskOptions) -> None:
    require_writable(options.out, role="what mask writes")
    folder = options.map_path.parent
    if options.map_file is not None:
        require_writable(options.map_file, role="the map")
    elif folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder.name} is a link or no directory; name another --out, or a --map")
    if options.map_path.absolute() == options.out.absolute():
        raise UsageError("--map names the output; name a file of its own")
    for path, option in ((options.out, "--out"), (options.map_path, "--map")):
        if path.is_symlink() or path.exists():
            raise UsageError(f"{path.name} exists, and is not overwritten; name a new file with {option}")


def _require_silent_id(file: str, row: TextRow, masked: MaskedPrompt, masker: PromptMasker) -> None:
    """Raise `BadInputError` where the id says what was masked, or another identifier: it is passed on as it stands."""
    folded = fold_value(row.key)
    names = {one.tag for one in categories().values() if one.type == "PER"}
    written = [(tag, form) for tag, forms in tagged_forms(masked.forms).items() for form in forms]
    values = {fold_value(form) for _, form in written}
    values |= {
        fold_value(word) for tag, form in written if tag.rpartition("_")[0] in names for word in name_parts(form)
    }
    if any(len(value) >= _LEAST_IN_ID and value in folded for value in values) or masker.identifies(row.key):
        raise BadInputError(
            "ids are passed on, and the id of a row says who it is about; give --new-ids, or ids that say nothing",
            [f"{file}, row {row.row}, column id: holds an identifier, or what is masked in the row's text"],
        )
