"""What masking gains: privacy, utility, their balance, and what can still be guessed from what is left."""
