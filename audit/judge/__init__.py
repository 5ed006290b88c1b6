"""The judge of disclosure: what a generated note says of a patient's sensitive diagnosis (paper 3.2.2)."""
