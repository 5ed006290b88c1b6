"""Verbatim memorization (paper 3.2.1): match, region, source note, section and template; figures by tier and arm."""
