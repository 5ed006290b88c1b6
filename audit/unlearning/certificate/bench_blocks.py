"""What a benchmark adds to a certificate, joined: answers, trials, who can be told apart, what it cost others.

Owns what each block means for the verdict (docs/comparing-runs.md). A leak in answers or in a weighed trial makes
`still leaks`; answers that no longer read as before have `collapsed`; what is lacking keeps a patient from `forgotten`;
nothing turns another verdict into `forgotten`. What can be told apart and what it cost decide nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.collateral_block import measure_collateral
from clinaudit.audit.unlearning.certificate.forgetting_verdict import ANSWERS_COLLAPSED, weigh
from clinaudit.audit.unlearning.certificate.question_block import weigh_answers
from clinaudit.audit.unlearning.certificate.robustness_block import weigh_trials
from clinaudit.errors import IntegrityError
from clinaudit.reports.schema.certificate import PatientCertificate, Shortfall
from clinaudit.reports.schema.certificate_blocks import BenchBlocks


@dataclass(frozen=True, slots=True)
class WeighedBench:
    """The certificates of the named patients with what the benchmark says, and the blocks."""

    patients: list[PatientCertificate]
    blocks: BenchBlocks
    shortfalls: list[Shortfall]


def weigh_bench(
    result: BenchResult,
    patients: Sequence[PatientCertificate],
    *,
    evidence: tuple[RunEvidence, RunEvidence] | None = None,
) -> WeighedBench:
    """Weigh what the answers and the trials of the model after say of the named patients.

    `evidence` is that of both runs: what they write of retained patients' notes is part of the price.
    Raises `IntegrityError` where the document of the trials is not as it was written.
    """
    named = [patient.patient_id for patient in patients]
    asked = weigh_answers(result, named)
    try:
        tried = weigh_trials(result, named)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise IntegrityError(
            "the document of what the models of --bench withstand is damaged; run `clinaudit unlearn evaluate` again"
        ) from None
    weighed = []
    for patient in patients:
        one = patient.patient_id
        # Trials are made of all whom the split forgets, and tell nothing of others.
        is_tried = one in result.patients and result.patients[one].role == "forget"
        rows = tried.rows.get(one, [])
        leaks = asked.leaks.get(one, set()) | (tried.leaks if is_tried else set())
        leaks |= {row.reason for row in rows if row.status == "still leaks" and row.reason is not None}
        # Whom the benchmark does not ask about, its answers say nothing of.
        collapses = {ANSWERS_COLLAPSED} if asked.block.collapsed and one in asked.rows else set()
        own = weigh(patient, leaks=leaks, collapses=collapses, lacking=asked.lacking[one])
        weighed.append(own.model_copy(update={"questions": [*asked.rows.get(one, []), *rows]}))
    blocks = BenchBlocks(
        questions=asked.block,
        robustness=tried.robustness,
        detectability=tried.detectability,
        collateral=measure_collateral(result, named, evidence),
    )
    return WeighedBench(weighed, blocks, [*asked.shortfalls, *tried.shortfalls])
