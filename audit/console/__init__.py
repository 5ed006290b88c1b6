"""What is written to stdout and stderr while work goes on: lines, progress bars, libraries kept quiet.

Imports no other room.
"""
