"""Methods that unlearn, over one training loop (AMNESIA, section 4.2)."""
