"""Which disease category a patient has, and the sentence that tells (AMNESIA, section 3.1, appendix B.1)."""
