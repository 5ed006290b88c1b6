"""What readers get: the results schema, what is published, words, tables, charts, pages.

Words: a *figure* is a chart; an *estimate* is a number with its interval; a *metric* is a named measure (AUROC, hit
rate); a *summary* is all that was measured at one tier in one arm.

A function's name says what it returns: `<noun>_text`, `_title`, `_sentence(s)` and `_caption` words, `<noun>_table` a
`Table`, `<noun>_figure` a `BarFigure`, `draw_<chart>` the text of an `<svg>`, `render_<page>` the text of a page, and
`_json` and `_xml` the text of a file.

Imports `priors` and below. The order of its rooms is in `pyproject.toml`.
"""
