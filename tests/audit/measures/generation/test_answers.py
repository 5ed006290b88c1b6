"""Which answers are none: refusals by a table, and answers that say nothing by hand and by a twin."""

from random import Random

import pytest
from support.cases import read_cases

from clinaudit.audit.measures.generation.answers import find_what_says_something, is_refusal
from clinaudit.audit.runtime.run.evidence_tables import make_frame, schema_of

CASES = read_cases("measure_cases.txt")


@pytest.mark.parametrize("kind", ["refused", "not refused"])
def test_refusals(kind):
    assert [text for text, _ in CASES[kind] if is_refusal(text) != (kind == "refused")] == []
    assert not is_refusal("")


SENTENCE = tuple(range(100, 112))
PLACE = ("role", "model", "form", "tier", "arm")


def answers(*rows):
    """Return the table `generations`; a row's text is its tokens, spelled out, and each is about its own patient."""
    columns = schema_of("generations")
    usual = {"role": "target", "model": "audited", "form": "text", "tier": "public", "arm": "train", "draw": 0}
    filled = []
    for at, row in enumerate(rows):
        ids = row["token_ids"]
        first_end = row.get("first_end")
        given = usual | {
            "generation_id": f"g{at}",
            "patient_id": f"p{at}",
            "prompt": f"about p{at}",
            "text": "".join(f"{token} " for token in ids),
            "answer_chars": None if first_end is None else sum(len(f"{token} ") for token in ids[:first_end]),
            **row,
        }
        filled.append({column: given.get(column) for column in columns})
    return make_frame(filled, columns)


def said(*rows):
    return find_what_says_something(answers(*rows)).drop("generation_id").rows()


def one_by_one(number):
    """Return so many answers that say something, each something else."""
    return [{"token_ids": (*SENTENCE, at)} for at in range(number)]


@pytest.mark.parametrize(
    ("token_ids", "first_end", "expected"),
    [
        ((), None, (False, False)),
        ((7,), None, (False, False)),
        # A loop, cut at its first repeat or not.
        ((7,) * 1000, None, (False, False)),
        (tuple(range(9)) * 50, None, (False, False)),
        (tuple(range(10)), None, (True, True)),
        (tuple(range(10)) * 50, None, (True, True)),
        # Decoded on behind its end: the judge reads one token, or ten.
        (tuple(range(30)), 1, (True, False)),
        (tuple(range(30)), 9, (True, False)),
        (tuple(range(30)), 10, (True, True)),
    ],
)
def test_what_one_answer_says(token_ids, first_end, expected):
    assert said({"token_ids": token_ids, "first_end": first_end})[0] == expected


def test_the_same_said_to_every_prompt_says_nothing_and_to_one_in_ten_something():
    same = {"token_ids": SENTENCE}
    assert said(*[same] * 20) == [(False, False)] * 20
    # Blanks around it are no other answer.
    assert said(*[same] * 19, same | {"text": answers(same)["text"][0].strip()})[-1] == (False, False)
    assert said(same, same, *one_by_one(18)) == [(True, True)] * 20
    assert said(same, same, same, *one_by_one(17))[:4] == [(False, False)] * 3 + [(True, True)]
    # Up to their ends they are the same.
    ended = [{"token_ids": (*SENTENCE, at), "first_end": len(SENTENCE)} for at in range(20)]
    assert said(*ended) == [(True, False)] * 20


@pytest.mark.parametrize("seed", range(20))
def test_a_twin_agrees(seed):
    draws = Random(seed)
    texts = [tuple(draws.randrange(15) for _ in range(draws.choice((0, 5, 15, 40)))) for _ in range(12)]
    rows = []
    for _ in range(60):
        ids = draws.choice(texts)
        rows.append(
            {
                "token_ids": ids,
                "first_end": draws.choice((None, *range(len(ids)))),
                "prompt": draws.choice((None, *"abcdefghijklmnopqrstuvwxyz")),
                "arm": draws.choice(("train", "nontrain")),
                "patient_id": draws.choice("pqr"),
            }
        )
    table = answers(*rows)

    def twin(row, *, to_end):
        alike, prompts = set(), set()
        for other in table.iter_rows(named=True):
            if all(other[column] == row[column] for column in PLACE):
                prompt = other["patient_id"] if other["prompt"] is None else other["prompt"]
                prompts.add(prompt)
                if read(other, to_end)[0] == read(row, to_end)[0]:
                    alike.add(prompt)
        return len(set(read(row, to_end)[1])) >= 10 and (len(alike) == 1 or 10 * len(alike) <= len(prompts))

    def read(row, to_end):
        cut = row["first_end"] if to_end else None
        return row["text"][: row["answer_chars"] if to_end else None].strip(), row["token_ids"][:cut]

    expected = [
        (twin(row, to_end=False), twin(row, to_end=False) and twin(row, to_end=True)) for row in table.rows(named=True)
    ]
    assert find_what_says_something(table).drop("generation_id").rows() == expected
    assert find_what_says_something(table)["generation_id"].to_list() == table["generation_id"].to_list()
