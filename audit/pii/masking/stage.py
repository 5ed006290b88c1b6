"""The door of masking: `clinaudit mask` from its options to the masked file, row by row, and `clinaudit unmask`.

Owns the files that are written, the masked prompts and the map, which appear whole or not at all, in constant memory
(docs/mask.md). Knows nothing of how identifiers are found.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from clinaudit.audit.pii.mask_options import MaskOptions
from clinaudit.audit.pii.masking.detection import filter_detectors, fold_value
from clinaudit.audit.pii.masking.prompt import MaskedPrompt, PromptMasker, mask_prompts
from clinaudit.audit.pii.masking.rows import Rows, RowWriter, TextRow
from clinaudit.audit.pii.masking.written_tags import Forms, tagged_forms, unmask_text
from clinaudit.audit.pii.taxonomy import Detector, categories
from clinaudit.audit.pii.values.normal_form import fold_words, name_parts
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import make_private_directory, replacing, require_writable
from clinaudit.audit.runtime.run.processes import Processes
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.header import fold
from clinaudit.priors.facts import identity_reader
from clinaudit.reports.schema.record import Record
from clinaudit.templates.profile import load_profile
from clinaudit.templates.text_file import read_text_file

#: Rows that are handed to the processes together.
_BATCH_ROWS: Final = 64
#: Of a line of the terms to keep, in characters.
_LONGEST_TERM: Final = 200


@dataclass(slots=True)
class MaskedFile:
    """What became of a file."""

    rows: Rows
    #: Tags by kind.
    kinds: Counter[str] = field(default_factory=Counter)
    #: By the kind of tag and what found it, how often.
    found_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: What was found and stays by decision: quasi-identifiers by kind, and kept terms.
    stays: Counter[str] = field(default_factory=Counter)
    #: Prompts that are withheld, by reason.
    withheld: Counter[str] = field(default_factory=Counter)
    #: Where a detector failed first, if one did: `KeyError at rules.py:12`.
    failure: str | None = None

    def add(self, masked: MaskedPrompt) -> None:
        """Count what became of one prompt."""
        self.kinds += masked.kinds
        self.stays += masked.stays
        for tag, finders in masked.found_by.items():
            self.found_by.update({(tag.rpartition("_")[0], name): count for name, count in finders.items()})
        self.withheld.update(filter(None, [masked.withheld]))
        self.failure = self.failure or masked.failure


class MappedPrompt(Record):
    """A line of the map: what each tag of a prompt stands for, occurrence by occurrence. PHI."""

    id: str
    forms: dict[str, tuple[str, ...]]
    #: By tag, how often each rule, list or model found what it stands for.
    found_by: dict[str, dict[str, int]]


def run_mask(options: MaskOptions, *, progress: Progress) -> MaskedFile:
    """Mask a file of prompts as the options say."""
    if options.template is not None and options.corpus is None:
        raise UsageError("--template says how the notes of a --corpus are laid out; give both or none")
    if options.query_field is not None and fold(options.query_field) in ("id", "text"):
        raise UsageError("--query-field cannot be id or text")
    rows = check_prompts(options)
    keep = frozenset[str]() if options.keep is None else _read_terms(options.keep)
    masker = PromptMasker(_open_detector(options, progress), policy=options.policy, keep=keep)
    with masker.shared(rows.count, rows.chars, most=options.processes) as processes:
        return mask_file(options, rows, masker, processes, progress=progress)


def check_prompts(options: MaskOptions) -> Rows:
    """Read all prompts; raises for rows that cannot be used and places that are taken."""
    require_writable(options.out, role="what mask writes")
    folder = options.map_path.parent
    if options.map is not None:
        require_writable(options.map, role="the map")
    elif folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder.name} is a link or no directory; name another --out, or a --map")
    if options.map_path.absolute() == options.out.absolute():
        raise UsageError("--map names the output; name a file of its own")
    _require_free(options.out, "--out")
    _require_free(options.map_path, "--map")
    rows = Rows(options.prompts, role="the prompts", query_field=options.query_field or "query", query=options.query)
    rows.require_same_kind(options.out)
    if options.query_field is not None and rows.lacking == rows.count:
        raise BadInputError(
            f"no row of {rows.file.name} has the key that --query-field names; name the key that holds the question"
        )
    if options.with_query and rows.is_one_text:
        raise UsageError("--with-query adds the question to a row, and one text has no rows; leave it out")
    return rows


def _require_free(path: Path, option: str) -> None:
    if path.is_symlink() or path.exists():
        raise UsageError(f"{path.name} exists, and is not overwritten; name a new file with {option}")


def _read_terms(path: Path) -> frozenset[str]:
    """Return a site's terms that stay, one a line; blank lines are none.

    Raises `BadInputError` for a file without terms, and for lines with no letter and no figure or too long for a term.
    """
    role = "the terms to keep"
    lines = [line.strip() for line in read_text_file(path, role=role).splitlines()]
    problems = [
        f"{path.name}, line {number}: " + ("is too long for a term" if len(line) > _LONGEST_TERM else "holds no word")
        for number, line in enumerate(lines, 1)
        if line and (len(line) > _LONGEST_TERM or not fold_words(line))
    ]
    if problems or not any(lines):
        raise BadInputError(f"{role} {path.name} must have one term a line, and one at least", problems)
    return frozenset(filter(None, lines))


def _open_detector(options: MaskOptions, progress: Progress) -> Detector:
    """Return what finds identifiers: rules, a language model, and what is the site's own."""
    site: list[Detector] = []
    if options.corpus is not None:
        from clinaudit.audit.pii.detectors.gazetteer import Gazetteer

        profile = load_profile(options.template)
        corpus = read_corpus(options.corpus, stated=identity_reader(profile), scratch=options.out.absolute().parent)
        site.append(Gazetteer(corpus, profile, progress, widely=True))
    if options.identifier_rules is not None:
        from clinaudit.audit.pii.detectors.site_rules import read_site_rules

        site.append(read_site_rules(options.identifier_rules))
    progress.say(f"identifiers are looked for by {options.finders}")
    return filter_detectors(*site, rules_only=options.rules_only, name_model=options.name_model)


