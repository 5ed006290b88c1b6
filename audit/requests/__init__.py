"""A patient asks to be forgotten: the register of requests, and the way of one from the ids to its certificate."""
