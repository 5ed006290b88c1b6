"""All recognizers, in the order of trust: where two find the same characters, the first says what they are."""

from collections.abc import Collection

from clinaudit.audit.pii.recognizers.rule import Recognizer


def all_recognizers(kinds: Collection[str] | None = None) -> tuple[Recognizer, ...]:
    """Return every recognizer, or those that can find one of some categories."""
    from clinaudit.audit.pii.recognizers.addresses import places
    from clinaudit.audit.pii.recognizers.ages import AgeRecognizer
    from clinaudit.audit.pii.recognizers.checked_codes import CheckedCodeRecognizer
    from clinaudit.audit.pii.recognizers.codes import labelled_codes, unlabelled_codes
    from clinaudit.audit.pii.recognizers.coordinates import coordinates
    from clinaudit.audit.pii.recognizers.dates import DateRecognizer, times
    from clinaudit.audit.pii.recognizers.demographics import demographics
    from clinaudit.audit.pii.recognizers.measures import body_measures
    from clinaudit.audit.pii.recognizers.organizations import organizations
    from clinaudit.audit.pii.recognizers.person_names import NameRecognizer
    from clinaudit.audit.pii.recognizers.phones import PhoneRecognizer
    from clinaudit.audit.pii.recognizers.quantities import amounts
    from clinaudit.audit.pii.recognizers.web import web_addresses

    found: tuple[Recognizer, ...] = (
        labelled_codes(),
        web_addresses(),
        PhoneRecognizer(),
        DateRecognizer(),
        CheckedCodeRecognizer(),
        AgeRecognizer(),
        NameRecognizer(),
        places(),
        coordinates(),
        times(),
        organizations(),
        body_measures(),
        amounts(),
        demographics(),
        unlabelled_codes(),
    )
    return tuple(item for item in found if kinds is None or not item.categories.isdisjoint(kinds))
