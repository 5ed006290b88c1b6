"""The panel of sensitive diagnoses: its terms in text, a site's own diagnoses, and what of them is refused."""

import functools
import random
import re

import pytest

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.diagnoses import (
    Diagnosis,
    TermKind,
    _compile_codes,
    _compile_terms,
    _is_code,
    _lists_of,
    clinical_terms,
    drug_words,
    find_terms,
    load_panel,
    panel_digest,
    refers_to,
)

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}
ALL = tuple(TermKind)


def _found(text: str, diagnosis: str, *kinds: TermKind) -> list[tuple[int, str, str]]:
    matches = find_terms(text, PANEL[diagnosis], kinds or ALL)
    return [(match.span.start, text[match.span.start : match.span.end], match.kind.value) for match in matches]


def test_the_default_panel_is_the_papers() -> None:
    assert list(PANEL) == ["anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv"]
    assert all(diagnosis.names and diagnosis.icd10 and diagnosis.medications for diagnosis in PANEL.values())


@pytest.mark.parametrize("diagnosis", PANEL.values(), ids=PANEL)
def test_every_term_finds_itself_whole(diagnosis: Diagnosis) -> None:
    lists = {
        TermKind.NAME: diagnosis.names,
        TermKind.ICD10: diagnosis.icd10,
        TermKind.MEDICATION: diagnosis.medications,
        TermKind.SYMPTOM: diagnosis.symptoms + diagnosis.own_words,
    }
    for kind, terms in lists.items():
        for term in terms:
            if term in diagnosis.only_beside:
                continue
            for words in (" ", " as they all "):
                written = term.replace(" .. ", words)
                assert _found(f"x {written} y", diagnosis.id, kind) == [(2, written, kind.value)], term
    for phrase in diagnosis.not_meant:
        for number in ("1", "0.5", "1-2", "1/2", "7.5/325"):
            assert _found(f"x {phrase.replace('#', number).replace(' .. ', ' ')} y", diagnosis.id) == [], phrase


@pytest.mark.parametrize(
    ("text", "diagnosis", "expected"),
    [
        ("Has ANXIETY, GAD", "anxiety", [(4, "ANXIETY", "name"), (13, "GAD", "name")]),
        ("generalized\n  anxiety\r\ndisorders", "anxiety", [(0, "generalized\n  anxiety\r\ndisorders", "name")]),
        ("posttraumatic stress disorder", "ptsd", [(0, "posttraumatic stress disorder", "name")]),
        ("post\u2010traumatic stress", "ptsd", [(0, "post\u2010traumatic stress", "name")]),
        ("hiv/aids; AIDS", "hiv", [(0, "hiv/aids", "name"), (10, "AIDS", "name")]),
        ("HIV+ since 2001", "hiv", [(0, "HIV+", "name")]),
        ("anxiety_disorder", "anxiety", [(0, "anxiety", "name")]),
        ("\u0130\u0130 anxiety ß anxieties", "anxiety", [(3, "anxiety", "name"), (13, "anxieties", "name")]),
        ("Kaposi\u2019s sarcoma", "hiv", [(0, "Kaposi\u2019s sarcoma", "symptom")]),
        ("manic depression", "bipolar", [(0, "manic depression", "name")]),
        ("panic attacks", "anxiety", [(0, "panic attacks", "symptom")]),
        ("F41.1, f41.9 (f41) F411 F41", "anxiety", [
            (0, "F41.1", "icd10"), (7, "f41.9", "icd10"), (14, "f41", "icd10"), (19, "F411", "icd10"),
            (24, "F41", "icd10"),
        ]),
        ("F32.A.", "depression", [(0, "F32.A", "icd10")]),
        ("F43.12 F43.10", "ptsd", [(0, "F43.12", "icd10"), (7, "F43.10", "icd10")]),
        ("Z33.2 O04.80", "abortion", [(0, "Z33.2", "icd10"), (6, "O04.80", "icd10")]),
        ("TAB x1; TABs", "abortion", [(0, "TAB", "name"), (8, "TABs", "name")]),
    ],
)  # fmt: skip
def test_terms_with_positions(text: str, diagnosis: str, expected: list[tuple[int, str, str]]) -> None:
    assert _found(text, diagnosis) == expected


