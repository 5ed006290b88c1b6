"""Patients whom the site names beside the targets: probed and judged, in the evidence alone (docs/methods.md).

The door is `stage`. May import `inputs`, `memorization`, `judge` and below.
"""
