"""The audited model: its files, its tokenizer, the engines that decode it."""
