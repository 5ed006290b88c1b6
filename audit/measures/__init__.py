"""What an audit measures, a room a step: prompts answered, cohorts, judge, memorization, disclosure, populations."""
