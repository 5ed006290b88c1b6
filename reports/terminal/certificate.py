"""The verdict of a deletion request in plain text, for `clinaudit forget`: what the first screen of its page says."""

from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.tables.comparison import VERDICTS
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.certificate import MEANINGS, first_screen


def certificate_text(certificate: Certificate, *, quiet: bool = False) -> str:
    """Return the verdict, and unless `quiet` the questions of the first screen with their answers (PHI)."""
    word, sign = VERDICTS[certificate.verdict]
    lines = [f"{sign} {word.upper()}"]
    if not quiet:
        lines.append(wrap(MEANINGS[certificate.verdict], indent="  "))
        lines += [
            wrap(f"{title}{'' if title.endswith('?') else ':'} {text}", indent="  ")
            for title, text in first_screen(certificate)
        ]
        lines += [wrap(f"The request does not pass: {reason}.", indent="  ") for reason in certificate.reasons]
    return "\n".join(lines)
