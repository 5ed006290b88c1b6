"""What follows from a tally: exact figures of an exact one, and of a coarse one ranges over all tables in its classes.

Takes a tally alone. May import `disclosure`, `gate` and below.
"""
