"""The values that options take, and the policies that ship: defined once for settings, commands and rooms."""

from typing import Final, Literal

EngineChoice = Literal["auto", "vllm", "transformers", "openai"]
JudgeChoice = Literal["lexicon", "openai"]
JudgeDecoding = Literal["deterministic", "provider-default"]
Controls = Literal["sensitive", "any"]
#: What the control model is asked: the prompts and the notes' scores, the scores alone, or nothing.
Control = Literal["full", "none"]
EngineName = Literal["vllm", "transformers", "openai"]
#: What stays in a masked prompt: what its question needs (HIPAA's minimum necessary, 164.502(b)); or of that nothing
#: which 164.514(b)(2)(i) lists, such as a city.
MaskingPolicy = Literal["minimum-necessary", "safe-harbor"]
#: Of generated samples: what they are about, and how many people (PII-Bench, 3.2).
SampleDomain = Literal["general", "clinical"]
SampleSubset = Literal["single", "multi", "hard", "distract"]
#: How a served model is asked what a question needs (PII-Bench, F.6).
AskingStrategy = Literal["naive", "with-choice", "self-cot", "auto-cot", "self-consistency", "plan-and-solve"]
#: A method that unlearns (docs/unlearning.md).
UnlearningMethod = Literal["grad_diff", "kl_min", "sim_npo", "rmu"]
DEFAULT: Final = "default"
#: From the strictest to the least strict.
SHIPPED: Final = ("strict", DEFAULT, "research")
