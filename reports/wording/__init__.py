"""Names, numbers and sentences that more than one output uses, and text made safe for a viewer.

May import `schema`.
"""
