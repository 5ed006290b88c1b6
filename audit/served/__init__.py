"""A language model behind an endpoint: approved addresses, client, questions, answers, their cache and cost."""
