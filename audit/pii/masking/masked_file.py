"""A file of prompts masked, row by row, in constant memory: the stage behind `clinaudit mask` (docs/mask.md).

Owns the order in which output and map are written, so that a run that was killed goes on where it stopped and ends with
the bytes of an undisturbed one. Knows nothing of how identifiers are found.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from clinaudit.audit.pii.masking.batches import mask_prompts
from clinaudit.audit.pii.masking.not_masked import count_clinical_terms
from clinaudit.audit.pii.masking.prompt import BatchRelevance, MaskedPrompt, PromptMasker
from clinaudit.audit.pii.masking.repeated import fold_value
from clinaudit.audit.pii.masking.rows import CheckedRows, TextRow, check_rows, iter_rows, require_same_kind
from clinaudit.audit.pii.masking.tag_map import MappedRecord, MaskedCounts, TagMap, open_map
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import (
    make_private_directory,
    open_alone,
    partial_of,
    put_in_place,
    remove_sqlite,
    require_writable,
    sha256_of,
)
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.files import digest_file

#: Rows that are worked on together: a served model is asked of as many at a time.
_BATCH_ROWS: Final = 64
#: Seconds after which what is done is put on the disk, at the latest.
_KEEP_EVERY_S: Final = 1.0
_MAP_NAME: Final = "map.sqlite"
_QUERY_KEY: Final = "query"
#: Shorter ones stand in an id by chance.
_LEAST_IN_ID: Final = 4
_BLOCK_BYTES: Final = 1 << 20


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
    #: Whether a small language model adds names where the context agrees.
    ner: bool = False
    #: Key of the question, which some row must have; None: `query`, if a row has it.
    query_field: str | None = None
    #: The question about a prompt that is one text; rows have their own.
    query: str | None = None
    #: Whether the question is written too, masked as the text is.
    with_query: bool = False
    #: Whether a row's id is its line in the prompts, rather than its own as it stands.
    new_ids: bool = False
    policy: MaskingPolicy = "minimum-necessary"
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
    def map_path(self) -> Path:
        """Where the map is."""
        return self.map_file or self.out.with_name(f"{self.out.name}.evidence") / _MAP_NAME


@dataclass(frozen=True, slots=True)
class MaskedFile:
    """What became of a file."""

    counts: MaskedCounts
    #: Rows that ask something, and rows that lack the key of the question.
    asking: int
    lacking: int
    map_path: Path
    #: Keys of the input that are not passed on.
    other_keys: tuple[str, ...]


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
    if options.with_query and rows.file.format == "txt":
        raise UsageError("--with-query adds the question to a row, and one text has no rows; leave it out")
    return rows


def mask_file(
    options: MaskOptions,
    rows: CheckedRows,
    masker: PromptMasker,
    relevance: BatchRelevance,
    *,
    identity: Mapping[str, str],
    progress: Progress,
) -> MaskedFile:
    """Mask a file of prompts, or go on with it; return what became of its rows.

    `identity` is what the result depends on beside the options: detectors, policy, corpus. Raises `UsageError` where
    a place is taken, or where the run was begun with other settings or another input, `IntegrityError` where what is
    written already has changed since, and `StorageError` where another command writes to the same place.
    """
    settings = {
        **identity,
        "prompts": digest_file(rows.file),
        "--query-field": options.query_key,
        "--query": "" if options.query is None else hashlib.sha256(options.query.encode()).hexdigest(),
        "--with-query": "yes" if options.with_query else "no",
        "--new-ids": "yes" if options.new_ids else "no",
    }
    if options.map_file is None:
        make_private_directory(options.map_path.parent)
    is_new = False
    try:
        with open_map(options.map_path) as tag_map:
            _begin_or_go_on(options, tag_map, settings)
            is_new = not tag_map.count().records
            if not tag_map.is_finished:
                with _unfinished_output(options.out, rows, tag_map) as output:
                    _mask_rows(options, rows, masker, relevance, tag_map, output, progress)
                tag_map.finish()
            return MaskedFile(tag_map.count(), rows.asking, rows.lacking, options.map_path, rows.other_keys)
    except BadInputError:
        # The same command would fail again, and another one must find its place free. What an earlier one did is kept.
        if is_new:
            remove_sqlite(options.map_path)
            partial_of(options.out).unlink(missing_ok=True)
        raise


class _Output:
    """The masked file as it grows, and the digest of what stands in it."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        """Read the first `length` bytes and stand behind them; where there are fewer, `self.length` is how many."""
        self._file = file
        self._digest = hashlib.sha256()
        self.length = 0
        file.seek(0)
        while block := file.read(min(_BLOCK_BYTES, length - self.length)):
            self._digest.update(block)
            self.length += len(block)

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of the bytes so far."""
        return self._digest.hexdigest()

    def write(self, line: bytes) -> None:
        """Write a line after those before."""
        self._file.write(line)
        self._digest.update(line)
        self.length += len(line)

    def flush(self) -> None:
        """Put on the disk what was written."""
        self._file.flush()
        os.fsync(self._file.fileno())


def _require_places(options: MaskOptions) -> None:
    for path in (options.out, partial_of(options.out)):
        if path.is_symlink():
            raise UsageError(f"{path.name} is a link; name another --out, which is none")
    require_writable(options.out, role="what mask writes")
    folder = options.map_path.parent
    if options.map_file is not None:
        require_writable(options.map_file, role="the map")
    elif folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder.name} is a link or no directory; name another --out, or a --map")
    if options.map_path.absolute() in (options.out.absolute(), options.prompts.absolute()):
        raise UsageError("--map names the prompts or the output; name a file of its own")
    if options.out.exists() and not options.map_path.exists():
        raise UsageError(f"{options.out.name} exists, and no map of it; name a new file with --out")


