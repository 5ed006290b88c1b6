"""Engines: what turns prompts into greedy generations (paper, Appendix A). Importing this loads nothing heavy."""
