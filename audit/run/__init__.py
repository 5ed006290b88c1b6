"""The run directory: durable files, lock, store, evidence tables, manifest."""
