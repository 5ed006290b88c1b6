"""The served judge against vLLM's own server: the whole path, with structured answers, on a model that knows nothing.

The tiny demo model writes JSON because the server makes it; that its answers are wrong is the point: none may pass for
a verdict that the text does not bear out.
"""

from collections.abc import Iterator

import pytest
from support.servers.serving import NAME, served_judge

from clinaudit.audit.judge.annotation import PatientHistory
from clinaudit.audit.judge.served_judge import OpenAIJudge
from clinaudit.audit.judge.verdict import invalid_reason
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.served.access import Access
from clinaudit.audit.served.answer_cache import open_answer_cache
from clinaudit.audit.served.approved_addresses import ServedModel
from clinaudit.priors.diagnoses import load_panel

pytestmark = pytest.mark.slow

PANEL = load_panel()


@pytest.fixture(scope="module")
def url(tiny_demo, tmp_path_factory) -> Iterator[str]:
    with served_judge(tiny_demo.model, tmp_path_factory.mktemp("served-judge")) as url:
        yield url


def test_vllm_answers_by_the_schema_and_only_what_the_text_bears_out_is_a_verdict(url, tmp_path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    judge = OpenAIJudge(ServedModel(url, NAME), Access(), note_tokens=400, seed=5)
    texts = ["cc: low mood.\nhpi: denies depression.", "plan: rest.", "current medications:\nsertraline 50 mg daily"]
    items = [(text, diagnosis) for text in texts for diagnosis in PANEL[:4]]
    with open_answer_cache(run) as cache:
        judge.use_cache(cache)
        judgements = list(judge.judge_many(items))
        history = PatientHistory(texts, note_start=texts[0], hpi="", medications=["sertraline 50 mg daily"])
        (annotations,) = judge.annotate_many(lambda: [history], PANEL)
        usage = cache.usage()
        # Everything is remembered: the same again asks nothing.
        assert list(judge.judge_many(items)) == judgements
        assert cache.usage() == usage
    assert len(judgements) == len(items)
    assert usage.uncounted_calls == 0
    assert usage.calls >= len(items) + 1
    assert usage.prompt_tokens > 100 * usage.calls
    for (text, _), judgement in zip(items, judgements, strict=True):
        if judgement.verdict is not None:
            assert invalid_reason(judgement.verdict, text) is None
        else:
            assert judgement.attempts == 2
            # Structured decoding holds the shape; only the content can be wrong, or run out of room.
            assert judgement.invalid_reason not in (
                "the answer is not one JSON object",
                "the answer does not follow the schema",
            )
    assert [row.diagnosis for row in annotations] == [diagnosis.id for diagnosis in PANEL]