def _begin_or_go_on(options: MaskOptions, tag_map: TagMap, settings: Mapping[str, str]) -> None:
    begun = tag_map.settings()
    counts = tag_map.count()
    if begun not in (None, settings) and counts.records == sum(counts.withheld.values()):
        # Nothing of it was given out: it is forgotten rather than in the way of other settings.
        if tag_map.is_finished and options.out.is_file() and sha256_of(options.out) == tag_map.output_digest:
            options.out.unlink()
        partial_of(options.out).unlink(missing_ok=True)
        tag_map.forget()
        begun = None
    if begun is None:
        if options.out.exists():
            raise UsageError(f"{options.out.name} exists; name a new file with --out")
        tag_map.begin(settings)
        return
    changed = sorted(key for key in begun.keys() | settings.keys() if begun.get(key) != settings.get(key))
    if changed:
        raise UsageError(
            f"the masking to {options.out.name} was begun with other settings ({', '.join(changed)}); give those "
            "again, or another --out"
        )
    if not tag_map.is_finished:
        return
    if not options.out.is_file():
        raise UsageError(f"{options.out.name} was made already and is gone; name another --out and another --map")
    if sha256_of(options.out) != tag_map.output_digest:
        raise _changed(options.out)


def _changed(path: Path) -> IntegrityError:
    return IntegrityError(
        f"{path.name} is not as this masking wrote it; mask the prompts again with another --out and another --map"
    )


@contextmanager
def _unfinished_output(out: Path, rows: CheckedRows, tag_map: TagMap) -> Iterator[_Output]:
    """Yield the output to append to, as long as the map says; it comes to its place when the block ends well."""
    partial, length = partial_of(out), tag_map.output_bytes
    is_in_place = tag_map.count().records == rows.count and not partial.exists() and out.is_file()
    if is_in_place and out.stat().st_size == length:
        # Killed between the last two steps.
        with out.open("rb") as file:
            yield _written(file, out, tag_map)
        return
    if out.exists():
        raise UsageError(f"{out.name} exists, and is not of this masking; name another --out and --map")
    with open_alone(partial) as file:
        output = _written(file, partial, tag_map)
        # What came after is not in the map: it is written again.
        file.truncate(length)
        yield output
        output.flush()
        put_in_place(partial, out)


def _written(file: BinaryIO, path: Path, tag_map: TagMap) -> _Output:
    """Return the output as far as the map says; raises where it is not what the map says."""
    output = _Output(file, tag_map.output_bytes)
    if output.length < tag_map.output_bytes:
        raise UsageError(f"{path.name} is gone or cut off; remove the map, then mask again")
    if output.length and output.digest != tag_map.output_digest:
        raise _changed(path)
    return output


def _mask_rows(
    options: MaskOptions,
    rows: CheckedRows,
    masker: PromptMasker,
    relevance: BatchRelevance,
    tag_map: TagMap,
    output: _Output,
    progress: Progress,
) -> None:
    done = tag_map.count().records
    waiting = iter_rows(rows, query_field=options.query_key)
    chars = sum(len(row.text or "") for row in islice(waiting, done))
    ready: list[MappedRecord] = []
    kept_at = time.monotonic()

    def keep() -> None:
        nonlocal done, kept_at
        output.flush()
        tag_map.add(done, ready, output_bytes=output.length, output_digest=output.digest)
        done += len(ready)
        ready.clear()
        kept_at = time.monotonic()

    with progress.stage("masking", total=rows.chars, unit="characters", done=chars) as advance:
        while batch := list(islice(waiting, _BATCH_ROWS)):
            pairs = [(row.text or "", row.query) for row in batch]
            for given, masked in zip(batch, mask_prompts(pairs, masker, relevance, advance), strict=True):
                row = replace(given, id=given.row) if options.new_ids else given
                if rows.is_one_text:
                    # Of a text that is withheld nothing is written; an id is not passed on.
                    output.write((masked.text or "").encode())
                else:
                    if not options.new_ids:
                        _require_silent_id(rows.file.name, row, masked, masker)
                    output.write(_line(row, masked, with_query=options.with_query))
                terms = count_clinical_terms(masked.forms)
                ready.append(MappedRecord(row.key, masked.tags, masked.withheld, terms, masked.forms))
            if time.monotonic() - kept_at >= _KEEP_EVERY_S:
                keep()
        keep()


def _line(row: TextRow, masked: MaskedPrompt, *, with_query: bool) -> bytes:
    written: dict[str, object] = {"id": row.id, "text": masked.text, "tags": masked.tags}
    if with_query and row.query is not None:
        written["query"] = masked.query
    return (json.dumps(written, ensure_ascii=False) + "\n").encode()


def _require_silent_id(file: str, row: TextRow, masked: MaskedPrompt, masker: PromptMasker) -> None:
    """Raise `BadInputError` where the id says what was masked, or another identifier: it is passed on as it stands."""
    folded = fold_value(row.key)
    written = [(tag, form) for tag, forms in masked.forms.items() for form in forms]
    values = {fold_value(form) for _, form in written}
    values |= {fold_value(word) for tag, form in written if _is_name(tag) for word in name_parts(form)}
    if any(len(value) >= _LEAST_IN_ID and value in folded for value in values) or masker.identifies(row.key):
        raise BadInputError(
            "ids are passed on, and the id of a row says who it is about; give --new-ids, or ids that say nothing, "
            "and name another --out",
            [f"{file}, row {row.row}, column id: holds an identifier, or what is masked in the row's text"],
        )


def _is_name(tag: str) -> bool:
    return tag.rpartition("_")[0] in {one.tag for one in categories().values() if one.type == "PER"}
