"""Prompts to generations, resumable, here or in shards; or generations given from elsewhere."""
