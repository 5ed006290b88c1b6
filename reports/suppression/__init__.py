"""Statistical disclosure control: from the exact results to the one coarse table that everything published is made of.

May read `exact`; nothing else under `reports` may. Computes no metric: what the coarse table leaves open is computed in
`clinaudit.audit.ranges`.
"""
