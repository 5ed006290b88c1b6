"""The judge of disclosure: what a text says of a patient's sensitive diagnosis (paper 3.2.2, Appendices C and G).

The chain, in the words that the code uses. An *inquiry* is a text and a diagnosis. It becomes a *question* to a served
model, which gives a *reply*. The final result of a question, kept in the cache, is *settled*. Read and checked, it is a
*verdict*, or the reason why there is none: a row of the table `judgements`. Its *outcome* is one word (positive,
ambiguous, negative, not mentioned, unjudged). The outcome of a cohort's member is a *reading* (in `disclosure`). The
lexicon judge goes from the inquiry to the verdict at once. Inquiries, verdicts and annotations are rows of frames.
"""
