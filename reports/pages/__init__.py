"""The HTML pages and the PDF, with their templates and styles."""
