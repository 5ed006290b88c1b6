"""What the published classes leave open: every published number, as the range over all tables within the classes.

Takes the coarse table alone, and never the exact results. May import `disclosure`, `gate` and below.
"""
