"""What asking takes: tokens estimated before, and counted over all runs."""

import json

import pytest
from support.servers.fault_server import says, verdict_of
from support.servers.served_judging import DEPRESSION, judge_at

from clinaudit.audit.measures.judge.verdict_prompt import ask_for_verdict
from clinaudit.audit.runtime.served.question import OF_ANOTHER_QUESTION, AskingEstimate, Usage, count_usage


def test_tokens_are_estimated_before_and_counted_over_all_runs(server, cache):
    estimates: list[AskingEstimate] = []
    judge = judge_at(server)
    server.faults["b"] = [says("no")]
    server.faults["c"] = [says(json.dumps(verdict_of("c")), usage=None)]
    judge.use_cache(cache, announce=estimates.append)
    for _ in range(2):
        list(judge.judge_many([(text, DEPRESSION) for text in "abc"]))
    assert cache.usage() == Usage(4, 300, 30, 1)
    (estimate,) = estimates
    assert estimate.questions == 3
    asked = [ask_for_verdict(text, DEPRESSION) for text in "abc"]
    assert estimate.prompt_tokens == pytest.approx(sum(len(q.system + q.user) for q in asked) / 4, abs=6)
    assert estimate.most_answer_tokens == sum(q.max_answer_tokens for q in asked)
    again = [q.again(OF_ANOTHER_QUESTION) for q in asked]
    assert estimate.repeated_answer_tokens == 2 * estimate.most_answer_tokens
    assert estimate.repeated_prompt_tokens == pytest.approx(
        sum(len(q.system + q.user) for q in [*asked, *again]) / 4, abs=12
    )
    assert cache.usage().describe() == (
        "4 calls answered, 300 prompt and 30 answer tokens by the server's count (1 calls did not say)"
    )


def test_the_estimate_is_told_in_one_line():
    assert AskingEstimate(1200, 1_000_000, 614_400, 2_100_000, 1_228_800).describe() == (
        "1,200 questions to ask, about 1,000,000 prompt tokens (at 4 characters a token) and at most 614,400 answer "
        "tokens, asked once each; an answer that cannot be used is asked for again, at most 2,100,000 and 1,228,800 "
        "tokens in all"
    )


def test_the_estimate_holds_where_every_answer_has_to_be_asked_for_again(server, cache):
    estimates: list[AskingEstimate] = []
    judge = judge_at(server)
    server.faults = {text: [says("no"), says("no")] for text in "abc"}
    judge.use_cache(cache, announce=estimates.append)
    list(judge.judge_many([(text, DEPRESSION) for text in "abc"]))
    (estimate,) = estimates
    sent = [sum(len(message["content"]) for message in body["messages"]) for _, body in server.seen]
    assert len(sent) == 6
    assert sum(sent) / 4 == pytest.approx(estimate.repeated_prompt_tokens, rel=0.05)


@pytest.mark.parametrize("said", [None, {}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": 10**30}])
def test_an_impossible_count_is_no_count(said):
    assert count_usage(said) == Usage(1, 0, 0, 1)
