"""How robust forgetting is: one test a module, and the block that gathers their results for one model."""
