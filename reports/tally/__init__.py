"""What was counted, and statistical disclosure control: a tally's leaves know how they are coarsened.

Computes no metric: what follows from a tally, exact or coarse, is computed in `clinaudit.audit.results.ranges`.
"""
