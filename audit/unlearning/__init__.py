"""Is it shown that a patient was forgotten, and at what price? The certificate, and the benchmark of unlearning.

`benchmark/` builds questions and splits, `methods/` unlearns, `evaluation/` asks the models, and `metrics/` scores what
they answer (AMNESIA, arXiv 2605.30599). The modules beside are the deletion certificate and its collapse check. May
import `comparison`, `memorization`, `disclosure` and below.
"""
