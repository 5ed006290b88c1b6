"""The audit itself: generation, matching, attribution, specificity, cohorts, judge, statistics, gate, run store."""
