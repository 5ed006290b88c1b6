"""A finished run's files: what is published, the exact report beside the evidence, and purging.

The only room that may make a report of exact results. May import `gate` and below.
"""
