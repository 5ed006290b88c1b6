"""From estimates to what readers get: the gate, the files of a run, and two runs compared."""
