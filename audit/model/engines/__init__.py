"""Engines: what turns prompts into greedy generations (contract, section 3). Importing this loads nothing heavy."""
