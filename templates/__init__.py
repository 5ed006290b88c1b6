"""The structure of clinical notes: the note-template profile, headers, sections, templated text, spans."""
