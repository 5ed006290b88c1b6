"""Everyday tasks about nobody: tasks, prompts, and what of the answers counts (docs/methods.md, section 2c)."""
