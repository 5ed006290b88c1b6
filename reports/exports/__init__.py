"""Results in other tools' formats: JUnit XML, SARIF, CSV files of the papers' numbers.

May import `wording`, `schema`.
"""
