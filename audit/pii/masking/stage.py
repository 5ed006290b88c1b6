"""The door of masking: from the options of `clinaudit mask` to its detectors, its relevance, and the masked file.

Owns what the result depends on. Knows nothing of how a text is masked.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.choices import MaskingPolicy
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.filter_detectors import filter_detectors
from clinaudit.audit.pii.masking.masked_file import (
    BatchRelevance,
    MaskedFile,
    MaskRequest,
    check_request,
    mask_file,
    rules_for_all,
)
from clinaudit.audit.pii.masking.prompt import DetectionError, FoundPrompt, PromptMasker
from clinaudit.audit.run.durable_files import remove_sqlite
from clinaudit.audit.served.access import ServedModel, require_approved
from clinaudit.errors import UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.header import fold
from clinaudit.priors.facts import identity_reader
from clinaudit.templates.profile import load_profile
from clinaudit.version import VERSION


@dataclass(frozen=True, slots=True)
class MaskOptions:
    """The options of `mask`; a field is the option of that name with dashes."""

    prompts: Path
    out: Path
    corpus: Path | None = None
    template: Path | None = None
    #: Whether a small language model adds names where the context agrees.
    ner: bool = False
    query_field: str | None = None
    with_query: bool = False
    new_ids: bool = False
    policy: MaskingPolicy = "minimum-necessary"
    map_file: Path | None = None
    #: Of the served model that is asked what a question needs.
    served_url: str | None = None
    served_model: str | None = None
    served_key_file: Path | None = None
    phi_approved: tuple[str, ...] = ()

    @property
    def request(self) -> MaskRequest:
        """What is masked, and where to."""
        return MaskRequest(self.prompts, self.out, self.map_file, self.query_field, self.with_query, self.new_ids)

    @property
    def asked_model(self) -> ServedModel | None:
        """The model that is asked; None: the rules alone decide. Raises where the options do not go together."""
        if self.served_url is None and self.served_model is None:
            if self.served_key_file is not None:
                raise UsageError("--served-key-file goes with --served-url and --served-model only")
            return None
        if self.served_url is None or self.served_model is None:
            raise UsageError("a served model needs --served-url (such as http://127.0.0.1:8000/v1) and --served-model")
        require_approved(self.served_url, approved_hosts=self.phi_approved)
        return ServedModel(self.served_url, self.served_model)


def run_mask(options: MaskOptions, *, progress: Progress) -> MaskedFile:
    """Mask a file of prompts as the options say."""
    if options.template is not None and options.corpus is None:
        raise UsageError("--template says how the notes of a --corpus are laid out; give both or none")
    if options.query_field is not None and fold(options.query_field) in ("id", "text"):
        raise UsageError("--query-field cannot be id or text")
    model = options.asked_model
    rows = check_request(options.request)
    detector, second, identity = _open_detectors(options, progress)
    masker = PromptMasker(detector, second=second, policy=options.policy)
    if model is None:
        return mask_file(options.request, rows, masker, rules_for_all, identity=identity, progress=progress)
    from clinaudit.audit.pii.relevance.served import relevance_identity

    identity["--served-model"] = json.dumps(relevance_identity(model), sort_keys=True)
    map_path = options.request.map_path
    answers = map_path.with_name(f".{map_path.name}.answers")
    with _served(options, model, masker, answers, progress) as relevance:
        masked = mask_file(options.request, rows, masker, relevance, identity=identity, progress=progress)
    # They are in the result.
    remove_sqlite(answers)
    return masked


def _open_detectors(options: MaskOptions, progress: Progress) -> tuple[Detector, Detector, dict[str, str]]:
    """Return what finds, what looks over the rest, and what both depend on."""
    identity = {"clinaudit": VERSION, "--policy": options.policy}
    site: Detector | None = None
    if options.corpus is not None:
        from clinaudit.audit.pii.detectors.gazetteer import Gazetteer

        profile = load_profile(options.template)
        corpus = read_corpus(options.corpus, stated=identity_reader(profile), scratch=options.out.absolute().parent)
        patients = len(corpus.patients) + len(corpus.validation)
        with progress.stage("reading the site's names", total=patients, unit="patients") as advance:
            site = Gazetteer(corpus, profile, advance=advance, widely=True)
        identity |= {"--corpus": corpus.digest, "--template": profile.digest}
    detector, second = filter_detectors(site, ner=options.ner)
    by = "and a language model" if options.ner else "alone, by no language model"
    progress.say(f"names are looked for by rules {by}")
    identity["detectors"] = f"{detector.name}; {second.name}"
    return detector, second, identity


@contextmanager
def _served(
    options: MaskOptions, model: ServedModel, masker: PromptMasker, answers: Path, progress: Progress
) -> Iterator[BatchRelevance]:
    """Yield what asks the served model about the prompts of a batch."""
    from clinaudit.audit.pii.relevance.served import Detail, RelevanceInquiry, open_served_relevance
    from clinaudit.audit.run.directory import require_regular
    from clinaudit.audit.run.durable_files import make_private_directory
    from clinaudit.audit.served.access import Access
    from clinaudit.audit.served.answer_cache import open_cache_file
    from clinaudit.audit.served.client import read_key_file

    key = None if options.served_key_file is None else read_key_file(options.served_key_file)
    if options.map_file is None:
        make_private_directory(answers.parent)
    require_regular(answers, "the cache of answers")
    with (
        open_cache_file(answers) as cache,
        open_served_relevance(model, Access(options.phi_approved, key), cache) as served,
    ):

        def needed(found: Sequence[FoundPrompt]) -> list[list[EntitySpan]]:
            inquiries: dict[int, RelevanceInquiry] = {}
            offered = [masker.keepable(one) for one in found]
            for place, (one, spans) in enumerate(zip(found, offered, strict=True)):
                # What the model sees is what an outside model would see, were every quasi-identifier needed.
                shown = _shown(masker, one, spans)
                if spans and shown is not None:
                    details = tuple(Detail(span.category, one.text[span.start : span.end]) for span in spans)
                    inquiries[place] = RelevanceInquiry(*shown, details)
            answers_of = dict(zip(inquiries, served.needed(list(inquiries.values())), strict=True))
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
