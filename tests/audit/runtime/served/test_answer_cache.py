"""Answers that are kept: nothing is asked twice, and a row that is damaged is asked again."""

import sqlite3

from support.servers.fault_server import says
from support.servers.served_judging import DEPRESSION, POSITIVE, judge_at, judgements

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache


def test_equal_questions_are_asked_once_and_remembered(server, cache):
    texts = ["depression", "fine", "depression", "fine", "depression"]
    first = judgements(server, cache, texts)
    assert len(server.seen) == 2
    assert judgements(server, cache, texts) == first
    assert len(server.seen) == 2
    # Another model, another seed or another diagnosis is another question.
    judgements(server, cache, ["fine"], seed=1)
    assert len(server.seen) == 3


def test_unjudged_is_remembered_too(server, cache):
    server.faults["depression"] = [says("no"), says("no")]
    first = judgements(server, cache, ["depression"])
    assert judgements(server, cache, ["depression"]) == first
    assert len(server.seen) == 2


def test_a_damaged_cache_is_asked_again(server, tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create()
    with open_answer_cache(run) as cache:
        judgements(server, cache, ["depression"])
    with sqlite3.connect(run.work / "judge.sqlite") as connection:
        connection.execute("""UPDATE answers SET record = REPLACE(record, 'positive', 'negative')""")
    connection.close()
    with open_answer_cache(run) as cache:
        assert judgements(server, cache, ["depression"])[0].verdict == POSITIVE
    (run.work / "judge.sqlite").write_bytes(b"not a database at all" * 100)
    with open_answer_cache(run) as cache:
        assert judgements(server, cache, ["depression"])[0].verdict == POSITIVE
        assert (run.work / "judge.sqlite").stat().st_mode & 0o077 == 0
    assert len(server.seen) == 3


def test_without_a_cache_answers_are_kept_for_one_call(server):
    judge = judge_at(server)
    for _ in range(2):
        assert len(list(judge.judge_many([("depression", DEPRESSION)] * 3))) == 3
    assert len(server.seen) == 2
