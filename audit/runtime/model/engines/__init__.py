"""Engines: what turns prompts into greedy generations (paper, Appendix A), and the repetition guard.

May import the rest of `model` but `audited_model`, which loads them, and `served`. Each heavy library is loaded by the
one engine that needs it.
"""
