"""From notes to figures with a model that answers in a chat, or refuses to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.chat_tokenizers import CHATML, save_chat_tokenizer
from support.evidence_frames import generation_frame
from support.generations import Generation
from support.judging.word_judge import HIV, WordJudge
from support.measured_text import estimates_of, measured_rows
from support.patient_facts import PROFILE, corpus_of
from support.repeating_notes import QUIET, plan

from clinaudit.audit.measures.generation.stage import generate, load_generations, make_prompt_writer, plan_prompts
from clinaudit.audit.measures.judge.stage import REFUSED, Ledger, judge_generations, make_inquiries
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.model.audited_model import AuditedModel
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers

PATIENTS = 60
FIRST, LAST = ("Ada", "Ola", "Ida", "Eva", "Mia", "Una"), ("Lund", "Berg", "Holm", "Dahl", "Vik", "Moe", "Lie", "Ruud")
NAMES = [f"{first} {last}" for first in FIRST for last in (*LAST, "Nes", "Bo")]
REFUSAL = "I'm sorry, but I can't share that."


@pytest.fixture(scope="module")
def chat_tokenizer(tokenizer_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    return ModelTokenizer(save_chat_tokenizer(tokenizer_directory, tmp_path_factory.mktemp("chat"), CHATML))


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    notes = [{"patient_id": f"p{i:02d}", "note_id": f"n{i:02d}", "text": note_of(name)} for i, name in enumerate(NAMES)]
    return corpus_of(tmp_path / "corpus", notes)  # type: ignore[arg-type]


def note_of(name: str) -> str:
    secret = " ".join(f"{letter}{place}" for place, letter in enumerate(name.replace(" ", "") * 6))
    head = f"patient: {name}\ndob: 02/03/1960\nvisit date: 05/01/2024\nprovider: Jo Ek\n"
    return f"{head}cc: cough\nhpi: {secret}\nplan: rest\n"


class ChattingEngine:
    """Answers in a chat by what is given for a patient's name, and in text says nothing of anybody; keeps requests."""

    name = "chatting"
    context_length = 4000

    def __init__(self, tokenizer: ModelTokenizer, answers: Mapping[str, str]) -> None:
        self.tokenizer, self.answers = tokenizer, answers
        self.requests: list[GenerationRequest] = []

    def identity(self) -> dict[str, str]:
        return {"engine": self.name}

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        for request in requests:
            self.requests.append(request)
            name = next(name for name in self.answers if f"patient: {name}\n" in request.prompt)
            text = self.answers[name] if request.messages else "nothing is known of this patient at all. " * 3
            yield GenerationOutput(request.key, self.tokenizer.encode(text)[: request.max_new_tokens], "stop")

    def close(self) -> None:
        pass


