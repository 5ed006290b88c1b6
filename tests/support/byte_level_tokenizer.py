"""A real byte-level BPE tokenizer, trained in a second."""

from collections.abc import Sequence
from pathlib import Path

TRAINING_TEXT = (
    "cc: cough\nhpi: patient presents with cough for two days.\n",
    "ros:\nrespiratory: negative for cough, wheezing.\r\n",
    "naïve café 漢字 😀 plan: rest and fluids\n",
    "aaaa bbbb abab cdcd\n",
) * 4


def save_byte_level_tokenizer(
    directory: Path, *, texts: Sequence[str] = TRAINING_TEXT, size: int = 300, by_words: bool = True
) -> Path:
    """Train and save a small byte-level BPE tokenizer with one special token; `by_words` none goes beyond a word."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=by_words)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    fast.save_pretrained(directory)
    return directory
