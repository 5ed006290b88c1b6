"""What clinical notes look like: spans, headers, sections, templated-text rules."""
