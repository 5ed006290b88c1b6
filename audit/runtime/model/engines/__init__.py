"""Engines: what turns prompts into greedy generations (paper, Appendix A); each loads its one heavy library."""
