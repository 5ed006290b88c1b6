"""The generation stage: from priors to generations, each committed when finished (docs/how-it-works.md, section 5).

Owns the plan of prompts, resumption, and the way from an engine's ids to text. Knows nothing of how an engine decodes.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.answers import is_refusal
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.audited_model import AuditedModel, EngineInUse
from clinaudit.audit.runtime.model.chat_template import ChatTemplate
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, Places
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table, make_frame, schema_of
from clinaudit.audit.runtime.run.store import GenerationOutput, RunStore
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import NO_FINDINGS, PromptWriter, Revealed, write_priors
from clinaudit.priors.tiers import ProbedTiers, Role
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile

#: Seeds of engines are 32-bit numbers, not negative.
SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True)
class Decoding:
    """How prompts are continued: by which model, greedily or drawn, and up to how many tokens."""

    model: AuditedModel
    tokenizer: ModelTokenizer
    #: For one prompt (Appendix A).
    max_new_tokens: int
    #: None where nothing is asked in a chat.
    chat: ChatTemplate | None = None
    #: Tokens that are decoded before an end counts, where the budget has as many: those of one match.
    min_new_tokens: int = 0
    #: Control tokens that are barred with the ends until then: those that stand in no note as text.
    control_token_ids: frozenset[int] = frozenset()
    #: Of answers that are drawn.
    seed: int = 0


def find_written_tokens(
    patients: Iterable[str], corpus: Corpus, tokenizer: ModelTokenizer, progress: Progress, *, control: frozenset[int]
) -> frozenset[int]:
    """Return which `control` tokens some note of these patients holds as text.

    A mark of the site's own ("[HPI]", made a special token) is text: whoever recites a note writes it.
    """
    if not control:
        return frozenset()
    wanted, written = sorted(set(patients)), set[int]()
    with progress.stage("looking for control tokens in notes", total=len(wanted), unit="patients") as advance:
        for patient_id in wanted:
            texts = [note.text for note in corpus.notes_of(patient_id)]
            # As in matching: a note with carriage returns is read as it stands, and with line feeds.
            texts += [normalize_newlines(text) for text in texts if "\r" in text]
            for ids in tokenizer.encode_many(texts):
                written |= control.intersection(ids.tolist())
            advance(1)
    return frozenset(written)


def plan_prompts(
    patients: Mapping[str, Sequence[str]],
    *,
    facts: Mapping[str, PatientFacts],
    probed: ProbedTiers,
    writer: PromptWriter,
    role: Role = "target",
) -> pl.DataFrame:
    """Return the table `priors` of some patients (id to diagnoses): every prompt, or the reason why there is none."""
    written = write_priors(patients, facts=facts, probed=probed, writer=writer)
    return prompt_table(asdict(prior) | {"role": role} for prior in written)


def prompt_table(prompts: Iterable[Row]) -> pl.DataFrame:
    """Return prompts, each with the columns that it has, as the table `priors`, with the ids of their generations."""

    def whole(prompt: Row) -> Row:
        messages = [{"role": role, "content": content} for role, content in prompt["messages"]]
        return prompt | {"generation_id": generation_id(prompt), "messages": messages}

    return as_table("priors", map(whole, prompts))


def make_prompt_writer(
    profile: NoteProfile, *, panel: Sequence[Diagnosis], decoding: Decoding, revealed: Revealed = NO_FINDINGS
) -> PromptWriter:
    """Return the writer of the prompts that this model is asked."""
    tokenizer, chat = decoding.tokenizer, decoding.chat
    writer = PromptWriter(
        profile,
        panel=panel,
        count_prompt_tokens=lambda text: len(tokenizer.encode_prompt(text)),
        encode=tokenizer.encode,
        max_new_tokens=decoding.max_new_tokens,
        context_length=decoding.model.context_length,
        revealed=revealed,
    )
    return writer if chat is None else writer.in_chat(chat.render)


def generation_id(prompt: Row) -> str | None:
    """Return the id of a prompt's generation, which reveals nothing of it; None where there is no prompt.

    A digest of patient (or task), tier and prompt, of whether the control model is asked, and of the number of a draw.
    """
    if not prompt["prompt"]:
        return None
    control = ["control"] if prompt["model"] == "control" else []
    drawn = ["drawn", prompt["draw"]] if prompt["draw"] else []
    parts = [prompt.get("task") or prompt["patient_id"], prompt["tier"], prompt["prompt"], *control, *drawn]
    return "g" + hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()[:20]


def generate(
    prompts: pl.DataFrame,
    decoding: Decoding,
    engine: EngineInUse,
    store: RunStore,
    progress: Progress,
) -> None:
    """Continue every prompt of one model that has no generation yet: the likeliest answers first, then those drawn.

    Each generation is on the disk before the next one counts. Raises `UsageError` where the engine changed since the
    run began.
    """
    asked = prompts.filter(~pl.col("excluded")).unique("generation_id", keep="first", maintain_order=True)
    finished = store.generations().keys() & set(asked["generation_id"])
    requests = [make_request(row, decoding) for row in asked.iter_rows(named=True)]
    # Of all requests, not of the pending ones: a resumed run must load the same engine.
    engine.require(max((len(request.prompt_ids) + request.max_new_tokens for request in requests), default=1))
    # The longest first, so that the last batch is not one long straggler.
    requests.sort(key=lambda request: (-request.max_new_tokens, -len(request.prompt_ids), request.key))
    drawn = [request for request in requests if request.temperature]
    likeliest = [request for request in requests if not request.temperature]
    unfinished = [request for request in likeliest if request.key not in finished]
    pending_draws = list(_in_whole_batches(drawn, finished, decoding.model.options.batch_size))
    for title, planned, pending in (
        ("generating", likeliest, unfinished),
        ("drawing answers", drawn, pending_draws),
    ):
        if not pending:
            continue
        total, done = len(planned), sum(request.key in finished for request in planned)
        with (
            progress.stage(title, total=total, unit="generations", done=done) as advance,
            closing(engine.generate(pending)) as outputs,
        ):
            for output in outputs:
                if output.key not in finished:
                    store.add_generation(cut_at_repeats(output, decoding.tokenizer))
                    advance(1)


def _in_whole_batches(
    requests: Sequence[GenerationRequest], finished: Collection[str], size: int
) -> Iterator[GenerationRequest]:
    """Yield the requests of each batch of which some are not finished, in an engine's order: the longest first.

    In another batch sums are taken in another order, and of ten thousand draws one may then come out otherwise. So a
    batch that was stopped is decoded again as it was, and gives the same answers.
    """
    ordered = sorted(requests, key=lambda request: (-len(request.prompt_ids), request.key))
    for batch in (ordered[begin : begin + size] for begin in range(0, len(ordered), size)):
        if any(request.key not in finished for request in batch):
            yield from batch


def make_request(prompt: Row, decoding: Decoding) -> GenerationRequest:
    """Return the request of a row of `priors`; a chat's holds the special tokens that its template wrote, no others."""
    key, text = prompt["generation_id"], prompt["prompt"]
    chat = decoding.chat if prompt["messages"] else None
    # Each draw has a seed of its own: else all would be drawn with the same numbers.
    digest = hashlib.sha256(json.dumps([key, decoding.seed]).encode("utf-8")).hexdigest()
    return GenerationRequest(
        key=key,
        prompt_ids=decoding.tokenizer.encode_prompt(text) if chat is None else decoding.tokenizer.encode(text),
        prompt=text,
        max_new_tokens=prompt["max_new_tokens"],
        min_new_tokens=min(decoding.min_new_tokens, prompt["max_new_tokens"]),
        messages=tuple((said["role"], said["content"]) for said in prompt["messages"]),
        stop_token_ids=frozenset() if chat is None else chat.stop_token_ids,
        control_token_ids=decoding.control_token_ids,
        # The model's own distribution.
        temperature=1.0 if prompt["draw"] else 0.0,
        seed=int(digest[:20], 16) % SEEDS if prompt["draw"] else 0,
    )


