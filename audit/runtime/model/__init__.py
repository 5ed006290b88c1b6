"""The audited model: its files (safetensors only), its tokenizer and token cache, the engines that decode it.

May import `served`, `run` and below. Knows nothing of patients or prompts.
"""