@pytest.mark.parametrize(
    ("text", "diagnosis"),
    [
        ("anxietylike superanxiety", "anxiety"),
        ("F42.1 AF41 F41x F41.1.2 f41 3F41", "anxiety"),
        ("F43.20 F43.0 F4", "ptsd"),
        ("F34.0", "depression"),
        ("hearing aids; first aids; it aids sleep", "hiv"),
        ("b20 bulb, Z20.6, Z11.4, R75", "hiv"),
        ("1 tab po daily; METFORMIN 500 MG TAB", "abortion"),
        ("spontaneous\nabortion; missed abortions; threatened abortion; SAB; O03.9; G3P1A1; miscarriage", "abortion"),
        ("ST depression; respiratory depression; depressed skull fracture; bipolar depression", "depression"),
        ("bipolar cautery", "bipolar"),
        ("GAD-7 = 12; anxiety-provoking", "anxiety"),
        ("nirmatrelvir/ritonavir", "hiv"),
        ("", "hiv"),
    ],
)
def test_what_is_no_term(text: str, diagnosis: str) -> None:
    assert _found(text, diagnosis) == []


def test_only_the_kinds_asked_for() -> None:
    text = "depression, F33.1, Zoloft, crying spells"
    assert _found(text, "depression", TermKind.MEDICATION) == [(19, "Zoloft", "medication")]
    assert [kind for _, _, kind in _found(text, "depression")] == ["name", "icd10", "medication", "symptom"]
    assert _found(text, "depression", *()) == _found(text, "depression")
    assert find_terms(text, PANEL["depression"], ()) == []


def test_symptoms_do_not_refer() -> None:
    assert not refers_to("crying spells", PANEL["depression"])
    assert all(refers_to(text, PANEL["depression"]) for text in ("MDD", "(F33.9)", "takes Celexa"))


@pytest.mark.parametrize("seed", range(20))
def test_names_agree_with_a_plain_scan(seed: int) -> None:
    rng = random.Random(seed)
    names = [name for diagnosis in PANEL.values() for name in diagnosis.names]
    words = ["no", "ab", "of", "\n", ",", "x1", "tab", "Dr.", "é", *names]
    text = " ".join(rng.choice(words) for _ in range(60))
    for diagnosis in PANEL.values():
        covered = {i for match in find_terms(text, diagnosis, (TermKind.NAME,)) for i in range(*match.span)}
        meant = [re.compile(re.escape(phrase), re.IGNORECASE) for phrase in diagnosis.not_meant]
        other = {i for phrase in meant for match in phrase.finditer(text) for i in range(*match.span())}
        for name in set(diagnosis.names) - {*diagnosis.only_beside}:
            flags = 0 if name in diagnosis.as_written else re.IGNORECASE
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, flags):
                # Names may overlap ("termination of pregnancy termination"): the longest match then stands for both.
                assert covered & set(range(*match.span())) or other & set(range(*match.span())), name


def test_a_site_adds_and_overrides() -> None:
    panel = load_panel({"gout": {"names": ["gout"], "icd10": ["M10"]}, "hiv": {"display": "HIV infection"}})
    assert [diagnosis.id for diagnosis in panel][-2:] == ["hiv", "gout"]
    assert panel[-1] == Diagnosis("gout", "gout", ("gout",), ("M10",))
    assert panel[-2].display == "HIV infection"
    assert panel[-2].names == PANEL["hiv"].names
    assert panel_digest(panel) != panel_digest(load_panel())


