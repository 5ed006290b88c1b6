"""A served model: approved addresses, client, questions, answers and their cache. All requests go through this room."""
