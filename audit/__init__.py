"""The audit: from a model and a corpus to a verdict and a report.

`pipeline.py` names the stages in order; where a room is a stage, its module
`stage` is the door. A room may import the rooms on lower
floors, and `reports`, `priors`, `templates` and `errors`; the floors are in `pyproject.toml`.
"""
