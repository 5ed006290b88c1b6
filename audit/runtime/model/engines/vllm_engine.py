"""Decoding and scoring with vLLM, in this process (real vLLM; on CPU machines its CPU build).

The one module that imports vllm. Requests are added at once and stepped together; a request is aborted at the token
that completes its first repeat, so that no time goes into text the repetition guard cuts (paper, Appendix A).
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

import numpy as np

from clinaudit.audit.runtime.console import first_line, quiet_stderr
from clinaudit.audit.runtime.model.engines import protocol
from clinaudit.audit.runtime.model.engines.memory import EngineOptions, vllm_cache_bytes
from clinaudit.audit.runtime.model.engines.protocol import DecodedRequest, GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.files import NOT_BY_TRANSFORMERS, ModelFiles
from clinaudit.audit.runtime.model.model_directory import read_json
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, whole_directory
from clinaudit.audit.runtime.run.store import GenerationOutput, TokenScores
from clinaudit.errors import BadInputError, ClinauditError, IncompleteError, UsageError

#: Read by vLLM and its dependencies when they are imported. In one process: a second one takes 25 to 50 s to start.
_ENVIRONMENT = {
    **dict.fromkeys(("VLLM_NO_USAGE_STATS", "VLLM_DO_NOT_TRACK", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), "1"),
    **dict.fromkeys(("VLLM_ENABLE_V1_MULTIPROCESSING", "VLLM_CONFIGURE_LOGGING"), "0"),
    "VLLM_LOGGING_LEVEL": "CRITICAL",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TRITON_F32_DEFAULT": "ieee",  # else a GPU's attention multiplies float32 as TF32: one answer in nine differed
}
_STEP_ERRORS = (ValueError, RuntimeError, OSError, AssertionError, KeyError, TypeError, IndexError)

#: Tokens that are read in one step, as vLLM has it on a CPU; one whole prompt must fit.
_BATCHED_TOKENS = 4096
#: Tokens that vLLM bars on a GPU at most. Where one of the others comes, the request is asked again with it barred.
_MOST_BARRED = 128


class VllmEngine:
    """A model in vLLM, one a process; `BadInputError` where it cannot be loaded, `UsageError` where vLLM is broken."""

    name = "vllm"

    def __init__(self, model: ModelFiles, *, context_length: int, threads: int, options: EngineOptions) -> None:
        os.environ.update(_ENVIRONMENT)
        # Several threads a step often collapse to a tenth of the speed on small models: see `choose_threads`.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        self.context_length = self.longest_scored = context_length
        self._stop_token_ids = model.stop_token_ids
        with quiet_stderr():
            _silence_logging()
            try:
                import torch
                import vllm
                from vllm.engine.arg_utils import EngineArgs
                from vllm.exceptions import VLLMError
                from vllm.platforms import current_platform
                from vllm.v1.engine.llm_engine import LLMEngine
            except (ImportError, OSError, RuntimeError, AttributeError) as error:
                raise UsageError(
                    f"vLLM is installed but does not start ({type(error).__name__}: {first_line(error)}); "
                    "repair the installation, or use --engine transformers"
                ) from error
            _silence_logging()
            self._is_cpu = bool(current_platform.is_cpu())
            self._set_num_threads = torch.set_num_threads
            self._threads_before = torch.get_num_threads()
            # OMP_NUM_THREADS comes too late where torch was imported before; vLLM then disables set_num_threads.
            torch.set_num_threads(threads)
            given: Any = {"tensor_parallel_size": options.tensor_parallel, "gpu_memory_utilization": options.gpu_memory}
            if self._is_cpu:
                _register_class(model)
                # On a CPU vLLM 0.32 cannot draw for a prompt that it reads in parts.
                most = max(context_length, _BATCHED_TOKENS)
                given |= {"enable_chunked_prefill": False, "max_num_batched_tokens": most}
                given |= {"kv_cache_memory_bytes": vllm_cache_bytes(model, context_length), "enforce_eager": True}
            # With "auto" vLLM computes in bfloat16 what was saved as float32.
            floats = {tensor.dtype for tensor in model.tensors if "F" in tensor.dtype}
            is_float32 = self._is_cpu or (floats == {"F32"} and model.quantization is None)
            try:
                # An adapter is merged in the type that vLLM computes with.
                with whole_directory(model, dtype=torch.float32 if self._is_cpu else "auto") as directory:
                    self._engine: Any = LLMEngine.from_engine_args(
                        EngineArgs(
                            model=str(directory),
                            skip_tokenizer_init=True,
                            trust_remote_code=False,
                            load_format="safetensors",
                            use_tqdm_on_load=False,
                            generation_config="vllm",
                            # Of a token as the model predicts it, also where it is forced.
                            logprobs_mode="raw_logprobs",
                            dtype="float32" if is_float32 else "auto",
                            max_model_len=context_length,
                            max_num_seqs=options.batch_size,
                            # Cached prefixes would make a request's arithmetic depend on what came before it.
                            enable_prefix_caching=False,
                            disable_log_stats=True,
                            seed=0,
                            **{name: value for name, value in given.items() if value is not None},
                        )
                    )
                # What vLLM's kernels do not support (a head size, say) shows only when a token is decoded.
                warm_up = DecodedRequest(GenerationRequest("warm-up", (0,), "", 1), frozenset())
                self._engine.add_request("warm-up", {"prompt_token_ids": [0]}, self._decoding(warm_up))
                while self._engine.has_unfinished_requests():
                    self._engine.step()
            except (*LOAD_ERRORS, VLLMError, ClinauditError) as error:
                self._restore_threads()
                if isinstance(error, ClinauditError):
                    raise
                serve = model.kind in NOT_BY_TRANSFORMERS
                advice = "serve it elsewhere (openai:BASE_URL#MODEL_NAME)" if serve else "try --engine transformers"
                raise BadInputError(
                    f"vLLM cannot load the model in {model.directory} ({type(error).__name__}: "
                    f"{first_line(error)}); {advice}"
                ) from error
            self._identity = {
                "engine": self.name,
                "vllm": vllm.__version__,
                "torch": torch.__version__,
                "transformers": version("transformers"),
                "dtype": str(self._engine.model_config.dtype).removeprefix("torch."),
                "device": "cpu" if self._is_cpu else torch.cuda.get_device_name(),
                "threads": str(torch.get_num_threads()),
                **({} if self._is_cpu else {"batch_size": str(options.batch_size)}),
            }

    def identity(self) -> dict[str, str]:
        """Return engine, versions, dtype, device and threads; on a GPU the batch size, too: it may change results."""
        return dict(self._identity)

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation; an error of vLLM's is an `IncompleteError`."""
        protocol.require_fitting(requests, context_length=self.context_length)
        # vLLM's request ids are ours: positions, so that no key stands in any message of vLLM's.
        waiting = dict(enumerate(requests))
        slipped: dict[int, list[int]] = {place: [] for place in waiting}
        while waiting:
            going = {str(place): DecodedRequest(request, self._stop_token_ids) for place, request in waiting.items()}
            asked = {
                name: (one.request.prompt_ids, self._decoding(one, slipped[int(name)])) for name, one in going.items()
            }
            waiting = {}
            for step in self._steps(asked, going):
                name, new, decoding = step.request_id, step.outputs[0], going[step.request_id]
                still_barred = new.token_ids[: max(0, decoding.request.min_new_tokens - decoding.decoded)]
                through = [token for token in still_barred if token in decoding.request.control_token_ids]
                if through:
                    # As long as none slips through, it does not matter which are not barred: the answer is the same.
                    slipped[int(name)].append(through[0])
                    waiting[int(name)] = going.pop(name).request
                    continue
                finish = None
                for place, token in enumerate(new.token_ids):
                    if decoding.bars_ends and new.logprobs:
                        # The likeliest one: of the log-probabilities before the bar, rank 1.
                        decoding.note_wanted(next(one for one, of in new.logprobs[place].items() if of.rank == 1))
                    if (finish := decoding.take(token)) is not None:
                        break
                if finish or new.finish_reason:
                    yield going.pop(name).output(finish or new.finish_reason)

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text, without mean and deviation; an error of vLLM's is an `IncompleteError`.

        vLLM wants room for a new token: the last token of a text is the one that the model is made to write, so that a
        text may fill the context. Its probability is that from before it was forced.
        """
        protocol.require_scorable(requests, longest=self.longest_scored)
        going = {str(position): request for position, request in enumerate(requests)}
        asked = {
            # 0 asks for the log-probabilities of a text's own tokens alone.
            name: (ids[:-1], _sampling(1, {"allowed_token_ids": [ids[-1]], "prompt_logprobs": 0, "logprobs": 0}))
            for name, ids in ((name, one.token_ids) for name, one in going.items())
        }
        for step in self._steps(asked, going):
            request = going.pop(step.request_id)
            with _incomplete_on_error():
                # Of each token a table by token ids, here of one; None of the first.
                tables = [*step.prompt_logprobs, *step.outputs[0].logprobs][request.first :]
                scored = zip(tables, request.token_ids[request.first :], strict=True)
                log_probs = [table[token].logprob for table, token in scored]
            yield TokenScores(request.key, np.array(log_probs, dtype=np.float32))

    def close(self) -> None:
        """Free the model and restore torch's number of threads."""
        self._engine.engine_core.shutdown()
        del self._engine
        self._restore_threads()

    def _steps(self, asked: Mapping[str, tuple[Sequence[int], Any]], going: Mapping[str, object]) -> Iterator[Any]:
        """Yield what each step says of the requests `asked`, until all are out of `going`; the rest is aborted."""
        unfinished: dict[str, str] = {}
        try:
            with _incomplete_on_error():
                for name, (ids, parameters) in asked.items():
                    unfinished[name] = self._engine.add_request(name, {"prompt_token_ids": list(ids)}, parameters)
            while going:
                with _incomplete_on_error():
                    steps = self._engine.step()
                for step in steps:
                    name = step.request_id
                    if step.finished:
                        unfinished.pop(name, None)
                    if name not in going:
                        continue  # aborted at its repeat, a token was still under way
                    yield step
                    if name not in going and name in unfinished:
                        self._engine.abort_request([unfinished.pop(name)], internal=True)
        finally:
            if unfinished:
                self._engine.abort_request(list(unfinished.values()), internal=True)

    def _decoding(self, decoding: DecodedRequest, slipped: Sequence[int] = ()) -> Any:
        """Return how a request is decoded; `slipped` are control tokens that came when they were not barred."""
        request, barred = decoding.request, decoding.barred
        given = {
            "temperature": request.temperature,
            "seed": request.seed if request.temperature else None,
            "min_tokens": request.min_new_tokens,
            "stop_token_ids": sorted(decoding.stop_token_ids),
            # The likeliest token beside the chosen one tells where an end would have come.
            "logprobs": 1 if request.min_new_tokens and not request.temperature else None,
        }
        parameters = _sampling(request.max_new_tokens, given)
        if not self._is_cpu and len(barred) > _MOST_BARRED:
            known = [*sorted(decoding.stop_token_ids), *slipped]
            if len(known) > _MOST_BARRED:
                raise BadInputError(
                    f"vLLM bars {_MOST_BARRED} tokens at most on a GPU, and the model writes more control tokens; "
                    "use --engine transformers"
                )
            # Between the vocabulary's own and those that a training added last are reserved ones, hardly ever written.
            others = [token for token in barred if token not in known]
            first = (_MOST_BARRED - len(known)) // 2
            barred = [*known, *others[:first], *others[len(others) - (_MOST_BARRED - len(known) - first) :]]
        # Beside ends, these are barred until `min_tokens`; with `ignore_eos` they end nothing.
        parameters.update_from_generation_config({"eos_token_id": barred})
        return parameters

    def _restore_threads(self) -> None:
        import torch

        torch.set_num_threads = self._set_num_threads
        torch.set_num_threads(self._threads_before)