def test_a_term_that_a_site_leaves_out_takes_with_it_how_it_was_written() -> None:
    own = {item.id: item for item in load_panel({"hiv": {"names": ["HIV"]}, "abortion": {"names": ["abortion"]}})}
    assert own["hiv"].names == ("HIV",)
    assert own["abortion"].as_written == tuple(
        term
        for term in PANEL["abortion"].as_written
        if term in PANEL["abortion"].medications + PANEL["abortion"].own_words
    )
    assert set(PANEL["abortion"].as_written) & set(PANEL["abortion"].names)


def test_a_site_that_replaces_symptoms_has_no_shipped_words_for_them() -> None:
    own = {item.id: item for item in load_panel({"hiv": {"symptoms": []}, "ptsd": {"symptoms": ["flashback"]}})}
    assert own["hiv"].own_words == own["ptsd"].own_words == ()
    assert "PEP" not in own["hiv"].only_beside
    assert load_panel({"hiv": {"symptoms": [], "own_words": ["CD4 nadir"]}})[5].own_words == ("CD4 nadir",)


def test_a_term_counts_only_beside_another() -> None:
    table = {
        "names": ["gout"],
        "symptoms": ["tophus"],
        "only_beside": ["tophus"],
        "beside": ["joint", "G#", "had a tophus"],
    }
    (gout,) = load_panel({"gout": table})[-1:]

    def found(text: str) -> list[str]:
        return [text[slice(*match.span)] for match in find_terms(text, gout, tuple(TermKind))]

    assert found("a tophus; gout") == ["gout"]
    assert found("a sore joint with a tophus") == found("G2, tophus") == found("he had a tophus") == ["tophus"]
    assert found("tophus\njoint") == found("tophus" + " x" * 45 + " joint") == []


def test_only_some_in_the_panels_order() -> None:
    assert [diagnosis.id for diagnosis in load_panel(only=["hiv", "anxiety"])] == ["anxiety", "hiv"]
    with pytest.raises(UsageError, match="no such diagnosis: gout"):
        load_panel(only=["gout"])


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"gout": "gout"}, "diagnosis 'gout': must be a table"),
        ({"gout": {}}, "diagnosis 'gout', field 'names': needs at least one"),
        ({"gout": {"names": "gout"}}, "diagnosis 'gout', field 'names': must be a list"),
        ({"gout": {"names": ["gout", 3]}}, "diagnosis 'gout', field 'names': 3 must be text"),
        ({"gout": {"names": [" gout"]}}, "diagnosis 'gout', field 'names': ' gout' must be text"),
        ({"gout": {"names": ["gout"], "icd10": ["gout"]}}, "diagnosis 'gout', field 'icd10': 'gout' is no ICD-10-CM"),
        ({"gout": {"names": ["gout"], "drugs": []}}, "diagnosis 'gout', field 'drugs': unknown"),
        ({"gout": {"names": ["gout"], "display": 1}}, "diagnosis 'gout', field 'display': must be text"),
        ({"gout": {"names": ["gout"], "as_written": ["GT"]}}, "diagnosis 'gout', field 'as_written': 'GT' is none"),
        ({"gout": {"names": ["gout"], "only_beside": ["GT"]}}, "diagnosis 'gout', field 'only_beside': 'GT' is none"),
        ({"gout": {"names": ["gout" + " (a|b)" * 20_000]}}, "diagnosis 'gout', field 'names': 'gout (a|b)"),
        ({"gout": {"names": ["gout " + "(" * 30 + "a|b)" + "|c)" * 29]}}, "diagnosis 'gout', field 'names': 'gout (("),
        ({"mean": {"names": ["mean"]}}, "diagnosis 'mean': an id is"),
        ({"Gout!": {"names": ["gout"]}}, "diagnosis 'Gout!': an id is"),
        ({"hiv": {"names": []}}, "diagnosis 'hiv', field 'names': needs at least one"),
    ],
)
def test_a_wrong_entry_is_named(extra: dict[str, object], problem: str) -> None:
    with pytest.raises(BadInputError) as caught:
        load_panel(extra)
    assert any(line.startswith(problem) for line in caught.value.problems)


