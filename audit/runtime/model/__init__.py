"""The audited model: its files (safetensors only), its tokenizer and token cache, the engines that decode it."""
