"""Prompts to generations (paper 3.1, Appendix A), resumable, here or in shards; or generations given from elsewhere."""
