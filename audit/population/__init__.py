"""Who the patients are (the paper's Tables 5 to 7), and the figures by subgroup."""
