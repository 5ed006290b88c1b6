"""What readers get: the results schema, suppression, charts and the page."""