def test_a_term_has_choices_and_gaps() -> None:
    (gout,) = load_panel({"gout": {"names": ["gout"], "symptoms": ["(sore|hot|) toe", "wakes .. (at|by) night"]}})[-1:]
    assert gout.symptoms == ("sore toe", "hot toe", "toe", "wakes .. at night", "wakes .. by night")

    def found(text: str) -> list[str]:
        return [text[slice(*match.span)] for match in find_terms(text, gout, (TermKind.SYMPTOM,))]

    assert found("A hot toe; wakes at night") == ["hot toe", "wakes at night"]
    assert found("wakes with\n a great-toe ache by night") == ["toe"]
    assert found("wakes the house at night, wakes up never at night") == ["wakes the house at night"]


@functools.cache
def _whole_pattern(own):
    terms = sorted({term for of in own.beginnings.values() for term in of})
    return _compile_codes(terms) if own._cased is None else _compile_terms(terms, own._cased, own._with_numbers)


def test_terms_are_found_where_a_search_at_every_place_finds_them() -> None:
    rng = random.Random(0)
    site = {
        "mood": {
            "display": "Mood",
            "names": ["ab", "éclat d'humeur", "worry"],
            "symptoms": ["sad-ness", "low mood", "up .. in"],
        },
        # Words of one sign or two, with a plural, a hyphen that may be left out, a slash, a sign, a number.
        "short": {
            "names": ["d&c", "li carbonate", "co-codamol", "ox", "ty", "t-c-b", "a/bc", "s of x", "ox of ty", "up by"],
            "not_meant": ["ox-tail", "li #", "d&c abc", "u- v"],
        },
        "number": {"names": ["number"], "not_meant": ["x#"]},
    }
    panel = load_panel(site)
    lists = [(*one.names, *one.medications, *one.symptoms, *one.icd10, *one.not_meant) for one in panel]
    # Those of the shipped diagnoses are many: half of what is written is the site's.
    terms = [term for of in (*lists, *lists[-3:] * 20) for term in of]
    between = [" ", "-", "\n", "_", "", "s ", ".", " no ", "\u017f", "\u0130", "\u212a", "é", " xx", "1"]
    blanks = [" ", "  ", "-", ", ", " - ", "\n\n", "' ", "s ", "ies "]
    for _ in range(300):
        parts = [rng.choice([str, str.upper, str.lower])(rng.choice(terms)) for _ in range(8)]
        parts = [part.replace("s", rng.choice("s\u017f")).replace(" ", rng.choice(blanks)) for part in parts]
        text = "".join(part + rng.choice(between) for part in parts)
        for diagnosis in panel:
            lists, beside, not_meant = _lists_of(diagnosis)
            for own in filter(lambda terms: terms.beginnings, (*lists.values(), beside, not_meant)):
                # All terms in one pattern, where the product compiles those that begin alike.
                every = _whole_pattern(own).finditer(text)
                assert own.find(text) == [one.span() for one in every if own._cased is not None or _is_code(text, one)]


def test_drugs_are_the_words_of_the_list_alone_or_joined_by_a_hyphen() -> None:
    rng = random.Random(0)
    drugs, find = sorted(drug_words()), clinical_terms([])
    between = ["", "-", "--", " ", "_", "\n", "'s ", "é", "\u0130", "\u017f", "x", "1", ". "]
    found = 0
    for _ in range(300):
        parts = [rng.choice([str, str.upper, str.title])(rng.choice([*drugs, "a", "pre", "naïve"])) for _ in range(20)]
        text = "".join(part + rng.choice(between) for part in parts)
        words = list(re.finditer(r"[^\W_]+(?:-[^\W_]+)*", text))
        named = [word.span() for word in words if drug_words() & {word[0].lower(), *word[0].lower().split("-")}]
        assert list(find(text)) == named
        found += len(named)
    assert found > 1000
