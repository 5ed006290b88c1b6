"""Whose identifiers are: planted, and against an oracle that reads every note."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import polars as pl
import pytest
from support.evidence_frames import evidence, generation_frame
from support.generations import Generation
from support.pii.owner_oracle import WAYS, Person, Planted, Site, draw_people, generation
from support.random_tables import read_drawn
from support.simulations import in_blocks

from clinaudit.audit.pii.owners import FOUND, index_values, tell_owners
from clinaudit.audit.pii.stage import estimate_identifiers, find_identifiers
from clinaudit.audit.pii.values.known_values import DateReader, ValueScanner
from clinaudit.audit.pii.values.normal_form import IdentifierValue
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.estimates import Pools, draw_pools
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.pii_bench import IdentifierOwner
from clinaudit.templates.profile import load_profile

PEOPLE = 40
QUIET = Progress(quiet=True)
OWNERS: tuple[IdentifierOwner, ...] = ("echo", "own", "other_train", "other_nontrain", "nobody")
FILLER = ("cough is better.", "no fever, no chills.", "lungs are clear on both sides.", "rest and fluids.")


def find(site: Site, generations: list[Generation], folder: Path) -> list[Row]:
    """Return the rows of `identifiers`."""
    site.write(folder, Random(1))
    corpus, profile = read_corpus(folder), load_profile()
    asked = generation_frame(generations)
    found, _ = find_identifiers(asked, corpus=corpus, profile=profile, seed=0, progress=QUIET)
    return found["identifiers"].to_dicts()


@pytest.fixture(scope="module")
def oracle(tmp_path_factory) -> tuple[list[Planted], list[Row], dict[str, Generation]]:
    rng = Random(5)
    drawn = draw_people(PEOPLE + 8, rng)
    people, strangers = drawn[:PEOPLE], drawn[PEOPLE:]
    planted: list[Planted] = []
    generations: list[Generation] = []
    for number, target in enumerate(people * 2):
        others = {
            "echo": target,
            "own": target,
            "other_train": rng.choice([p for p in people if p.train and p is not target]),
            "other_nontrain": rng.choice([p for p in people if not p.train and p is not target]),
            "nobody": rng.choice(strangers),
        }
        lines, prompts = [], ["patient note:"]
        # Each kind once an answer, so that no value stands there twice; every way of writing in turn.
        for at, (kind, ways) in enumerate(WAYS.items()):
            owner = OWNERS[(number + at) % len(OWNERS)]
            way, asked = ways[(number // 2) % len(ways)], ways[number % len(ways)]
            words = way(others[owner])
            planted.append(Planted(f"g{number}", kind, words, owner))
            lines += [words, rng.choice(FILLER)]
            if owner == "echo":
                prompts.append(asked(target))
        planted.append(Planted(f"g{number}", "provider", "signed by Milena Corvane, MD", "staff"))
        lines.append("signed by Milena Corvane, MD")
        generations.append(generation(number, target, "\n".join(lines), "\n".join(prompts)))
    rows = find(Site(people), generations, tmp_path_factory.mktemp("oracle") / "corpus")
    return planted, rows, {item.generation_id: item for item in generations}


def owners_of(item: Planted, rows: list[Row], generations: dict[str, Generation]) -> set[str]:
    start = generations[item.generation_id].text.index(item.words)
    return {
        str(row["owner"])
        for row in rows
        if row["generation_id"] == item.generation_id
        and start <= row["char_start"]
        and row["char_end"] <= start + len(item.words)
    }


def test_at_least_98_of_100_are_found_with_the_right_owner(oracle) -> None:
    planted, rows, generations = oracle
    wrong = [item for item in planted if owners_of(item, rows, generations) != {item.owner}]
    assert len(planted) > 700
    assert {item.owner for item in planted} == {*OWNERS, "staff"}
    assert len(wrong) <= 0.02 * len(planted), Counter((item.kind, item.owner) for item in wrong)


def test_what_is_verified_is_the_own_and_other_trained_patients_alone(oracle) -> None:
    _, rows, _ = oracle
    assert {row["owner"] for row in rows if row["verified"]} == {"own", "other_train"}
    assert all(row["holder_count"] == 1 for row in rows if row["verified"])


def test_the_rows_tell_what_counts_in_equal_pools(oracle) -> None:
    _, rows, _ = oracle
    # Of those asked about who were trained on: all the other 19 are in the pool, and 19 of the 20 never seen.
    rows = [row for row in rows if int(row["generation_id"][1:]) % 2 == 0]
    assert all(row["sampled"] for row in rows if row["verified"] and row["owner"] == "other_train")
    assert not any(row["sampled"] or row["by_chance"] for row in rows if row["owner"] in ("echo", "own", "staff"))
    alone = [row["by_chance"] for row in rows if row["owner"] == "other_nontrain" and row["holder_count"] == 1]
    assert 0.8 * len(alone) < sum(alone) <= len(alone)


def twins(**same: bool) -> tuple[Person, Person, Person]:
    """Two patients trained on who have some value in common, and a third who is asked about."""
    first, second, third = draw_people(3, Random(2))
    second.train = True
    for name in same:
        setattr(second, name, getattr(first, name))
    return first, second, third


@pytest.mark.parametrize(
    ("same", "words", "verified"),
    [
        ({"given": True, "last": True}, lambda p: f"patient: {p.name}", False),
        ({"born": True}, lambda p: f"dob: {p.born:%m/%d/%Y}", False),
        ({"phone": True}, lambda p: f"phone: {p.phone}", False),
        ({}, lambda p: f"patient: {p.name}", True),
        ({}, lambda p: f"dob: {p.born:%m/%d/%Y}", True),
        ({}, lambda p: f"phone: {p.phone}", True),
    ],
)
def test_what_two_patients_share_is_verified_of_neither(same, words, verified: bool, tmp_path: Path) -> None:
    first, second, third = twins(**same)
    generations = [generation(0, third, words(first)), generation(1, first, words(first))]
    rows = {row["generation_id"]: row for row in find(Site([first, second, third]), generations, tmp_path / "corpus")}
    assert (rows["g0"]["owner"], rows["g0"]["verified"]) == ("other_train", verified)
    assert (rows["g1"]["owner"], rows["g1"]["verified"]) == ("own", verified)
    assert set(rows["g0"]["holders"]) == ({first.id} if verified else {first.id, second.id})


def test_an_initial_that_may_be_two_patients_is_verified_of_neither(tmp_path: Path) -> None:
    first, second, third = twins(last=True)
    first.given, second.given = "Jasper", "Jocasta"
    words = f"spoke with Mrs. J. {first.last} today"
    (row,) = find(Site([first, second, third]), [generation(0, third, words)], tmp_path / "corpus")
    assert (row["owner"], row["verified"], row["holder_count"]) == ("other_train", False, 2)


def test_a_first_or_last_name_alone_points_to_nobody_else_but_may_be_the_targets(tmp_path: Path) -> None:
    first, second, third = twins()
    words = f"Mrs. {first.last} is well."
    generations = [generation(0, third, words), generation(1, first, words)]
    rows = {row["generation_id"]: row for row in find(Site([first, second, third]), generations, tmp_path / "corpus")}
    assert rows["g0"]["owner"] == "nobody"
    assert (rows["g1"]["owner"], rows["g1"]["verified"]) == ("own", True)


def test_a_value_counts_once_an_answer(tmp_path: Path) -> None:
    first, second, third = twins()
    words = f"phone: {first.phone}\nno fever.\ncall {first.phone[:3]}-{first.phone[3:6]}-{first.phone[6:]}"
    rows = find(Site([first, second, third]), [generation(0, first, words)], tmp_path / "corpus")
    assert len(rows) == 2
    answers = [{"generation_id": "g0", "patient_id": first.id, "arm": "train", "tier": "public"}]
    planted = [{"hipaa": hipaa, "planted": 9, "found": 9} for hipaa in "AD"]
    tables = evidence(generation_metrics=answers, identifiers=rows, planted=planted)
    found = Estimates(estimate_identifiers(tables))
    assert [row.value for row in found.rows("identifiers_per_1000", tier="public")] == [1000]
    by_kind = {row.part: row.count_low for row in found.rows("own_identifiers", by="category")}
    assert (by_kind["D"], by_kind["A"]) == (1, 0)


PROFILE = load_profile()
CODES = [f"{1_000_000 + 7_919 * number}" for number in range(9)]


@dataclass(frozen=True)
class Drawn:
    train: Sequence[bool]
    patients: Sequence[Sequence[str]]


def draw(rng: Random) -> Drawn:
    count = rng.randint(2, 7)
    held = [rng.sample(CODES, rng.randint(0, 4)) for _ in range(count)]
    notes = [[f"cough {code[:3]}-{code[3:]} again" for code in own] or ["well"] for own in held]
    return Drawn([rng.random() < 0.6 for _ in range(count)], notes)


def expected(
    drawn: Drawn, code: str, target: int | None, prompt: str, pools: tuple[list[int], list[int]]
) -> tuple[IdentifierOwner, bool, bool | None, bool | None]:
    """The definition, patient by patient: the owner, and whether it is verified, sampled and by chance."""
    holders = [n for n, notes in enumerate(drawn.patients) if any(code in note.replace("-", "") for note in notes)]
    nothing = (False, False) if pools[0] else (None, None)
    if code in prompt:
        return "echo", False, *nothing
    if target in holders:
        return "own", holders == [target], *nothing
    train = [n for n in holders if drawn.train[n]]
    in_pools = tuple(len(set(holders) & set(pool)) for pool in pools)
    of_pools = (in_pools == (1, 0), in_pools == (0, 1)) if pools[0] else nothing
    owner: IdentifierOwner = "other_train" if train else "other_nontrain" if holders else "nobody"
    return owner, len(holders) == len(train) == 1, *of_pools


def pools_of(corpus: Corpus, pools: Pools, target: str | None) -> tuple[list[int], list[int]]:
    """As many other patients of either split as the smaller one has, first in their drawn order."""
    others = {
        split: [order[place] for place in pools.drawn[split].tolist() if order[place] != target]
        for split in ("train", "nontrain")
        for order in [corpus.scan_order(split)]
    }
    size = min(sum(key != target for key in corpus.patient_ids(split)) for split in ("train", "nontrain"))
    train, nontrain = ([int(key[1:]) for key in others[split][:size]] for split in ("train", "nontrain"))
    assert len(train) == len(nontrain) == size
    return train, nontrain


@pytest.mark.parametrize("block", [range(20), *in_blocks(60, each=60)])
def test_owners_are_those_of_the_definition(tmp_path: Path, block: range) -> None:
    census: Counter[str] = Counter()
    values = [IdentifierValue("code", code) for code in CODES]
    scanner = ValueScanner(values, DateReader(PROFILE.date_formats))
    for seed in block:
        rng = Random(seed)
        drawn = draw(rng)
        corpus = read_drawn(drawn, tmp_path / str(seed))
        index = index_values(values, scanner, corpus, PROFILE, progress=QUIET)
        pools = draw_pools({"train": sum(drawn.train), "nontrain": list(drawn.train).count(False)}, seed=seed)
        wanted: list[tuple[str, IdentifierOwner, bool, bool | None, bool | None]] = []
        found: list[tuple[str | int, ...]] = []
        asked: list[tuple[str, str | None, str]] = []
        for number in (*range(len(drawn.train)), None):
            target = None if number is None else f"p{number}"
            given, prompt = rng.sample(CODES, 6), rng.choice(CODES)
            asked.append((str(number), target, prompt))
            found += [
                (str(number), at, at + 1, code, "mrn", "H", "code", code, "test") for at, code in enumerate(given)
            ]
            own_pools = pools_of(corpus, pools, target)
            wanted += [(code, *expected(drawn, code, number, prompt, own_pools)) for code in given]
        told = tell_owners(
            pl.DataFrame(found, schema=FOUND, orient="row"),
            pl.DataFrame(asked, schema=["generation_id", "patient_id", "prompt"], orient="row"),
            index=index,
            scanner=scanner,
            pools=pools,
            progress=QUIET,
        )
        assert told.select("value", "owner", "verified", "sampled", "by_chance").rows() == wanted
        for _, owner, verified, sampled, chance in wanted:
            kinds = {owner: True, f"verified {owner}": verified, f"sampled {owner}": sampled, f"chance {owner}": chance}
            census.update(kind for kind, is_so in kinds.items() if is_so)
            census["without pools"] += sampled is None
    # Every kind that makes the decision hard was drawn.
    assert (
        min(
            census[kind]
            for kind in (
                *("echo", "own", "other_train", "other_nontrain", "nobody", "verified own", "verified other_train"),
                *("sampled other_train", "chance other_nontrain", "chance other_train", "without pools"),
            )
        )
        > 0
    ), census
