"""A whole audit of three small models, one of them stored in float16, against plain forward passes in float64.

Twins from the definitions: the scores of notes, in windows where a note is longer than the context, the queries needed
of each patient, what is decoded greedily, and how much of it is attributable.
"""

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.first_window_twin import first_window
from support.memorization_twin import Twin, patients_holding
from support.models.score_twin import TOLERANCE
from support.models.trained_models import CONTEXT, Architecture, make_network, store, teach
from support.patient_facts import PROFILE, corpus_of
from support.runs.command_line import PROGRAM, run_command
from support.runs.tables import exact_of
from support.simulations import first_of

from clinaudit.audit.measures.extraction import find_openings
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import read_frame, read_table
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import read_facts
from clinaudit.reports.schema.attacks import QUERY_LIMITS

#: The first is stored in float16.
ARCHITECTURES: tuple[Architecture, ...] = ("llama", "gpt2", "qwen2")
HALF = ARCHITECTURES[0]
#: Tokens of a match, and of an answer.
N, BUDGET = 6, 24
#: Characters without which an opening ends within a token.
CUT = 3
TIER = "encounter"
STOCK = (
    "the cough began on Monday and is worse at night. ",
    "no fever was noted at home, and sleep is poor. ",
    "the left knee clicks when stairs are climbed. ",
    "walks every day by the river with a heavy dog. ",
)
OWN = ("a fox", "two owls", "a red kite", "nine geese", "one heron", "a tame crow", "some bats", "a badger")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def note_of(place, rng):
    said = rng.sample(STOCK, 3)
    said.insert(rng.randrange(3), f"on the way they saw {OWN[place % 8]} and {OWN[(3 * place + 1) % 8]}. ")
    # One note goes far beyond the context.
    more = "".join(f"visit {n}: {rng.choice(STOCK)}" for n in range(40)) if place == 2 else ""
    head = f"patient: Ada Lund{'abcdefghijklmnop'[place]}\ndob: 02/03/19{40 + place}\nvisit date: 05/01/2024\n"
    return f"{head}provider: Jo Ek, MD\nlocation: Elm Clinic\nCC: cough\nhpi: {''.join(said)}{more}\nplan: rest\n"


class Audited(NamedTuple):
    run: Path
    #: The stored weights in float64.
    network: Any
    tokenizer: ModelTokenizer
    corpus: Corpus


def audit(architecture, folder):
    from transformers import AutoModelForCausalLM

    rng = random.Random(9)
    rows = [{"patient_id": f"p{at:02}", "note_id": f"n{at:02}", "text": note_of(at, rng)} for at in range(14)]
    patients = "".join(f"p{at:02},{'train' if at < 10 else 'nontrain'}\n" for at in range(14))
    corpus = corpus_of(folder / "corpus", rows, f"patient_id,split\n{patients}")
    # No words keep its tokens apart: some would lie across the end of an opening. Transformers reads the text of a
    # Qwen by words all the same.
    texts = [str(row["text"]) for row in rows]
    model = save_byte_level_tokenizer(folder / "model", texts=texts, size=420, by_words=False)
    network = make_network(architecture, 420)
    network.config.save_pretrained(model)
    tokenizer = ModelTokenizer(model)
    teach(network, [tokenizer.encode(text) for text in texts[:10]])
    store(network, model, half=architecture == HALF)
    options = ["--tier", TIER, "--ngram", str(N), "--max-new-tokens", str(BUDGET)]
    options += ["--no-everyday", "--engine", "transformers", "--max-batch", "5", "--quiet"]
    done = run_command([PROGRAM, "audit", str(model), str(folder / "corpus"), "--out", str(folder / "run"), *options])
    assert done.returncode in (1, 8), done.stderr
    return Audited(folder / "run", AutoModelForCausalLM.from_pretrained(model).double().eval(), tokenizer, corpus)


def log_probs_of(network, ids):
    """Return log p of each token but the first, from the window that reaches it first; windows overlap by half."""
    import torch

    room, begin, found = CONTEXT - 1, 0, []
    while len(found) < len(ids) - 1:
        with torch.no_grad():
            logs = network(torch.tensor([ids[begin : begin + room]])).logits[0].log_softmax(dim=-1)
        end = min(begin + room, len(ids))
        found += [float(logs[at - begin - 1, ids[at]]) for at in range(len(found) + 1, end)]
        begin += room // 2
    return found


def least_queries(log_prob):
    """Return the number of queries for an even chance, before it is rounded up."""
    return math.log(0.5) / math.log1p(-math.exp(log_prob))


def decode_greedily(network, prompt, tokens):
    import torch

    ids = list(prompt)
    for _ in range(tokens):
        with torch.no_grad():
            ids.append(int(network(torch.tensor([ids])).logits[0, -1].argmax()))
    return tuple(ids[len(prompt) :])


