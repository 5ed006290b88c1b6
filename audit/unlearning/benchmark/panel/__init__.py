"""Three judges who check categories and questions, and a person who checks the judges (AMNESIA, appendices F, G)."""
