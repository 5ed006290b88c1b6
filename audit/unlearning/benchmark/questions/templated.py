"""Questions by templates, of all patients of a corpus: read, asked, checked, chosen.

Owns this order. A patient gets eight questions or is dropped with the reason. Knows nothing of categories or splits.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.charts import Chart
from clinaudit.audit.unlearning.benchmark.questions.candidates import Candidate, CandidateMaker
from clinaudit.audit.unlearning.benchmark.questions.checks import problem_of
from clinaudit.audit.unlearning.benchmark.questions.findings import Finding, read_findings
from clinaudit.audit.unlearning.benchmark.questions.planted_truth import planted_findings, read_truth
from clinaudit.audit.unlearning.benchmark.questions.selection import Chosen, choose_questions
from clinaudit.priors.diagnoses import load_panel

#: What counts as a finding at all is nothing: no header of the template stands in the notes, or nothing under one.
NO_FINDING = "the note template finds nothing to ask about in the notes"


class TemplatedQuestions:
    """Asks by templates; `refused` counts questions that were not asked, by reason."""

    def __init__(
        self,
        corpus: Path,
        charts: Mapping[str, Chart],
        holds_identifier: Callable[[str], bool],
        *,
        seed: int,
    ) -> None:
        """Read the findings of all charts: a description singles one patient out among all."""
        panel = load_panel()
        truth = read_truth(corpus) if corpus.is_dir() else {}
        self._charts = charts
        self._holds_identifier = holds_identifier
        self._seed = seed
        self._findings: dict[str, list[Finding]] = {
            patient_id: [*read_findings(chart), *planted_findings(chart, truth.get(patient_id, ()), panel)]
            for patient_id, chart in charts.items()
        }
        self._maker = CandidateMaker(self._findings, holds_identifier, panel)
        self.refused: Counter[str] = Counter()

    def choose(self, progress: Progress) -> Iterator[tuple[str, Chosen | str]]:
        """Yield each patient with the questions chosen, or why there are none."""
        with progress.stage("asking by templates", total=len(self._charts), unit="patients") as advance:
            for patient_id in self._charts:
                yield patient_id, self._choose_for(patient_id)
                advance(1)

    def _choose_for(self, patient_id: str) -> Chosen | str:
        if not self._findings[patient_id]:
            return NO_FINDING
        texts = [note.text for note in self._charts[patient_id].notes]

        def accept(candidate: Candidate) -> str | None:
            problem = problem_of(candidate, texts, self._holds_identifier)
            self.refused.update([problem] if problem else [])
            return problem

        return choose_questions(patient_id, self._maker.make(patient_id), accept=accept, seed=self._seed)
