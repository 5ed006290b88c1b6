"""Whether the model tells patients trained on from patients never seen, beside a baseline that never sees the model.

Figures are of a whole split: nothing here says of one patient whether the model was trained on them. May import
`scoring`, `statistics` and below.
"""
