"""Identifiers: what a text holds of them, whose they are, and what a prompt needs of them (PII-Bench 2025).

May import what decodes and what asks a served model. Knows nothing of memorization, of judges or of cohorts.
"""
