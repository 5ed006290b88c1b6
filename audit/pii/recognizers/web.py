"""E-mail addresses, web addresses and handles of social media."""

import re

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words

#: Top-level domains that are no words of a clinical note: "pain.no" and "b.i.d" are no addresses.
_DOMAIN_ENDS = (
    r"(?:com|org|net|edu|gov|mil|info|biz|health|care|clinic|io|app|dev|co\.uk|org\.uk|nhs\.uk|ac\.uk|ca|de|fr|eu|us)"
)
_PATH = r"(?::\d{2,5})?(?:[/?#][^\s<>\"'\]]*[^\s<>\"'\].,;:!?)])?"


def web_addresses() -> RuleTable:
    """Return the recognizer of addresses in a network that text holds."""
    return RuleTable(
        "web addresses",
        (
            Rule("email", words(r"(?<![\w.+-])[\w][\w.+%'-]{0,63}@[\w-]+(?:\.[\w-]+)+"), ("@",)),
            Rule(
                "email",
                words(
                    r"(?<![\w.+-])[\w][\w.+%-]{0,63}\s?[\[(]\s?at\s?[\])]\s?[\w-]+(?:"
                    r"(?:\s?[\[(]\s?dot\s?[\])]\s?|\.)[\w-]+)+"
                ),
                ("at)", "at]", "at )", "at ]"),
            ),
            Rule("url", words(rf"(?<!\w)(?:https?|ftp|s3)://[^\s<>\"'\]/]+{_PATH}"), ("://",)),
            Rule("url", words(rf"(?<![\w@.])www\d?\.[\w-]+(?:\.[\w-]+)+{_PATH}"), ("www",)),
            Rule(
                "url",
                words(rf"(?<![\w@./-])(?:[a-z0-9][a-z0-9-]{{1,62}}\.){{1,4}}{_DOMAIN_ENDS}(?![\w@-]|\.\w){_PATH}"),
                tuple(
                    f".{end}"
                    for end in (
                        "com",
                        "org",
                        "net",
                        "edu",
                        "gov",
                        "mil",
                        "inf",
                        "biz",
                        "health",
                        "care",
                        "clinic",
                        "io",
                        "app",
                        "dev",
                        "co.",
                        "nhs",
                        "ac.",
                        "ca",
                        "de",
                        "fr",
                        "eu",
                        "us",
                    )
                ),
            ),
            Rule("social_handle", re.compile(r"(?<![\w.@/+-])@[A-Za-z_][\w.]{1,29}(?<!\.)(?![\w@])"), ("@",)),
            Rule(
                "social_handle",
                words(
                    r"\b(?:instagram|twitter|facebook|tiktok|snapchat|x|handle|username|linkedin|telegram"
                    r"|discord)(?:\s(?:handle|account|name|user))?(?:\sis)?\s?[:=]\s{0,2}"
                    r"(?P<value>@?[\w.]{3,30})(?<!\.)"
                ),
                (
                    "instagram",
                    "twitter",
                    "facebook",
                    "tiktok",
                    "snapchat",
                    "handle",
                    "username",
                    "linkedin",
                    "telegram",
                    "discord",
                ),
            ),
        ),
    )
