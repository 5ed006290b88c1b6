"""`clinaudit analyze`: what generations made elsewhere repeat and name (docs/results.md, "What a run leaves").

Owns the way from a file of generations to the memorization part of the results. Loads no model.
"""

from clinaudit.audit.assembly.analyze_costs import foretell
from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.audit.assembly.results import list_attacks
from clinaudit.audit.assembly.run_record import hidden_digest, rules_digest
from clinaudit.audit.measures.generation.given_generations import read_given_generations, tokenize_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.measures.population.description import describe_patients, list_people
from clinaudit.audit.pii.detectors.site_rules import read_site_rules
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.preview.notes_fit import read_facts_in_shards
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.cluster.ray_runner import open_runner
from clinaudit.audit.runtime.cluster.ray_security import require_secure_settings
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import digest_tokenizer
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import (
    RunDirectory,
    confine_libraries,
    library_versions,
    scratch_directory,
    take_libraries_offline,
)
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.audit.runtime.settings import AnalyzeSettings
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.facts import identity_reader
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.run_results import RunReport, RunResults, Settings
from clinaudit.templates.profile import load_profile
from clinaudit.version import VERSION


def analyze_file(given: AnalyzeSettings) -> RunReport:
    """Analyse a file of generations against a corpus; return what is published."""
    progress = Progress(quiet=given.quiet, form=given.progress)
    run = RunDirectory(given.out)
    refuse_purged(run)
    run.refuse_foreign()
    take_libraries_offline(run.work)
    require_secure_settings(given.ray_address)
    with run.removed_on_failure():
        if not given.tokenizer.is_dir():
            raise BadInputError("no such tokenizer directory; give the audited model's directory to --tokenizer")
        profile = load_profile(given.template)
        site_rules = read_site_rules(given.identifier_rules) if given.identifier_rules else None
        corpus = read_corpus(given.corpus, scratch=scratch_directory(run), stated=identity_reader(profile))
        rows = read_given_generations(given.generations, known_patients=corpus.ids, tiers=TIER_IDS)
        tokenizer = ModelTokenizer(given.tokenizer)
        generations = tokenize_generations(rows, corpus, tokenizer, name=printable(given.generations.name))
    settings: dict[str, object] = {
        "clinaudit": VERSION,
        "command": "analyze",
        "GENERATIONS": hidden_digest(corpus, sha256_of(given.generations).encode("ascii")),
        "CORPUS": corpus.digest,
        "--tokenizer": digest_tokenizer(given.tokenizer),
        "--template": profile.digest,
        "--ngram": given.ngram,
        "--seed": given.seed,
    }
    with open_store(run) as store:
        refuse_purged(run)
        store.bind_settings(settings)
        confine_libraries(run.work)
        remove_manifest(run)
        for reading in corpus.readings:
            progress.say(f"corpus: {reading}")
        write_table(run.evidence, "people", list_people(corpus))
        foretell(len(generations), corpus, given, progress)
        with open_runner(given.ray_address, given.processes) as runner:
            memorization = measure_memorization(
                generations,
                MatchedCorpus(corpus, tokenizer, profile),
                match_tokens=given.ngram,
                seed=given.seed,
                progress=progress,
                runner=runner,
            )
            identifiers = find_identifiers(
                generations,
                corpus=corpus,
                profile=profile,
                seed=given.seed,
                progress=progress,
                site_rules=site_rules,
                runner=runner,
            )
            asked = sorted(set(generations["patient_id"]))
            known = read_facts_in_shards(corpus, profile, asked, progress, runner)
            write_table(run.evidence, "patients", describe_patients(known, corpus))
        tables = {
            **memorization,
            "identifiers": identifiers.rows,
            "planted": identifiers.planted,
        }
        with progress.stage("writing tables", total=len(tables), unit="tables") as advance:
            for table, of_table in tables.items():
                write_table(run.evidence, table, of_table)
                advance(1)
        exact = estimate_run(run.evidence, match_tokens=given.ngram)
        published = Estimates(publish(exact))
        results = RunResults(
            settings=Settings(
                match_tokens=given.ngram,
                tiers=published.values_of("tier", "memorized_fraction"),
                forms=published.values_of("form", "memorized_fraction"),
                seed=given.seed,
            ),
            identifiers=identifiers.facts,
            attacks=list_attacks(published, release=None),
            warnings=[
                "Only memorization of the generations given and their identifiers were analysed: no prompt was made "
                "here, no diagnosis was judged, and no policy was applied."
            ],
        )
        settings["--identifier-rules"] = rules_digest(corpus, site_rules)
        record = {"clinaudit": settings.pop("clinaudit"), "settings": settings, "libraries": library_versions()}
        return publish_run(run, results, exact, record)
