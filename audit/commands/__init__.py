"""The command line: one module a command, the options that several share, what they print. Computes nothing."""
