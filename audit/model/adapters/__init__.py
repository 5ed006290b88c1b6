"""Adapters of LoRA's: their files, checked, and the merge into the model that they were trained on.

May import `model_directory` and `safetensors_header` of `model`, and below. Knows nothing of engines.
"""
