"""clinaudit: what a clinical language model gives away about the patients it was trained on."""

__version__ = "0.1.0"
