"""Results in other tools' formats: the verdict as JSON and JUnit XML, an unlearning evaluation as CSV files.

May import `wording`, `schema`.
"""
