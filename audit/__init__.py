"""The audit: from a model and a corpus to a verdict and a report. `assembly/pipeline.py` names the stages in order."""
