"""From models and questions to answers and scores, and how robust the forgetting is (AMNESIA, section 6)."""
