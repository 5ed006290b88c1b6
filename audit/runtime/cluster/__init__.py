"""Work in shards: in this process, or by the workers of a Ray cluster, which must be safe for PHI."""
