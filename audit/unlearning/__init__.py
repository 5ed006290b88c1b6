"""Is it shown that a patient was forgotten, and at what price? The certificate, and the benchmark of unlearning.

`benchmark/` builds questions and splits, `methods/` unlearns, `evaluation/` asks the models, and `metrics/` scores what
they answer (AMNESIA, arXiv 2605.30599). `certificate/` weighs that beside two audits of the named patients. May import
`comparison`, `memorization`, `disclosure` and below.
"""
