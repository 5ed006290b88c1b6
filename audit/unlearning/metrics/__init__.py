"""What an answer keeps of a patient, one metric a module; and their harmonic means (AMNESIA, section 5)."""
