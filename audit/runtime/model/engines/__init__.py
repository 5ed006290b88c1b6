"""Engines: what turns prompts into generations, greedy or drawn, and scores text; each loads its one heavy library."""
