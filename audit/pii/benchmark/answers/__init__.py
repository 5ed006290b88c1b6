"""What each system says of a sample in the three tasks."""
