"""The judge of disclosure: what a text says of a patient's sensitive diagnosis (paper 3.2.2, Appendices C and G).

The chain, in the words that the code uses: an *inquiry* (a text and a diagnosis) becomes a *question* to a served
model, which gives a *reply*; what came of the question, remembered, is *settled*; read and checked, it is a *verdict*;
a *judgement* holds the verdict, or why there is none; its *outcome* is one word (positive, ambiguous, negative, not
mentioned, unjudged), and the outcome of a cohort's member is a *reading* (in `disclosure`). The lexicon goes from the
inquiry to the verdict at once.

May import `generation`, `served`, `statistics`, `run` and below.
"""
