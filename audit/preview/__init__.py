"""An audit before it runs (`clinaudit check`): how notes, template and tables fit, who is asked what, how long it takes.

No model is run, and nothing is left but what `--prompts` names.
"""
