"""The run directory: durable files, lock, store, SQLite files, evidence tables, manifest, confinement of libraries."""