def mask_file(
    options: MaskOptions, rows: Rows, masker: PromptMasker, processes: Processes, *, progress: Progress
) -> MaskedFile:
    """Mask a file of prompts by processes that hold the masker; return what became of its rows.

    Raises `StorageError` where another command writes to the same place, and `BadInputError` for an id that says who
    its row is about. Then nothing is written.
    """
    if options.map is None:
        make_private_directory(options.map_path.parent)
    done = MaskedFile(rows)
    columns = ("id", "text", "tags", "kept", *(["query"] if options.with_query else []))
    waiting = iter(rows)
    with (
        replacing(options.out) as output,
        # It comes to its place first: there is no output that its map is not there for.
        replacing(options.map_path) as tag_map,
        progress.stage("masking", total=rows.chars, unit="characters") as advance,
    ):
        writer = RowWriter(output, rows, columns)
        while batch := list(islice(waiting, _BATCH_ROWS)):
            pairs = [(row.text or "", row.query) for row in batch]
            for given, masked in zip(batch, mask_prompts(pairs, processes, advance), strict=True):
                row = replace(given, id=given.row) if options.new_ids else given
                if not rows.is_one_text and not options.new_ids:
                    _require_silent_id(rows.file.name, row, masked, masker)
                written = {"id": row.id, "text": masked.text, "tags": masked.tags, "kept": masked.stays.total()}
                if options.with_query and row.query is not None:
                    written["query"] = masked.query
                writer.write(written)
                mapped = MappedPrompt(id=str(row.id), forms=dict(masked.forms), found_by=masked.found_by)
                tag_map.write(mapped.model_dump_json().encode() + b"\n")
                done.add(masked)
        # A disk that is full is found here, before the map comes to its place.
        output.flush()
    return done


def _require_silent_id(file: str, row: TextRow, masked: MaskedPrompt, masker: PromptMasker) -> None:
    """Raise `BadInputError` where the id says what was masked, or another identifier: it is passed on as it stands."""
    folded = fold_value(str(row.id))
    names = {one.tag for one in categories().values() if one.type == "PER"}
    written = [(tag, form) for tag, forms in tagged_forms(masked.forms).items() for form in forms]
    words = [word for tag, form in written if tag.rpartition("_")[0] in names for word in name_parts(form)]
    values = map(fold_value, (*(form for _, form in written), *words))
    # Shorter ones stand in an id by chance.
    if any(len(value) >= 4 and value in folded for value in values) or masker.identifies(str(row.id)):
        raise BadInputError(
            "ids are passed on, and the id of a row says who it is about; give --new-ids, or ids that say nothing",
            [f"{file}, row {row.row}, column id: holds an identifier, or what is masked in the row's text"],
        )


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


@dataclass(slots=True)
class UnmaskedFile:
    """What became of a file of answers."""

    rows: Rows
    #: Tags that the map does not know: the answering model made them up. They stay as they are.
    unknown_tags: int = 0
    #: Rows without a text.
    empty: int = 0


def unmask_file(answers: Path, map_file: Path, out: Path, *, progress: Progress) -> UnmaskedFile:
    """Put the identifiers back into answers, `{"id", "text"}` a row or one text; the file appears whole or not at all.

    Raises `BadInputError` for rows of which the map holds no record, and `UsageError` where `out` is taken.
    """
    _require_free(out, "--out")
    require_writable(out, role="what unmask writes")
    rows = Rows(answers, role="the answers", null_text=True)
    rows.require_same_kind(out)
    done = UnmaskedFile(rows)
    missing: list[str] = []
    mapped = read_map(map_file)
    if rows.is_one_text and len(mapped) != 1:
        raise BadInputError(
            f"{rows.file.name} is one answer, and {map_file.name} is the map of several prompts; give .jsonl, "
            "whose rows say by their ids which of them they answer"
        )
    with replacing(out) as file, progress.stage("unmasking", total=rows.count, unit="answers") as advance:
        writer = RowWriter(file, rows, ("id", "text"))
        for row in rows:
            forms, text = mapped.get(str(row.id)), row.text
            if forms is None:
                missing.append(f"{rows.file.name}, row {row.row}, column id: is not in the map")
            elif not text:
                done.empty += 1
            else:
                text, unknown = unmask_text(text, forms)
                done.unknown_tags += unknown
            writer.write({"id": row.id, "text": text})
            advance(1)
        if missing:
            raise BadInputError("some answers have no record in the map; give the map of their prompts", missing)
    return done
