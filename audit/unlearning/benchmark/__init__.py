"""Questions on patients, their disease categories, and who is to be forgotten (AMNESIA, section 3)."""
