"""The command line: it computes nothing, and imports rooms inside commands, so that `--help` loads nothing heavy."""
