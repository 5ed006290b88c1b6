"""`clinaudit analyze`: memorization of generations made elsewhere (contract, section 6).

Owns the way from a file of generations to the memorization part of the results. Knows nothing of models.
"""

from collections.abc import Sequence
from pathlib import Path

import clinaudit
from clinaudit.audit.audited_model import digest_tokenizer
from clinaudit.audit.confinement import confine_libraries, take_libraries_offline
from clinaudit.audit.generations_input import GenerationInput, read_generations
from clinaudit.audit.inputs import scratch_directory
from clinaudit.audit.library_versions import library_versions
from clinaudit.audit.manifest import drop_manifest, refuse_purged
from clinaudit.audit.memorization import Generation
from clinaudit.audit.memorization_stage import measure_memorization
from clinaudit.audit.progress import Progress
from clinaudit.audit.publication import publish_run
from clinaudit.audit.shards import open_runner, require_usable
from clinaudit.audit.storage import sha256_of
from clinaudit.audit.store import RunDirectory, open_store
from clinaudit.audit.subgroup_stage import describe_subgroups, read_facts_of
from clinaudit.audit.token_cache import open_token_cache
from clinaudit.audit.token_spans import TokenSpans
from clinaudit.audit.tokens import ModelTokenizer
from clinaudit.priors.corpus import Corpus, read_corpus
from clinaudit.priors.reading import printable
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.results import Results, StageCompleteness
from clinaudit.templates.errors import BadInputError
from clinaudit.templates.profile import DEFAULT_PROFILE, load_profile
from clinaudit.templates.spans import Span


def analyze_file(
    generations_path: Path,
    corpus_path: Path,
    *,
    tokenizer_directory: Path,
    out: Path,
    template: Path | None,
    ngram: int,
    seed: int,
    quiet: bool,
    ray_address: str | None = None,
) -> Results:
    """Analyse a file of generations against a corpus; return the published results."""
    progress = Progress(quiet=quiet)
    run = RunDirectory(out)
    take_libraries_offline(run.work)
    require_usable(ray_address)
    with run.absent_on_failure():
        refuse_purged(run)
        if not tokenizer_directory.is_dir():
            raise BadInputError("no such tokenizer directory; give the audited model's directory to --tokenizer")
        profile = load_profile(template)
        corpus = read_corpus(corpus_path, scratch=scratch_directory(run))
        given = read_generations(generations_path, known_patients=corpus.patients.keys(), tiers=TIER_IDS)
        tokenizer = ModelTokenizer(tokenizer_directory)
        generations = tokenize_generations(given, corpus, tokenizer, name=printable(generations_path.name))
    tokenizer_digest = digest_tokenizer(tokenizer_directory)
    settings: dict[str, object] = {
        "clinaudit": clinaudit.__version__,
        "command": "analyze",
        "GENERATIONS": sha256_of(generations_path),
        "CORPUS": corpus.digest,
        "--tokenizer": tokenizer_digest,
        "--template": sha256_of(template or DEFAULT_PROFILE),
        "--ngram": ngram,
        "--seed": seed,
    }
    with open_store(run) as store, open_token_cache(run, tokenizer_digest, tokenizer) as cache:
        refuse_purged(run)
        store.bind_settings(settings)
        confine_libraries(run.work)
        drop_manifest(run)
        with open_runner(ray_address, run.work) as runner:
            memorization = measure_memorization(
                generations,
                corpus=corpus,
                cache=cache,
                profile=profile,
                ngram=ngram,
                seed=seed,
                run=run,
                progress=progress,
                runner=runner,
            )
        targets = {generation.patient_id for generation in generations}
        results = Results(
            completeness={"generations": StageCompleteness(planned=len(generations), done=len(generations), failed=0)},
            memorization=memorization,
            subgroups=describe_subgroups(run, corpus, read_facts_of(corpus, targets, profile), {}),
            warnings=[
                "Only memorization of the generations given was analysed: no prompt was made here, no diagnosis was "
                "judged, and no policy was applied."
            ],
        )
        record = {"clinaudit": settings.pop("clinaudit"), "settings": settings, "libraries": library_versions()}
        return publish_run(run, results, record)


def tokenize_generations(
    given: Sequence[GenerationInput], corpus: Corpus, tokenizer: ModelTokenizer, *, name: str
) -> list[Generation]:
    """Return generations with ids and characters; `name` is their file's, for errors.

    Raises `BadInputError` where given ids do not decode to the text.
    """
    problems: list[str] = []
    generations: list[Generation] = []
    for row, item in enumerate(given, start=1):
        if item.token_ids is None:
            token_ids, spans = tokenizer.encode_with_spans(item.text)
        else:
            token_ids = item.token_ids
            if token_ids and token_ids[-1] == tokenizer.eos_id:
                token_ids = token_ids[:-1]
            if any(token_id >= tokenizer.size for token_id in token_ids):
                problems.append(f"{name}: row {row}, column token_ids: an id beyond the tokenizer's vocabulary")
                continue
            text, spans = tokenizer.decode_with_spans(token_ids)
            if text.removeprefix(" ") == item.text and text != item.text:
                # Some tokenizers leave out the first blank when they decode.
                spans = [Span(max(0, start - 1), max(0, end - 1)) for start, end in spans]
            elif text != item.text:
                problems.append(f"{name}: row {row}, column token_ids: the ids do not decode to the text")
                continue
        generations.append(
            Generation(
                generation_id=item.generation_id,
                patient_id=item.patient_id,
                arm=corpus.patients[item.patient_id].split,
                tier=item.tier,
                diagnoses=item.diagnoses,
                cohorts=item.diagnoses,
                prompt=item.prompt,
                text=item.text,
                token_ids=tuple(token_ids),
                token_chars=TokenSpans.of(spans),
                finish_reason="given",
            )
        )
    if problems:
        raise BadInputError("the generations do not fit the tokenizer; give that of the model that made them", problems)
    return generations
