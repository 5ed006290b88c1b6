"""Work in shards: in this process, or by the workers of a Ray cluster, which must be safe for PHI.

May import `run` and below. Knows nothing of what a shard holds: it runs a module's function on its arguments.
"""
