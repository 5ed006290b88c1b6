"""Work in shards: in this process, or by the workers of a Ray cluster, which must be safe for PHI.

May import `run` and below. Knows nothing of what a shard is: a function of a module and its arguments.
"""
