"""`clinaudit analyze`: memorization of generations made elsewhere (docs/results.md, "What a run leaves").

Owns the way from a file of generations to the memorization part of the results. Knows nothing of models.
"""

from pathlib import Path

import clinaudit
from clinaudit.audit.cluster.runner import open_runner, require_usable
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.given import read_generations, tokenize_generations
from clinaudit.audit.memorization.stage import measure_memorization
from clinaudit.audit.model.files import digest_tokenizer
from clinaudit.audit.model.token_cache import open_token_cache
from clinaudit.audit.model.tokenizer import ModelTokenizer
from clinaudit.audit.population.subgroups import describe_subgroups, read_facts_of
from clinaudit.audit.publication.published_files import publish_run
from clinaudit.audit.run.confinement import confine_libraries, take_libraries_offline
from clinaudit.audit.run.directory import RunDirectory, scratch_directory
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.audit.run.library_versions import library_versions
from clinaudit.audit.run.manifest import drop_manifest, refuse_purged
from clinaudit.audit.run.store import open_store
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.results import Results, StageCompleteness
from clinaudit.templates.profile import DEFAULT_PROFILE, load_profile


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
