"""What is written to stdout and stderr while work goes on."""