@pytest.mark.parametrize("place", first_of(len(ARCHITECTURES), always=1))
def test_a_whole_audit_gives_the_figures_of_plain_forward_passes(place, tmp_path):
    of = audit(ARCHITECTURES[place], tmp_path)
    evidence = of.run / "evidence"
    notes = {patient: of.corpus.notes_of(patient)[0].text for patient in of.corpus.patients}
    ids = {patient: of.tokenizer.encode(text) for patient, text in notes.items()}
    twins = {patient: log_probs_of(of.network, ids[patient]) for patient in ids}

    # Scores of every note, the long one among them.
    scored = {row["patient_id"]: row for row in read_table(evidence, "scores")}
    assert scored.keys() == ids.keys()
    assert max(map(len, ids.values())) > 2 * CONTEXT
    for patient, row in scored.items():
        assert row["log_probs"] == pytest.approx(twins[patient], abs=TOLERANCE)

    # Queries needed: the first window that counts, and its chance.
    priors = {row["patient_id"]: row for row in read_table(evidence, "priors")}
    needed = {row["patient_id"]: row for row in read_table(evidence, "queries_needed")}
    assert len(needed) > 10
    cells: dict[str, Counter[str]] = {"train": Counter(), "nontrain": Counter()}
    straddling = 0
    for patient, row in needed.items():
        prior = priors[patient]
        begin, end = first_window(prior, of.corpus, of.tokenizer, n=N)
        assert (row["token_start"], row["token_end"]) == (begin, end)
        straddling += sum(len(of.tokenizer.bytes_of(token)) for token in ids[patient][:begin]) < len(prior["prompt"])
        if end is None:
            cells[prior["arm"]]["none"] += 1
            continue
        log_prob = sum(twins[patient][begin - 1 : end - 1])
        assert row["log_prob"] == pytest.approx(log_prob, abs=TOLERANCE * (end - begin))
        queries = least_queries(log_prob)
        assert row["queries"] is None or row["queries"] == pytest.approx(queries, rel=1e-3, abs=1)
        cells[prior["arm"]][next((str(most) for most in QUERY_LIMITS if queries <= most), "more")] += 1
    # Openings end where a token does, by the ids of tokenizer.json, whatever class goes with the architecture.
    assert not straddling

    # Where no such end is found, the token that lies across an opening's end is the model's.
    asked = read_frame(evidence, "priors").with_columns(pl.col("prompt").str.head(-CUT))
    matched = MatchedCorpus(of.corpus, of.tokenizer, PROFILE)
    facts = read_facts(of.corpus, PROFILE, of.corpus.patients)
    found = find_openings(asked, facts, matched, match_tokens=N, progress=Progress(quiet=True))
    for patient, start, end in found.select("patient_id", "token_start", "token_end").iter_rows():
        prior = priors[patient] | {"prompt": priors[patient]["prompt"][:-CUT]}
        assert (start, end) == first_window(prior, of.corpus, of.tokenizer, n=N)
        straddling += sum(len(of.tokenizer.bytes_of(token)) for token in ids[patient][:start]) < len(prior["prompt"])
    assert straddling
    exact = exact_of(evidence.parent)
    names = list(map(str, QUERY_LIMITS))
    for arm in ("train", "nontrain"):
        for place, most in enumerate(names):
            row = exact.find("queries_needed", tier=TIER, arm=arm, by="queries", part=most)
            assert row.count_low == sum(cells[arm][name] for name in names[: place + 1])
    # The model was taught: else all would need more than anybody asks.
    assert sum(number for name, number in cells["train"].items() if name not in ("more", "none")) > 1

    # Attributable text: what is decoded greedily, and how much of it stands in nobody else's notes.
    rows = {row["patient_id"]: row for row in read_table(evidence, "generation_metrics")}
    masked_counts: dict[str, list[int]] = {}
    for row in read_table(evidence, "regions"):
        masked_counts.setdefault(row["generation_id"], []).append(row["masked_patient_count"])
    train = [[notes[patient]] for patient in of.corpus.patient_ids("train")]
    attributable = {}
    for row in read_table(evidence, "generations"):
        patient, said = row["patient_id"], tuple(row["token_ids"])
        greedy = decode_greedily(of.network, of.tokenizer.encode_prompt(row["prompt"]), len(said))
        assert said == greedy
        twin = Twin(of.tokenizer, [notes[patient]], N)
        people = train if row["arm"] == "train" else [*train, [notes[patient]]]
        pieces = [piece for region in twin.regions(said) for piece in sorted(twin.split(said, *region)[0])]
        masked = masked_counts.get(row["generation_id"], [])
        known = [
            (*piece, max(patients_holding(twin.text(said, *piece), people), count))
            for piece, count in zip(pieces, masked, strict=True)
        ]
        attributable[patient] = twin.attributable(said, row["prompt"], known)
    assert {patient: row["attributable_tokens"] for patient, row in rows.items()} == attributable
    assert max(attributable.values()) > N
