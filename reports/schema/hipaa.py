"""HIPAA's 18 identifiers, by the letter of their paragraph in 45 CFR 164.514(b)(2)(i)."""

from typing import Final, Literal, get_args

HipaaIdentifier = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R"]
HIPAA_IDENTIFIERS: Final[tuple[HipaaIdentifier, ...]] = get_args(HipaaIdentifier)
#: Whose a value is; the first that holds stands.
IdentifierOwner = Literal["echo", "own", "staff", "other_train", "other_nontrain", "nobody"]
