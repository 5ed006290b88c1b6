"""Prompts to generations (paper 3.1, Appendix A), resumable, here or in shards; or generations given from elsewhere.

May import `model`, `cluster`, `run` and below. Knows nothing of how a generation is analysed.
"""
