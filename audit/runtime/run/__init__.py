"""The run directory: durable files, lock, store, SQLite files, evidence tables, manifest, confinement of libraries.

May import `console` and `choices`. Keeps rows and bytes; knows nothing of their meaning.
"""
