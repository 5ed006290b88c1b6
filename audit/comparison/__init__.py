"""Two runs, before and after a mitigation: paired differences, patient by patient or from what is published."""
