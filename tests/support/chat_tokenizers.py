"""Tokenizers with a chat template in each of the usual dialects."""

from pathlib import Path
from typing import Any, Final

CHATML: Final = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_3: Final = (
    "{{ bos_token }}{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    "{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{% if message['role'] == 'system' %}{{ 'Today Date: ' + date_string + '\n\n' }}{% endif %}"
    "{{ message['content'] | trim + '<|eot_id|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
#: Without a system role, as of the first Mistral models.
MISTRAL: Final = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ "
    "raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if "
    "message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == "
    "'assistant' %}{{ ' ' + message['content'] + eos_token }}{% else %}{{ raise_exception('Only user and assistant "
    "roles are supported!') }}{% endif %}{% endfor %}"
)
_TOKENS: Final = ("<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


def save_chat_tokenizer(base: Path, directory: Path, template: str) -> Path:
    """Save a copy of the tokenizer at `base` with a chat template, control tokens, and a token before every text."""
    import transformers
    from tokenizers import processors

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(base, local_files_only=True)
    tokenizer.add_special_tokens({"bos_token": "<s>", "additional_special_tokens": list(_TOKENS)})
    bos = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", bos)]
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(directory)
    return directory
