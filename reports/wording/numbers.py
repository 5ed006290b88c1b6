"""Numbers as readers see them: percents, numbers that are no share, p-values, and how many of a noun."""

from typing import Final

NOT_MEASURED: Final = "not measured"


def counted(number: int, one: str, many: str = "") -> str:
    """Return an exact number with its noun: "1 tag", "2 tags"; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent_text(value: float, *, signed: bool = False) -> str:
    """Return a share as a percentage, to one decimal below 10% and above 99%: "58%", "5%", "0.8%", "99.0%".

    A zero decimal is dropped, but kept above 99%.
    """
    if 0 < abs(value) < 0.0005:
        return f"{'−' if value < 0 else ''}below 0.1%"
    if 0.9995 < abs(value) < 1:
        return f"{'−' if value < 0 else ''}above 99.9%"
    digits = 1 if 0 < abs(value) < 0.0995 or 0.99 < abs(value) < 1 else 0
    text = f"{100 * value:{'+' if signed else ''}.{digits}f}%"
    # "99.0%" says that it is more than 99%.
    return _tidy(text.replace(".0%", "%") if 0.001 <= abs(value) <= 0.99 else text)


def number_text(value: float, *, signed: bool = False) -> str:
    """Return a number that is no share (an AUROC, a length) to two decimals, or to one decimal from 100 on."""
    digits = 1 if abs(value) >= 100 else 2
    return _tidy(f"{value:{'+' if signed else ''},.{digits}f}")


def _tidy(text: str) -> str:
    text = text.replace("-", "−")
    bare = text.strip("+−%").replace(",", "")
    return text.lstrip("+−") if bare and set(bare) <= {"0", "."} else text
