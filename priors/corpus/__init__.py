"""The corpus: notes, patients and diagnoses, read from files, checked, and all problems reported at once."""
