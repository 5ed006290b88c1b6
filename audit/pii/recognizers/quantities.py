"""Amounts of money and figures of a person's finances, by the words beside them (PII-Bench, Table 11, QUANTITY)."""

from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words

_MONEY: Final = (
    r"(?P<value>(?:USD|EUR|GBP)\s?\d[\d,]*(?:\.\d{1,2})?|(?:US)?[$€£]\s?\d{1,3}(?:,\d{3})+"
    r"(?:\.\d{1,2})?|(?:US)?[$€£]\s?\d+(?:\.\d{1,2})?\s?(?:k|million|m)?\b"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d{2})?(?:\s(?:dollars|USD))?|\d{3,9}(?:\.\d{2})?(?:\s(?:dollars|USD))?\b)"
)
_PERCENT: Final = r"(?P<value>\d{1,3}(?:\.\d{1,2})?\s?(?:%|percent))"
#: What may stand between the words and the amount, in one sentence.
_BETWEEN: Final = r"[^.\n$€£\d%]{0,40}?"
#: Category, the words before the amount, and texts of which one must stand in the text.
_MONEY_LABELS: Final = (
    ("annual_bonus", r"(?:annual |year-?end |yearly )?bonus(?:es)?", ("bonus",)),
    (
        "social_security_payment",
        r"social security (?:payments?|benefits?|contributions?|income|deductions?)|SSDI|SSI\b",
        ("social sec", "ssdi", "ssi"),
    ),
    (
        "tax_payment",
        r"(?:income |property |annual |monthly )?tax(?:es)?(?: payments?| paid| bill| due|"
        r" liability)?(?! id)",
        ("tax",),
    ),
    (
        "credit_limit",
        r"credit(?: card)? limits?|limit (?:on|of) (?:my|his|her|the|their)? ?(?:credit )?card",
        ("limit",),
    ),
    (
        "loan_amount",
        r"(?:student |home |car |personal |auto )?loans?(?: amount| balance)?|mortgage|owes?"
        r"|debts? of|borrow(?:ed|ing)?",
        ("loan", "mortgage", "owe", "debt", "borrow"),
    ),
    (
        "account_balance",
        r"(?:account |bank |savings |checking |current )?balance|(?:in|has) (?:his |her |my "
        r"|their )?savings|savings",
        ("balance", "saving"),
    ),
    (
        "monthly_expenses",
        r"(?:monthly |living |household |total )?(?:expenses|expenditures?|spending|costs of"
        r" living|rent)|spends?",
        ("expens", "expend", "spend", "rent", "costs of"),
    ),
    (
        "monthly_income",
        r"(?:monthly |net |gross |household |take-home )?(?:income|salary|earnings|wages?|pay"
        r"|paycheck)|earns?|earning|makes?",
        ("income", "salary", "earn", "wage", "pay", "make"),
    ),
    (
        "investment_return",
        r"(?:investment|portfolio|dividend|stock)s? (?:returns?|gains?|profits?|income)"
        r"|returns? (?:on|from) (?:his |her |my |the |their )?(?:investments?|portfolio"
        r"|stocks?)",
        ("return", "gain", "profit", "dividend", "portfolio"),
    ),
)
_PERCENT_LABELS: Final = (
    ("debt_ratio", r"debt(?:[- ]to[- ](?:income|asset|equity))? ratio|DTI|leverage ratio", ("debt", "dti", "leverage")),
    (
        "investment_return",
        r"(?:investment|portfolio|annual) (?:returns?|gains?|yield)|yield|returned",
        ("return", "gain", "yield"),
    ),
    ("roi", r"ROI|returns? on investments?", ("roi", "return on", "returns on")),
)


def amounts() -> RuleTable:
    """Return the recognizer of amounts."""
    rules = [
        Rule(category, words(rf"\b(?:{label})\b{_BETWEEN}{_MONEY}"), triggers)
        for category, label, triggers in _MONEY_LABELS
    ]
    rules += [
        Rule(category, words(rf"\b(?:{label})\b{_BETWEEN}{_PERCENT}"), triggers)
        for category, label, triggers in _PERCENT_LABELS
    ]
    rules += [
        Rule(
            "credit_score",
            words(r"\b(?:credit|FICO)\s(?:score|rating)\b[^.\n\d]{0,30}?(?P<value>[3-8]\d{2})(?!\d)"),
            ("credit", "fico"),
        ),
        Rule("monthly_income", words(rf"{_MONEY}(?=\s(?:a|per|each|every)\smonth|\smonthly)"), ("month",)),
    ]
    return RuleTable("amounts", rules)
