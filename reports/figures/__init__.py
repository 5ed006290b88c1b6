"""The figures of the report: charts, their captions, and their data as tables. A number is never called a figure here.

May import `tables`, `wording`, `schema`.
"""
