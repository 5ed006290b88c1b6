"""Methods that unlearn, one a module, over one training loop (AMNESIA, section 4.2)."""
