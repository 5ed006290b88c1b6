"""The command line: one module for each command, the options that several share, what they print. Computes nothing.

May import every room, inside the command that needs it, so that `--help` loads nothing heavy. No room imports it.
"""
