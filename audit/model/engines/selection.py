"""The choice of engine, and of its threads. Loads no library until an engine is made."""

import importlib.util
import os

from clinaudit.audit.choices import EngineChoice, EngineName
from clinaudit.audit.model.engines.memory import DEFAULT_OPTIONS, EngineOptions, require_loadable
from clinaudit.audit.model.engines.protocol import Engine
from clinaudit.audit.model.files import ModelFiles
from clinaudit.errors import UsageError

#: Below this size of weights one thread is nearly as fast, and does not collapse under load: on two idle cores, vLLM
#: with a 3 MB model decoded 7,500 to 8,200 tokens/s with one thread and 9,300 to 11,300 with two; with two on a busy
#: machine collapses to about 1,000 have been seen, and of a model of 540 MB to a 25th.
_SMALL_MODEL_BYTES = 1 << 30
#: What the user asked all programs to take, before an engine sets it for itself; of a list the outermost level's.
_ASKED = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]


def resolve_engine(choice: EngineChoice, *, served: bool = False) -> EngineName:
    """Return the engine for `--engine choice`; `served` says whether MODEL is an `openai:` address.

    `auto` is vLLM where it is installed, else transformers; raises `UsageError` for what cannot go together.
    """
    if served:
        if choice not in ("auto", "openai"):
            raise UsageError(f"--engine {choice} does not go with a served MODEL; leave --engine out")
        return "openai"
    if choice == "openai":
        raise UsageError("--engine openai needs a MODEL of the form openai:BASE_URL#MODEL_NAME")
    if choice == "transformers":
        return choice
    if importlib.util.find_spec("vllm") is not None:
        return "vllm"
    if choice == "vllm":
        raise UsageError("--engine vllm: vLLM is not installed; install it, or use --engine transformers")
    return "transformers"


def choose_threads(model: ModelFiles, options: EngineOptions) -> int:
    """Return the threads to decode with: what was asked for, by option or by `OMP_NUM_THREADS`.

    Else one for a small model, and for another one for each core that this process may use.
    """
    if options.threads is not None:
        return options.threads
    if _ASKED.isdecimal() and int(_ASKED):
        return int(_ASKED)
    if model.weight_bytes < _SMALL_MODEL_BYTES:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_engine(
    name: EngineName,
    model: ModelFiles,
    *,
    context_length: int | None = None,
    threads: int | None = None,
    options: EngineOptions = DEFAULT_OPTIONS,
) -> Engine:
    """Load `model` into the engine; `context_length` (tokens, at most the model's) saves memory where it is less.

    Raises `BadInputError` where the model does not fit into memory, or cannot be loaded. Served models: see
    `openai_engine.OpenAIEngine`.
    """
    length = min(context_length or model.context_length, model.context_length)
    threads = threads or choose_threads(model, options)
    require_loadable(model, name, context_length=length, options=options)
    if name == "vllm":
        from clinaudit.audit.model.engines.vllm_engine import VllmEngine

        return VllmEngine(model, context_length=length, threads=threads, options=options)
    if name == "transformers":
        from clinaudit.audit.model.engines.transformers_engine import TransformersEngine

        return TransformersEngine(model, context_length=length, threads=threads, options=options)
    raise UsageError("a served model is not loaded here; give MODEL as openai:BASE_URL#MODEL_NAME")
