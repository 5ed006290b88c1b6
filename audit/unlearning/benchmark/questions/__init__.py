"""Questions on a patient, whose answers stand in the notes: by templates, by a served model, or from a file."""
