"""How well a judge reads: labelled texts, prompt injections, confusion matrix, agreement of two judges."""
