"""Height, weight and blood type, where a person's are written."""

import re

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words


def body_measures() -> RuleTable:
    """Return the recognizer of measures of a body."""
    return RuleTable(
        "body measures",
        (
            Rule(
                "height",
                re.compile(r"(?<![\w.'])(?P<value>[3-7]\s?['’′]\s?(?:1[01]|[0-9])(?:\.\d)?\s?(?:\"|”|″|''|’’)?)(?!\w)"),
                ("'", "’", "′"),
            ),
            Rule(
                "height",
                words(
                    r"(?<![\w.])[3-7]\s?(?:ft|feet|foot)\.?,?\s?(?:(?:1[01]|[0-9])(?:\s?(?:in|inch|inches)\b\.?"
                    r"|(?![\w/%]|[.,]\d|\s?(?:times|x|reps|days|steps|falls|cm|mm)\b)))?"
                ),
                ("ft", "feet", "foot"),
            ),
            Rule(
                "height",
                words(r"(?<![\w.])(?:[5-9]\d|1\d\d|2[0-4]\d)(?:\.\d)?\s?cm\b(?=[ ]tall|[.,;)]?(?:\s|$))"),
                ("cm",),
                _is_tall,
            ),
            Rule(
                "height",
                words(
                    r"\b(?:height|ht|tall)\b\s?[:=]?\s?(?:is|of)?\s?(?P<value>\d{1,3}(?:\.\d{1,2})?\s?"
                    r"(?:cm|m|in|inches)\b)"
                ),
                ("height", "ht", "tall"),
            ),
            Rule(
                "weight",
                words(r"(?<![\w.])(?P<value>\d{2,3}(?:\.\d{1,2})?\s?(?:kgs?|kilograms?|lbs?|pounds))\b(?!\s?/)"),
                ("kg", "kilogram", "lb", "pound"),
            ),
            Rule(
                "blood_type",
                words(
                    r"\bblood\s?(?:type|group)\s?(?:is|of|:)?\s{0,2}(?P<value>(?:AB|[ABO])(?:\s?(?:[+-]"
                    r"|rh\s?)?\s?(?:positive|negative|pos\b|neg\b|[+-])?))"
                ),
                ("blood",),
            ),
            Rule(
                "blood_type",
                re.compile(r"(?<![\w+/-])(?P<value>(?:AB|[ABO])[+-])(?=\s(?i:blood|type|donor))"),
                ("blood", "type", "donor"),
            ),
            Rule(
                "blood_type",
                re.compile(r"(?<![\w+/-])(?P<value>(?:AB|[ABO]) (?:Rh[ -]?)(?:positive|negative))(?!\w)"),
                ("rh",),
            ),
        ),
    )


def _is_tall(match: re.Match[str]) -> bool:
    """Whether a length in centimetres is a person's: from 140 on, or named as one; wounds and tumours are shorter."""
    return float(re.split(r"\s?cm", match[0], flags=re.IGNORECASE)[0]) >= 140 or match.string[match.end() :].startswith(
        " tall"
    )
