"""How robust forgetting is: the tests, and the block that gathers their results for one model."""
