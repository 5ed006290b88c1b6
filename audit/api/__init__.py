"""What `import clinaudit` gives: the commands as functions. May import every room; nothing in `audit` imports it."""