def _sampling(max_tokens: int, given: Mapping[str, Any]) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.FINAL_ONLY if "prompt_logprobs" in given else RequestOutputKind.DELTA
    # The end of sequence that vLLM finds itself is ignored: ours are among the stop ids, the same for every engine.
    usual: dict[str, Any] = {"temperature": 0.0, "ignore_eos": True, "detokenize": False, "output_kind": kind}
    return SamplingParams(max_tokens=max_tokens, **usual | dict(given))


@contextmanager
def _incomplete_on_error() -> Iterator[None]:
    """Raise `IncompleteError` for an error of vLLM's; it gives the type only, since the text may quote a prompt."""
    from vllm.exceptions import VLLMError

    try:
        yield
    except (*_STEP_ERRORS, VLLMError) as error:
        raise IncompleteError(
            f"vLLM stopped with {type(error).__name__}; what was finished is kept; "
            "run the same command again, or with --engine transformers in a new run"
        ) from None


def _register_class(model: ModelFiles) -> None:
    # To look at a class that it knows by name only, vLLM starts a second Python, which takes as long as all else up to
    # the first token: it keeps what it saw in a cache, but each run has a cache of its own. So the class is given.
    from vllm import ModelRegistry

    for architecture in read_json(model.directory / "config.json").get("architectures") or ():
        known = ModelRegistry.models.get(architecture)
        if known is not None:
            # What it cannot import, it says in its own words.
            with suppress(*LOAD_ERRORS):
                ModelRegistry.register_model(architecture, known.load_model_cls())


def _silence_logging() -> None:
    # Its error dumps can hold prompts.
    logger = logging.getLogger("vllm")
    logger.handlers[:] = [logging.NullHandler()]
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
