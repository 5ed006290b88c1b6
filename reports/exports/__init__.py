"""Results in other tools' formats: JUnit XML, SARIF, the model card, CSV files of the papers' numbers.

May import `wording`, `schema`.
"""
