"""What an answer keeps of a patient, and the means over answers (AMNESIA, section 5)."""
