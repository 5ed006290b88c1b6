"""A proposed note-template profile, learned from the notes of a corpus (docs/note-templates.md)."""
