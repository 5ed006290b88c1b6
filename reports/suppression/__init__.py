"""Statistical disclosure control: the copy of results and comparisons that may be published."""
