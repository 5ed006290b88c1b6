"""How likely a model holds each token of the patients' notes (docs/methods.md, section 1)."""
