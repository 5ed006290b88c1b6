"""Lists of words, as text files, and their reading."""
