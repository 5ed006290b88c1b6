"""Who the patients are (the paper's Tables 5 to 7), and memorization and disclosure by subgroup.

May import `disclosure`, `memorization` and below.
"""
