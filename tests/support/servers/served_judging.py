"""A served judge that asks the fault server, and what the tests of its rooms say of one text."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path

from support.servers.fault_server import MODEL, Server, verdict_of

from clinaudit.audit.measures.judge.served_judge import OpenAIJudge
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, open_answer_cache
from clinaudit.priors.diagnoses import load_panel

PANEL = load_panel()
DEPRESSION = next(diagnosis for diagnosis in PANEL if diagnosis.id == "depression")
SECRET = "Jane Roe, born 1 April 1970, has depression"
POSITIVE = Verdict(True, "positive", ("depression",))
GOOD = json.dumps(verdict_of(SECRET))


def judge_at(server: Server, **options: object) -> OpenAIJudge:
    of_access = {field.name for field in fields(Access)}
    # Where no test is about time-outs, a machine that stands still for a while is none.
    access: dict[str, object] = {"concurrency": 4, "retries": 2, "deadline_s": 300.0}
    settings: dict[str, object] = {"note_tokens": 1000}
    for name, value in options.items():
        (access if name in of_access else settings)[name] = value
    return OpenAIJudge(ServedModel(server.url, MODEL), Access(**access), **settings)  # type: ignore[arg-type]


@contextmanager
def asked(server: Server, cache: AnswerCache, texts: list[str], **options: object) -> Iterator[Iterator[Verdict]]:
    judge = judge_at(server, **options)
    judge.use_cache(cache)
    with closing(judge.judge_many([(text, DEPRESSION) for text in texts])) as stream:  # type: ignore[type-var]
        yield stream


def judgements(server: Server, cache: AnswerCache, texts: list[str], **options: object) -> list[Verdict]:
    with asked(server, cache, texts, **options) as stream:
        return list(stream)


def changed(**fields: object) -> str:
    return json.dumps({**verdict_of(SECRET), **fields})


@contextmanager
def open_cache(root: Path) -> Iterator[AnswerCache]:
    """The answers kept by a run at `root`, which is made."""
    run = RunDirectory(root)
    run.create()
    with open_answer_cache(run) as cache:
        yield cache
