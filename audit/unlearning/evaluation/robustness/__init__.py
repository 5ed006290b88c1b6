"""How robust forgetting is: the tests, and the document of what one model withstands."""
