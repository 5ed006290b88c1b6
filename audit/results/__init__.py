"""From a tally to what readers get: ranges, gate, the files of a run, and two runs compared."""
