"""The door of masking: `clinaudit mask` from its options to the masked file, and `clinaudit unmask`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.detection import filter_detectors
from clinaudit.audit.pii.masking.masked_file import MaskedFile, MaskOptions, check_prompts, mask_file, read_map
from clinaudit.audit.pii.masking.prompt import BatchRelevance, DetectionError, FoundPrompt, PromptMasker, rules_for_all
from clinaudit.audit.pii.masking.rows import RowWriter, check_rows, iter_rows, require_same_kind
from clinaudit.audit.pii.masking.written_tags import unmask_text
from clinaudit.audit.pii.values.normal_form import fold_words
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import make_private_directory, remove_sqlite, replacing, require_writable
from clinaudit.audit.runtime.served.access import Access, ServedModel, read_key_file, require_approved
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.header import fold
from clinaudit.priors.facts import identity_reader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.text_file import read_text_file

#: Of a line of the terms to keep, in characters.
_LONGEST_TERM: Final = 200


def run_mask(options: MaskOptions, *, progress: Progress) -> MaskedFile:
    """Mask a file of prompts as the options say."""
    if options.template is not None and options.corpus is None:
        raise UsageError("--template says how the notes of a --corpus are laid out; give both or none")
    if options.query_field is not None and fold(options.query_field) in ("id", "text"):
        raise UsageError("--query-field cannot be id or text")
    model = _asked_model(options)
    rows = check_prompts(options)
    keep = frozenset[str]() if options.keep is None else read_terms(options.keep)
    masker = PromptMasker(_open_detector(options, progress), policy=options.policy, keep=keep)
    with masker.shared(rows.chars, most=options.processes) as masker:
        if model is None:
            return mask_file(options, rows, masker, rules_for_all, progress=progress)
        answers = options.map_path.with_name(f".{options.map_path.name}.answers")
        with _served(options, model, masker, answers, progress) as relevance:
            masked = mask_file(options, rows, masker, relevance, progress=progress)
        # They are in the result.
        remove_sqlite(answers)
        return masked


def _asked_model(options: MaskOptions) -> ServedModel | None:
    """Return the model that is asked; None: the rules alone decide. Raises where the options do not go together."""
    if options.served_url is None and options.served_model is None:
        if options.served_key_file is not None:
            raise UsageError("--served-key-file goes with --served-url and --served-model only")
        return None
    if options.served_url is None or options.served_model is None:
        raise UsageError("a served model needs --served-url (such as http://127.0.0.1:8000/v1) and --served-model")
    require_approved(options.served_url, approved_hosts=options.phi_approved)
    return ServedModel(options.served_url, options.served_model)


def read_terms(path: Path) -> frozenset[str]:
    """Return a site's terms that stay, one a line; blank lines are none.

    Raises `BadInputError` for a file without terms, and for lines with no letter and no figure or of more than 200
    characters: no term is so long.
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


@contextmanager
def _served(
    options: MaskOptions, model: ServedModel, masker: PromptMasker, answers: Path, progress: Progress
) -> Iterator[BatchRelevance]:
    """Yield what asks the served model about the prompts of a batch."""
    from clinaudit.audit.pii.served_relevance import RelevanceInquiry, open_served_relevance
    from clinaudit.audit.runtime.run.directory import require_regular
    from clinaudit.audit.runtime.served.answer_cache import open_cache_file

    key = None if options.served_key_file is None else read_key_file(options.served_key_file)
    if options.map_file is None:
        make_private_directory(answers.parent)
    require_regular(answers, "the cache of answers")
    with open_cache_file(answers) as cache:
        ask = open_served_relevance(model, Access(options.phi_approved, key), cache)

        def needed(found: Sequence[FoundPrompt]) -> list[list[EntitySpan]]:
            inquiries: dict[int, RelevanceInquiry] = {}
            offered = [masker.keepable(one) for one in found]
            for place, (one, spans) in enumerate(zip(found, offered, strict=True)):
                # What the model sees is what an outside model would see, were every quasi-identifier needed.
                shown = _shown(masker, one, spans)
                if spans and shown is not None:
                    details = tuple((span.category, one.text[span.start : span.end]) for span in spans)
                    inquiries[place] = RelevanceInquiry(*shown, details)
            answers_of = dict(zip(inquiries, ask(list(inquiries.values())), strict=True))
            return [
                [span for number, span in enumerate(spans) if number in answers_of.get(place, ())]
                for place, spans in enumerate(offered)
            ]

        yield needed
        progress.say(f"relevance: {cache.usage().describe()}")


def _shown(masker: PromptMasker, found: FoundPrompt, kept: Sequence[EntitySpan]) -> tuple[str, str] | None:
    """Return text and question without direct identifiers; None where there is no question, or they are withheld."""
    try:
        masked = masker.mask(found, kept)
    except DetectionError:
        return None
    return None if masked.text is None or masked.query is None else (masked.text, masked.query)


@dataclass(frozen=True, slots=True)
class UnmaskedFile:
    """What became of a file of answers."""

    rows: int
    #: Tags that the map does not know: the answering model made them up. They stay as they are.
    unknown_tags: int
    #: Rows without a text.
    empty: int
    other_keys: tuple[str, ...]


def unmask_file(answers: Path, map_file: Path, out: Path, *, progress: Progress) -> UnmaskedFile:
    """Put the identifiers back into answers, `{"id", "text"}` a row or one text; the file appears whole or not at all.

    Raises `BadInputError` for rows of which the map holds no record, and `UsageError` where `out` is taken.
    """
    if out.is_symlink() or out.exists():
        raise UsageError(f"{out.name} exists; name a new file with --out")
    require_writable(out, role="what unmask writes")
    rows = check_rows(answers, role="the answers", query_field=None, null_text=True)
    require_same_kind(rows, out)
    unknown = empty = 0
    missing: list[str] = []
    mapped = read_map(map_file)
    if rows.is_one_text and len(mapped) != 1:
        raise BadInputError(
            f"{rows.file.name} is one answer, and {map_file.name} is the map of several prompts; give .jsonl, "
            "whose rows say by their ids which of them they answer"
        )
    with replacing(out) as file, progress.stage("unmasking", total=rows.count, unit="answers") as advance:
        writer = RowWriter(file, rows, ("id", "text"))
        for row in iter_rows(rows):
            forms = mapped.get(row.key)
            text = row.text
            if forms is None:
                missing.append(f"{rows.file.name}, row {row.row}, column id: is not in the map")
            elif not text:
                empty += 1
            else:
                text, not_known = unmask_text(text, forms)
                unknown += not_known
            writer.write({"id": row.id, "text": text})
            advance(1)
        if missing:
            raise BadInputError("some answers have no record in the map; give the map of their prompts", missing)
    return UnmaskedFile(rows.count, unknown, empty, rows.other_keys)
