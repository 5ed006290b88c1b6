"""Is it shown that a patient was forgotten? The deletion certificate and its collapse check.

May import `comparison`, `memorization`, `disclosure` and below.
"""
