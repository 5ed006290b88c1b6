"""Statistical disclosure control: the copy of results and comparisons that may be published.

The threshold rule (no count of 1 to 10 patients), primary and complementary (secondary) suppression, rounding, and
feasibility intervals in place of what is suppressed (Hundepool et al., *Statistical Disclosure Control*, 2012;
docs/results.md, "Small cells"). A function `suppress_<part>` returns the publishable copy of that part; to publish is
`audit.publication`'s. Everything outside a run's `evidence/` is made from what this room returns.

May import `schema`.
"""