def cut_at_repeats(output: GenerationOutput, tokenizer: ModelTokenizer) -> GenerationOutput:
    """Return an engine's output as it is stored; an engine with token ids has cut at repeats itself."""
    if output.text is None:
        return output
    ids, spans = tokenizer.encode_with_spans(output.text)
    end = first_repeated_ngram(ids)
    return output if end is None else GenerationOutput(output.key, (), "repetition", output.text[: spans[end, 0]])


def load_generations(prompts: pl.DataFrame, tokenizer: ModelTokenizer, store: RunStore) -> pl.DataFrame:
    """Return the finished generations of some prompts, in their order: the table `generations`."""
    stored = store.generations()
    asked = prompts.filter(~pl.col("excluded") & pl.col("generation_id").is_in(list(stored)))

    def answers() -> Iterator[Row]:
        for key, said in asked.select("generation_id", "messages").iter_rows():
            text, token_ids, chars = read_stored(stored[key], tokenizer)
            end = stored[key].first_end
            yield {
                "text": text,
                "token_ids": token_ids,
                "finish_reason": stored[key].finish_reason,
                "first_end": end,
                "answer_chars": None if end is None or end >= len(chars) else int(chars[end, 0]),
                "refused": is_refusal(text) if said else None,
            }

    added = pl.Schema({name: kind for name, kind in schema_of("generations").items() if name not in asked.columns})
    return as_table("generations", pl.concat([asked, make_frame(answers(), added)], how="horizontal"))


def read_stored(stored: GenerationOutput, tokenizer: ModelTokenizer) -> tuple[str, tuple[int, ...], Places]:
    """Return a stored text with its ids and each one's characters."""
    if stored.text is not None:
        return stored.text, *tokenizer.encode_with_spans(stored.text)
    text, chars = tokenizer.decode_with_spans(stored.token_ids)
    return text, stored.token_ids, chars
