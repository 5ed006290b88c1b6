"""The offline judge: lexicon terms, the rules of a note's layout, and the cues, persons and purposes of a sentence.

It reads in the manner of ConText (Harkema et al. 2009). May import `judge.verdict` and what is below `judge`.
"""
