"""An audit before it runs (`clinaudit check`): how notes, template and tables fit, who is asked what, how much.

No model is run, and nothing is left but what `--prompts` names.
"""
