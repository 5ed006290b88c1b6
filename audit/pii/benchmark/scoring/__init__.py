"""From answers to scores: one sample in the three tasks, means with intervals, what two commands print of them."""
