"""The tables: which number stands in which column."""
