"""Patient specificity K (paper 3.2.1): in how many patients' notes a text stands verbatim."""