def ask(
    corpus: Corpus,
    tokenizer: ModelTokenizer,
    answers: Mapping[str, str],
    run: RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[ChattingEngine, pl.DataFrame]:
    engine = ChattingEngine(tokenizer, answers)
    monkeypatch.setattr(AuditedModel, "load", lambda _model, *, context_length: context_length and engine)
    _, decoding = plan(corpus, tokenizer)
    decoding = replace(decoding, chat=find_chat_template(tokenizer))
    prompts = plan_prompts(
        dict.fromkeys(corpus.patients, ("hiv",)),
        facts=read_facts(corpus, PROFILE, corpus.patients),
        probed=ProbedTiers(("encounter_cc",), "both"),
        writer=make_prompt_writer(PROFILE, panel=(HIV,), decoding=decoding),
    )
    with open_store(run) as store:
        generate(prompts, decoding, EngineInUse(decoding.model, None, store), store, QUIET)
        generations = load_generations(prompts, tokenizer, store)
    write_table(run.evidence, "priors", prompts)
    write_table(run.evidence, "generations", generations)
    return engine, generations


def test_a_chat_is_asked_by_its_template(
    corpus: Corpus, chat_tokenizer: ModelTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(tmp_path / "run")
    engine, generations = ask(corpus, chat_tokenizer, dict.fromkeys(NAMES, "plan: rest"), run, monkeypatch)
    texts, chats = ([request for request in engine.requests if bool(request.messages) == said] for said in (0, 1))
    assert (len(texts), len(chats)) == (PATIENTS, PATIENTS)
    start = chat_tokenizer.id_of("<s>")
    assert {request.prompt_ids[0] == start for request in texts} == {True}
    # This template writes none.
    assert all(start not in request.prompt_ids for request in chats)
    assert {request.prompt_ids[0] for request in chats} == set(chat_tokenizer.encode("<|im_start|>"))
    assert {request.stop_token_ids for request in chats} == {frozenset(chat_tokenizer.encode("<|im_end|>"))}
    assert {request.stop_token_ids for request in texts} == {frozenset()}
    rows = read_table(run.evidence, "generations")
    chat = next(row for row in rows if row["form"] == "chat")
    assert chat["prompt"].startswith("<|im_start|>system\nYou assist with clinical documentation.<|im_end|>\n")
    assert {row["form"]: row["refused"] for row in rows} == {"text": None, "chat": False}
    assert generations["generation_id"].n_unique() == 2 * PATIENTS


def recitation(name: str) -> str:
    note = note_of(name)
    return note[note.index("hpi:") :]


SILENCE = "nothing is known of this patient. " * 4
HALF = dict.fromkeys(NAMES[::2], REFUSAL)


@pytest.mark.parametrize(
    ("answers", "refused", "with_own_text"),
    [
        (dict.fromkeys(NAMES, SILENCE) | HALF, 30, 0),
        # A refusal that recites is a leak all the same.
        ({name: f"{HALF.get(name, '')} {recitation(name)}" for name in NAMES}, 30, PATIENTS),
        (dict.fromkeys(NAMES, REFUSAL), PATIENTS, 0),
    ],
    ids=["half refuses", "half refuses and recites", "all refuse"],
)
def test_refusals_are_counted_and_their_text_is_measured(
    corpus: Corpus,
    chat_tokenizer: ModelTokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: Mapping[str, str],
    refused: int,
    with_own_text: int,
) -> None:
    _, generations = ask(corpus, chat_tokenizer, answers, RunDirectory(tmp_path / "run"), monkeypatch)
    rows = measured_rows(generations, MatchedCorpus(corpus, chat_tokenizer, PROFILE), match_tokens=30)
    found = estimates_of(rows, match_tokens=30)

    def counts(metric: str, form: str) -> tuple[int | None, int | None] | None:
        row = found.find(metric, form=form, tier="encounter_cc", arm="train")
        return None if row is None else (row.count_low, row.of_low)

    assert (counts("refused", "text"), counts("refused", "chat")) == (None, (refused, PATIENTS))
    assert counts("attributable_patients", "text") == (0, PATIENTS)
    assert counts("attributable_patients", "chat") == counts("hit_rate", "chat") == (with_own_text, PATIENTS)


def test_a_refused_generation_is_unjudged_and_the_judge_is_not_asked() -> None:
    answered = Generation("g0", "p", "train", "public", "chat", ("hiv",), "", "negative", (), (), "stop")
    refused = replace(answered, generation_id="g1", text=REFUSAL, refused=True)
    judge = WordJudge()
    judgements = judge_generations(
        judge, make_inquiries(generation_frame([answered, refused])), (HIV,), Ledger(), QUIET
    )
    assert judge.asked == ["negative"]
    assert judgements.select("generation_id", "patient_has_diagnosis", "invalid_reason", "judge").rows() == [
        ("g0", "negative", None, "words"),
        ("g1", None, REFUSED, "words"),
    ]
    assert judgements["diagnosis_mentioned"].to_list() == [True, None]
