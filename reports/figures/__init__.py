"""The charts, their captions, and their data as tables."""
