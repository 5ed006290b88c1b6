"""The charts, their captions, and their data as tables. A figure is a chart; a number is an estimate.

May import `tables`, `wording`, `schema`.
"""
