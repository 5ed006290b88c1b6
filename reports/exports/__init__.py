"""The verdict in other tools' formats: JUnit XML and SARIF.

May import `wording`, `schema`.
"""
