"""How often a model must be asked until it gives a patient's text away (docs/methods.md, section 13)."""
