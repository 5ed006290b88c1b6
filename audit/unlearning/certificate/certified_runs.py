"""A certificate of two runs and of what the site gives beside them: files in, certificate out."""

from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.results.comparison.run_pair import RunPair, open_pair, read_people
from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.certificate.deletion_certificate import Certified, Request, certify
from clinaudit.audit.unlearning.certificate.evidence import read_evidence
from clinaudit.audit.unlearning.certificate.training_record import read_training_record
from clinaudit.priors.corpus.patient import PatientList
from clinaudit.reports.schema.forgetting import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a site gives beside two runs; every part may be missing."""

    trigger: Trigger | None = None
    #: Whom the model after was trained on.
    training_record: Path | None = None
    #: A result of `unlearn evaluate` or `unlearn score`, and which of its models is that after.
    bench: Path | None = None
    bench_model: str | None = None
    #: The audit of another model that was trained again.
    retrained: Path | None = None
    #: Of the named, how many are of earlier requests.
    earlier: int = 0


def certify_runs(pair: RunPair, listed: PatientList, given: Given) -> Certified:
    """Certify that the model after forgot the patients of a list; raises `BadInputError` for what cannot be used."""
    person_of = read_people(pair)
    named = listed.as_people(person_of).ids
    record, bench, retrained = given.training_record, given.bench, given.retrained
    request = Request(
        named=named,
        earlier=given.earlier,
        trigger=given.trigger,
        training_record=None if record is None else read_training_record(record, pair, named, person_of),
        bench=None
        if bench is None
        else read_bench_result(bench, model=given.bench_model, digest=pair.b.model, corpus_digest=pair.a.corpus),
        retrained=None
        if retrained is None
        else read_evidence(open_pair(pair.b.run.root, retrained, allow_different_corpus=False), included=named)[1],
    )
    return certify(request, pair, read_evidence(pair, included=named) if pair.has_evidence else None)
