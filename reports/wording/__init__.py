"""Names, numbers and sentences that more than one output uses."""
