"""From models and questions to answers and scores, and whether forgetting survives being tried (AMNESIA, section 6)."""
