"""What every stage runs on: settings, models, served models, the run directory, cluster and console."""
