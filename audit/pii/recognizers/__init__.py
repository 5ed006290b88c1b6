"""Rules that find identifying text, one kind a module."""
