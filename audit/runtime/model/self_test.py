"""The self-test: is the model that the engine decodes the one that was given (docs/methods.md, section 1, "Self-test")?

It asks the tokenizer, transformers' own `generate` and the engine the same few texts, and compares. It catches faults
that nobody has thought of: each would make a model that recites its notes look as if it knew nothing. One model is
loaded at a time. No message holds a text.
"""

import random
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import log
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.console import quiet_stderr
from clinaudit.audit.runtime.model.audited_model import AuditedModel, EngineInUse, choose_threads
from clinaudit.audit.runtime.model.engines import protocol
from clinaudit.audit.runtime.model.engines.memory import EngineOptions, require_loadable
from clinaudit.audit.runtime.model.engines.protocol import DecodedRequest, Engine, GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.engines.transformers_engine import score_texts
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.audit.runtime.model.rewriting import seem_rewritten
from clinaudit.audit.runtime.model.token_counts import likelihood_by_counts
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.store import GenerationOutput, TokenScores
from clinaudit.errors import BadInputError
from clinaudit.templates.note import normalize_newlines

#: Most of what the report is told, by name.
_SAID: Final[dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: Texts that the tokenizer is asked about.
TEXTS: Final = 40
#: Tokens that each prompt is continued by: those of one match.
_NEW_TOKENS: Final = 30
#: Tokens of the prompts, a text each: batches of such prompts are padded.
_PROMPT_TOKENS: Final = (6, 16, 33, 70, 140)
#: Patients whose notes the model is asked about.
ASKED: Final = len(_PROMPT_TOKENS)
#: Control tokens that may stand before a text, at most.
_BEFORE: Final = 8
#: Tokens of a text and what stands before it, of which forms are compared.
_BEGINNING: Final = _BEFORE + _PROMPT_TOKENS[-1] + _NEW_TOKENS
#: Share of the tokens asked for that a whole answer has at least.
_WHOLE: Final = 0.6
#: Two logits this close, or two steps of the weights' type, may change places with the order in which sums are taken.
_ALIKE: Final = 0.05
_ALIKE_STEPS: Final = 2
#: Mean difference of ln p beyond which two ways to compute it are not the same: in float32, and in half precision.
_SAME_FLOAT32: Final = 0.01
_SAME: Final = 0.1
#: Nats a token by which the notes must be likelier than their shuffled tokens, for the model not to be doubted.
_LIKELIER: Final = 0.5
#: Notes of other patients by whose counts of tokens the model is judged, at least.
_FEWEST_COUNTED: Final = 20
#: Share of what pairs of tokens tell beyond single ones that any model of language tells: SmolLM2, which had never seen
#: a patient, told 0.47 of the demo's notes, which are much alike, and with faults in weights or settings mostly less.
_TOLD: Final = 1 / 3
#: Nats a token by which a model as it was trained loses more on notes than it expects itself, at most: SmolLM2 exceeded
#: it by 0.1 on invented notes, by 0.8 on German ones, and models that had learned the notes never.
_SURPRISED: Final = 0.5
#: Standard errors of that difference, beyond which a few tokens do not tell it.
_ERRORS: Final = 3
#: Nats a token that the loss of notes may exceed that of the training log: the log is of all notes.
_ABOVE_LOG: Final = 1.0
#: Tokens of a note that are compared with the log, at most.
_NOTE_TOKENS: Final = 1000
#: Nats a token by which an adapter must make the notes likelier, not to be named.
_BY_ADAPTER: Final = 0.05
#: Share of letters and digits that a tokenizer must give back: at 2% lost, of every two windows of 30 tokens one is.
_GIVEN_BACK: Final = 0.98
#: Nats a token by which another form must be likelier, to be named: a model that knew its notes by heart lost 0.4 by
#: other line ends and 0.6 by lines where there had been none, and of notes it did not know at most 0.2.
_OTHER_FORM: Final = 0.3
#: How notes may have been written when a model was trained on them.
_WRITTEN: Final[dict[str, Callable[[str], str]]] = {
    "with line feeds alone": normalize_newlines,
    "in lines without further blanks": lambda text: "\n".join(
        " ".join(line.split()) for line in text.splitlines() if line.strip()
    ),
    "in one line": lambda text: " ".join(text.split()),
    "in lower case": str.lower,
    "with letters composed (NFKC)": lambda text: unicodedata.normalize("NFKC", text),
    "in ASCII": lambda text: unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii"),
}
_BEGUN: Final = "after the token of a beginning, which tokenizer.json does not put there"


def longest_tested(model: AuditedModel, *, has_log: bool = False) -> int:
    """Return the tokens that a prompt and its continuation have at most, or a note that a training log is beside."""
    return min(_NOTE_TOKENS if has_log else _BEGINNING, model.context_length)


def _surprise(scores: TokenScores) -> tuple[float, float]:
    """Return how many nats a token a text is less likely than the model expects, and at least; 0 if no engine says.

    Of text that a model has learned, ln p is on average what the model expects, Σ p ln p over the vocabulary.
    """
    if scores.means is None or scores.deviations is None:
        return 0.0, 0.0
    surprise = float(np.mean(scores.means - scores.log_probs))
    error = float(np.sqrt(np.square(scores.deviations, dtype=np.float64).sum())) / len(scores.means)
    return surprise, surprise - _ERRORS * error


class _Continuation(NamedTuple):
    """What transformers' own `generate` makes of one prompt; else what the engine makes of it alone, tokens only."""

    token_ids: tuple[int, ...]
    #: Whether the two likeliest logits are nearly equal, at each token.
    ties: Sequence[bool] = ()
    #: ln p of each token, as it was decoded.
    log_probs: npt.NDArray[np.float64] = np.empty(0)


class SelfTest:
    """The self-test of one model by some texts.

    `scores` and `chat` say whether a served model is asked for scores, and in a chat alone, in the audit. `others` are
    notes of patients trained on but the first `ASKED`; `logged`: the loss of training by its log, where there is one.
    """

    def __init__(
        self,
        model: AuditedModel,
        tokenizer: ModelTokenizer,
        texts: Sequence[str],
        *,
        scores: bool,
        chat: bool,
        others: Sequence[str] = (),
        logged: float | None = None,
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._scores = scores or model.files is not None
        self._in_chat = chat and model.files is None
        self._texts = texts
        # A model that was trained in a chat finds bare notes less likely than its log says.
        self._others, self._logged = others, None if tokenizer.has_chat_template else logged
        #: What differs legally, and what could not be tested: sentences for the report.
        self.named: list[str] = []
        #: Why the model may not be as it was trained: sentences for the verdict, which is then no pass.
        self.doubts: list[str] = []
        #: The same with figures of the notes, for the evidence.
        self.stated: list[str] = []
        #: What stands before a prompt; a model that has always read it there finds nothing likely without.
        self._before = tokenizer.encode_prompt("a")[: -len(tokenizer.encode("a")) or None]
        self._requests = self._plan()
        self._references: dict[str, _Continuation] = {}
        self._tolerance = _SAME
        #: The ends of a served model are not known.
        self._stops = frozenset[int]() if model.files is None else model.files.stop_token_ids

    def run_before_loading(self) -> None:
        """Test the tokenizer, and have transformers continue the texts; raises `BadInputError` where a test fails."""
        self._test_tokenizer()
        files = self._model.files
        if files is None:
            return
        self._compare_class()
        why = None
        try:
            # One prompt at a time, whatever the engine does.
            alone = EngineOptions(max_batch=1)
            require_loadable(files, "transformers", context_length=longest_tested(self._model), options=alone)
        except BadInputError:
            why = "this machine has no memory for it, or it runs no such model (quantized, state-space)"
        else:
            try:
                self._ask_transformers(files)
            except LOAD_ERRORS as error:
                self._references.clear()
                why = f"it does not run the model ({type(error).__name__})"
        if why is not None:
            self.named.append(f"The self-test did not compare the engine with transformers: {why}.")

    def __call__(self, engine: Engine | EngineInUse) -> None:
        """Compare what the engine makes of the texts; raises `BadInputError` where it differs."""
        if not self._requests:
            what = "The self-test asked the engine nothing: no note has a token, or the context is too short."
            self.named.append(what)
            return
        # Scores first: where another engine gives them, it makes way for the one that decodes.
        if self._scores:
            try:
                self._compare_scores(engine)
                self._compare_forms(engine)
            except protocol.NoScoresError as error:
                self.named.append(f"The self-test compared no probabilities: {error}.")
        together = {output.key: output for output in engine.generate(self._requests)}
        if len(together) > 1 and len({(one.token_ids, one.text) for one in together.values()}) == 1:
            self.named.append(_SAID["alike"].format(count=len(together)))
        if self._model.files is None:
            self._test_answers(list(together.values()))
        beside, expected = "a text otherwise than transformers' generate", self._references
        if not expected:
            (alone,) = engine.generate(self._requests[:1])
            # Of a served model the text is known: it may batch as it likes, and its logits are not seen.
            if alone.text != together[alone.key].text:
                self.named.append("Asked twice, alone and among others, the served model answered otherwise.")
            beside, expected = "a text alone otherwise than in a batch", {alone.key: _Continuation(alone.token_ids)}
        for key, reference in expected.items():
            self._compare(together[key].token_ids, reference, beside)

    def _plan(self) -> list[GenerationRequest]:
        """Return the prompts: beginnings of as many texts, each of another length, the shortest first."""
        # Room for what stands before a text.
        room = longest_tested(self._model) - _NEW_TOKENS - _BEFORE
        requests, texts = [], iter(sorted(self._texts, key=len, reverse=True))
        for tokens in reversed(_PROMPT_TOKENS):
            text = next(texts, "")
            _, spans = self._tokenizer.encode_with_spans(text)
            kept = min(tokens, len(spans), room)
            prompt = text[: spans[kept - 1, 1]] if kept > 0 else ""
            ids = self._tokenizer.encode_prompt(prompt) if prompt else ()
            if 0 < len(ids) <= room + _BEFORE:
                messages = (("user", prompt),) if self._in_chat else ()
                request = GenerationRequest(f"self-test {tokens}", ids, prompt, _NEW_TOKENS, messages)
                barred = self._tokenizer.special_ids
                requests.append(replace(request, min_new_tokens=_NEW_TOKENS, control_token_ids=barred))
        return requests[::-1]

    def _not_the_models(self, what: str) -> BadInputError:
        other = "vllm" if self._model.engine == "transformers" else "transformers"
        # Where transformers was left out, it may refuse the model.
        may_switch = self._model.engine != "vllm" or self._references
        advice = f"try --engine {other} in a new --out, or --max-batch 1" if may_switch else "try --max-batch 1"
        return _failed(what, f"its figures would not be the model's: {advice}")

    def _test_tokenizer(self) -> None:
        tokenizer, name = self._tokenizer, self._tokenizer.directory.name
        ids = [tokenizer.encode(text) for text in self._texts]
        again = tokenizer.encode_many(self._texts)
        if any(first != tuple(second.tolist()) for first, second in zip(ids, again, strict=True)):
            raise _failed(
                f"the tokenizer in {name} gives the same text other tokens at a second call",
                "look for what it does at random or by length (dropout, truncation), and save it without",
            )
        if any(request.prompt_ids[-1:] != tokenizer.encode(request.prompt)[-1:] for request in self._requests):
            raise _failed(
                f"the tokenizer in {name} ends prompts in a mark of an end, after which a model begins another text",
                "take the mark out of its post-processor",
            )
        if any(not self._stops.isdisjoint(of_text) for of_text in ids):
            self.named.append(_SAID["end_in_notes"])
        unknown = tokenizer.unknown_token or "\0"
        texts = [tokenizer.decode_with_spans(of_text)[0].replace(unknown, "") for of_text in ids]
        given, given_back = (sum(map(str.isalnum, "".join(of))) for of in (self._texts, texts))
        if 2 * given_back < given:
            raise _failed(
                f"the tokenizer in {name} loses most of a text: its rules do not belong to its vocabulary, or that was "
                "made for another language",
                "give the tokenizer that the model was trained with, with its tokenizer.json",
            )
        if given_back < _GIVEN_BACK * given:
            self.doubts.append(_SAID["loses_text"])
        words, known = (re.findall(r"\w+", " ".join(of)) for of in (self._texts, texts))
        if 2 * sum(map(set(known).__contains__, words)) < len(words):
            raise _failed(
                f"the tokenizer in {name} gives most words of the notes back otherwise (in another case, without "
                "accents), so that nothing a model repeats could be found in them",
                "give a corpus whose notes are written as the tokenizer writes them",
            )
        # Some tokenizers write a blank before a text.
        changed = sum(laid.lstrip() != text.lstrip() for laid, text in zip(texts, self._texts, strict=True))
        if changed:
            self.named.append(_SAID["rewrites"])
            self.stated.append(f"{changed} of {len(texts)} texts come back otherwise from the tokenizer")

    def _compare_class(self) -> None:
        # `tokenizer.json` is used in any case.
        directory = self._tokenizer.directory
        if not (directory / "tokenizer.json").is_file():
            return
        named = self._tokenizer.settings.class_name or "of no name"
        try:
            import transformers

            load: Any = transformers.AutoTokenizer.from_pretrained
            with quiet_stderr():
                known = load(directory, local_files_only=True, trust_remote_code=False)
                read = [tuple(known.encode(text, verbose=False)) for text in self._texts]
        except Exception as error:  # noqa: BLE001 (the tokenizers library raises plain `Exception`)
            why = f"cannot be loaded by transformers ({type(error).__name__})"
            self.named.append(f"The tokenizer's class {named} {why}; tokenizer.json was read.")
            return
        # What the class writes behind a text is left out of prompts in any case.
        ours = map(self._tokenizer.encode_prompt, self._texts)
        differing = sum(ids[: len(prompt)] != prompt for ids, prompt in zip(read, ours, strict=True))
        if differing:
            self.named.append(_SAID["other_class"].format(named=named))
            self.stated.append(f"{differing} of {len(read)} texts have other tokens by the class {named}")

    def _ask_transformers(self, files: ModelFiles) -> None:
        import torch
        from transformers import GenerationConfig

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        threads = torch.get_num_threads()
        torch.set_num_threads(choose_threads(files, self._model.options))
        try:
            dtype: Any = torch.float32 if device.type == "cpu" else "auto"

            def load(of: ModelFiles) -> Any:
                with quiet_stderr():
                    return load_pretrained(of, dtype=dtype).to(device).eval()

            # One model at a time is loaded.
            of_base = None if files.adapter is None else self._mean_log_prob(load(replace(files, adapter=None)))
            network = load(files)
            if of_base is not None and self._mean_log_prob(network) < of_base + _BY_ADAPTER:
                self.named.append(_SAID["base_likelier"])
            self._tolerance = _SAME_FLOAT32 if network.dtype == torch.float32 else _SAME
            untyped: Any = GenerationConfig
            # What is not given is taken from here, and a model's own file may ask for samples or penalties.
            network.generation_config = untyped()
            for request in self._requests:
                self._references[request.key] = _continue(network, request, self._stops, untyped, files)
            del network
        finally:
            torch.set_num_threads(threads)
            if device.type == "cuda":
                torch.cuda.empty_cache()

    def _compare(self, ids: Sequence[int], expected: _Continuation, beside: str) -> None:
        # transformers' `generate` has no repetition guard.
        kept = expected.token_ids[: first_repeated_ngram(expected.token_ids)]
        at = next((place for place, (a, b) in enumerate(zip_longest(ids, kept)) if a != b), None)
        if at is None:
            return
        if not any(expected.ties[at : at + 1]):
            what = f"the {self._model.engine} engine continues {beside}, from token {at + 1} of {_NEW_TOKENS} on"
            raise self._not_the_models(what)
        self.named.append(_SAID["tie"].format(beside=beside))

    def _test_answers(self, outputs: Sequence[GenerationOutput]) -> None:
        """Raise where a served model's answers are cut off; name it where they end early or seem to be rewritten."""
        answers = [one.text or "" for one in outputs]
        tokens = [len(self._tokenizer.encode(text)) for text in answers]
        # By another release of the tokenizer a text has somewhat fewer.
        counts = [(one.finish_reason, count) for one, count in zip(outputs, tokens, strict=True)]
        long = [count for reason, count in counts if reason == "length"]
        # A limit cuts all off. One alone may hold blanks, a rule or control tokens: few tokens as text, or none.
        if long and max(long) < _WHOLE * _NEW_TOKENS:
            raise _failed(
                f"the server cuts an answer off after {max(long)} of {_NEW_TOKENS} tokens, as --tokenizer counts them",
                "raise its limit of new tokens, or give the tokenizer of the model that it serves",
            )
        if any(reason != "length" and count < _WHOLE * _NEW_TOKENS for reason, count in counts):
            self.named.append(_SAID["ended_early"].format(tokens=_NEW_TOKENS))
        if seem_rewritten(answers, self._texts):
            self.named.append(_SAID["rewritten"])

    def _compare_scores(self, engine: Engine | EngineInUse) -> None:
        # Of the continuations, with ln p at which transformers decoded them.
        asked = [
            ScoreRequest(prompt.key, (*prompt.prompt_ids, *reference.token_ids), len(prompt.prompt_ids))
            for prompt in self._requests
            if (reference := self._references.get(prompt.key)) is not None
        ]
        differences = [
            np.abs(scores.log_probs - self._references[scores.key].log_probs).mean() for scores in engine.score(asked)
        ]
        if differences and max(differences) > self._tolerance:
            what = "the engine scores tokens otherwise than transformers decodes them: ln p differs by"
            raise self._not_the_models(f"{what} {max(differences):.2g} a token")

    def _short_texts(self, texts: Sequence[str], tokens: int = _BEGINNING) -> Iterator[tuple[int, ...]]:
        """Yield the ids of some texts' beginnings, of two tokens or more, after those that stand before a prompt."""
        room = min(tokens, self._model.context_length) - 1 - len(self._before)
        for text in texts[:ASKED]:
            ids = self._before + self._tokenizer.encode(text)[:room]
            if len(ids) > 1:
                yield ids

    def _mean_log_prob(self, network: Any) -> float:
        """Return mean ln p of the tokens of texts by a network of transformers; 0 where no text has two tokens."""
        asked = [ScoreRequest(str(number), ids, 1) for number, ids in enumerate(self._short_texts(self._texts))]
        scored = score_texts(network, asked, batch_size=1, at_once=True)
        log_probs = [float(log_prob) for scores in scored for log_prob in scores.log_probs]
        return sum(log_probs) / max(1, len(log_probs))

    def _compare_forms(self, engine: Engine | EngineInUse) -> None:
        """State how likely the model holds the texts beside their tokens shuffled, and doubt it where it is no more.

        Name where it holds them likelier in another form than the corpus has, which it was trained on.
        """
        shuffler, begins = random.Random(0), self._tokenizer.id_of(self._tokenizer.settings.roles.get("bos_token", ""))
        before = self._before
        forms: dict[str, list[tuple[int, ...]]] = {"": list(self._short_texts(self._texts))}
        bodies = [ids[len(before) :] for ids in forms[""]]
        forms["shuffled"] = [(*before, *shuffler.sample(ids, len(ids))) for ids in bodies]
        for how, change in _WRITTEN.items():
            forms[how] = list(self._short_texts(list(map(change, self._texts))))
        if begins is not None and begins not in before:
            forms[_BEGUN] = [(begins, *ids[:-1]) for ids in forms[""]]
        asked = [
            ScoreRequest(f"{number} {how}", ids, 1)
            for how, texts in forms.items()
            if how in ("", "shuffled") or texts != forms[""]
            for number, ids in enumerate(texts)
        ]
        if not asked:
            return
        log_probs: dict[str, list[float]] = {}
        surprises = []
        for scores in engine.score(asked):
            how = scores.key.partition(" ")[2]
            log_probs.setdefault(how, []).extend(scores.log_probs.tolist())
            surprises += [_surprise(scores)] if not how else []
        # Of forms alike the first is named, which changes the least.
        means = {how: float(np.mean(log_probs[how])) for how in forms if how in log_probs}
        in_order, in_any = means.pop(""), means.pop("shuffled")
        self.stated.append(f"mean ln p a token: {in_order:.2f} in notes, {in_any:.2f} in their shuffled tokens")
        self._doubt(bodies, in_order, in_any, *map(float, np.median(surprises, axis=0)))
        self._compare_with_log(engine, in_order)
        how = max(means, key=means.__getitem__, default="")
        if how and means[how] > in_order + _OTHER_FORM:
            self.named.append(_SAID["other_form"].format(how=how))
            self.stated.append(f"mean ln p a token: {means[how]:.2f} in notes {how}")

    def _doubt(
        self, bodies: Sequence[tuple[int, ...]], in_order: float, in_any: float, surprise: float, least: float
    ) -> None:
        """Compare mean ln p of notes with what every model surpasses that was trained on such notes, and is as it was.

        `bodies` are the tokens of the notes, `in_any` is the mean of the same ones shuffled, `surprise` that of the
        median note, as a model may have been made to forget one, and `least` what it is at least.
        """
        doubts = ["hardly_likelier"] if in_order < max(in_any + _LIKELIER, -log(self._tokenizer.size)) else []
        bodies = [ids for ids in bodies if len(ids) > 1]  # of a single token nothing stands before it
        if bodies and len(self._others) >= _FEWEST_COUNTED:
            others = [ids.tolist() for ids in self._tokenizer.encode_many(self._others)]
            alone, pairs = likelihood_by_counts(bodies, others, vocabulary=self._tokenizer.size)
            self.stated.append(f"mean ln p a token by counts: {alone:.2f} of single tokens, {pairs:.2f} of pairs")
            # A model that has learned little, and expects no better, is as it was trained.
            if surprise >= 0 and in_order < alone + _TOLD * (pairs - alone):
                doubts.append("less_than_counts")
            elif in_order < pairs:
                self.named.append(_SAID["less_than_pairs"])
        if least > _SURPRISED and not doubts:
            doubts.append("surprised")
            self.stated.append(f"nats a token by which notes are less likely than the model expects: {surprise:.2f}")
        self.doubts += [_SAID[doubt] for doubt in doubts]

    def _compare_with_log(self, engine: Engine | EngineInUse, in_order: float) -> None:
        """Doubt a model that loses more on notes than in training; `in_order` is mean ln p of their beginnings."""
        if self._logged is None or -in_order <= self._logged + _ABOVE_LOG:
            return
        # A beginning, with all the names and numbers, is the hardest part of a note.
        texts = enumerate(self._short_texts(self._texts, _NOTE_TOKENS))
        scored = engine.score([ScoreRequest(f"{number} whole", ids, 1) for number, ids in texts])
        lost = -float(np.mean(np.concatenate([scores.log_probs for scores in scored])))
        self.stated.append(f"loss of notes: {lost:.2f}; of training by its log: {self._logged:.2f}")
        if lost > self._logged + _ABOVE_LOG:
            self.doubts.append(_SAID["above_log"])


def _continue(
    network: Any, request: GenerationRequest, stops: frozenset[int], config: Any, files: ModelFiles
) -> _Continuation:
    """Return what `generate` makes of a prompt alone, with nothing set but that ends and control tokens are barred."""
    import torch

    ids = torch.tensor([request.prompt_ids], device=network.device)
    with torch.no_grad():
        made = network.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            generation_config=config(
                max_new_tokens=request.max_new_tokens,
                do_sample=False,
                pad_token_id=0,
                # With a cache, `generate` loses the prompt where longrope changes its frequencies (transformers 5.19).
                use_cache=files.long_rope_above is None,
                suppress_tokens=DecodedRequest(request, stops).barred or None,
                return_dict_in_generate=True,
                output_scores=True,
                output_logits=True,
            ),
        )
    tokens = made.sequences[0, ids.shape[1] :]
    best = torch.stack(made.scores)[:, 0].float().topk(2).values
    # A bfloat16 of 20 is 0.125 from the next: there are no closer logits than equal ones.
    alike = (best.abs() * torch.finfo(network.dtype).eps * _ALIKE_STEPS).clamp(min=_ALIKE)
    logs = torch.stack(made.logits)[:, 0].float().log_softmax(dim=-1)
    return _Continuation(
        tuple(tokens.tolist()),
        (best[:, 0] - best[:, 1] <= alike[:, 0]).tolist(),
        logs.gather(-1, tokens[:, None])[:, 0].double().cpu().numpy(),
    )


def _failed(what: str, advice: str) -> BadInputError:
    return BadInputError(f"the self-test failed: {what}; {advice}; --skip-self-test goes on, and the report says so")
