"""The demo: an invented corpus of clinical notes and a small model that is really trained on it."""
