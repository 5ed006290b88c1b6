"""How a share is held against its limit beyond what chance gives: one logic for all rules of shares (docs/policy.md).

Takes rows of the table of estimates. Knows nothing of policies, tiers or how a row came about.
"""

from typing import Final, NamedTuple

from clinaudit.audit.results.gate import words
from clinaudit.audit.results.gate.words import Decided
from clinaudit.audit.statistics.estimates import difference_row
from clinaudit.reports.estimates.frame import Row

#: Patients never seen from which they show what chance gives; below, the control model does.
FEWEST_FOR_CHANCE: Final = 50


class Sides(NamedTuple):
    """The figure of a rule, what chance gives, and, of pools, the figure in equal pools and N/m.

    Of a leak from N patients trained on a pool of m shows m/N: hence the `scale` N/m.
    """

    figure: Row | None
    chance: Row | None
    sampled: Row | None = None
    scale: float = 1.0

    def decide(self, limit: float) -> Decided:
        """Return the status of the figure less chance under a limit; without chance the figure as it is may pass.

        *Fail* where the difference's lower end is beyond the limit, or the figure's is and the difference's is above 0.
        *Pass* where the difference's upper end is within, and not even chance is beyond it. Else undecided.

        Of pools the difference is that of the `sampled` figure, and counts `scale` times for a pass. So must the whole
        figure less `scale` times chance be within: a leak of one patient stands in the sampled pool or does not. Where
        the whole figure is within at its upper end it passes, whatever chance gives.

        Example::

            Sides(share_row("hit_rate", 0, 130), share_row("hit_rate", 0, 130)).decide(0.10).status  # pass
        """
        whole, chance, scale = self.figure, self.chance, self.scale
        part = whole if self.sampled is None else self.sampled
        if whole is None or whole.low is None or whole.high is None:
            return words.NO_FIGURE.of(why=(whole and whole.reason) or words.NOT_AUDITED)
        beyond = None if part is None or chance is None else difference_row(part, chance, "")
        if beyond is None or beyond.low is None or beyond.high is None or chance is None:
            if whole.high <= limit:
                return words.WITHIN
            return words.CHANCE_NOT_KNOWN if whole.low > limit else words.AROUND
        # A difference whose lower end is beyond the limit is among these: its lower end is never above the figure's.
        if whole.low > limit and beyond.low > 0:
            return words.BEYOND
        # No more of all who were trained on is given: nothing has to be taken off.
        if whole is not part and whole.high <= limit:
            return words.WITHIN
        if chance.low is not None and chance.low > limit:
            return words.STRANGERS
        of_whole = beyond if whole is part else difference_row(whole, _times(chance, scale), "")
        ends = [end for end in (beyond.high * scale, of_whole.high) if end is not None]
        if max(ends) <= limit:
            return words.WITHIN
        return words.LIKE_CHANCE if whole.low > limit else words.AROUND


def _times(row: Row, scale: float) -> Row:
    """Return a share as so many times as many patients would show it."""
    value, low, high = (None if of is None else min(1.0, of * scale) for of in (row.value, row.low, row.high))
    return row._replace(value=value, low=low, high=high)
