"""Whether forgetting survives being tried: one test a module, and the block that gathers them for one model."""
