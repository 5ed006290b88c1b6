"""The corpus: notes, patients and diagnoses, read from files and validated; all problems are reported at once."""
