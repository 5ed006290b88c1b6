"""The adversary's prior knowledge (paper 3.1, Appendix A): corpus, tiers, facts, diagnoses, prompts, scrubbing."""
