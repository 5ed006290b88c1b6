"""Random small corpora: owners against a brute-force twin written from the definition (docs/methods.md, section 2b)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.pii.owner_oracle import generation
from support.random_tables import read_drawn

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pii.owners import FoundIdentifier, OwnedValue, Owners
from clinaudit.audit.pii.site_index import index_values
from clinaudit.audit.pii.values.normal_form import IdentifierValue
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner
from clinaudit.audit.statistics.pools import Pools, draw_pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.templates.profile import load_profile

CORPORA = 60
PROFILE = load_profile()
CODES = [f"{1_000_000 + 7_919 * number}" for number in range(9)]


@dataclass(frozen=True)
class Drawn:
    train: Sequence[bool]
    patients: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Target:
    id: str
    train: bool


def draw(rng: Random) -> Drawn:
    count = rng.randint(2, 7)
    held = [rng.sample(CODES, rng.randint(0, 4)) for _ in range(count)]
    notes = [[f"cough {code[:3]}-{code[3:]} again" for code in own] or ["well"] for own in held]
    return Drawn([rng.random() < 0.6 for _ in range(count)], notes)


def expected(drawn: Drawn, code: str, target: int, prompt: str, pools: tuple[list[int], list[int]]) -> OwnedValue:
    """The definition, patient by patient."""
    place, hipaa = CODES.index(code), "H"
    holders = [n for n, notes in enumerate(drawn.patients) if any(code in note.replace("-", "") for note in notes)]
    if code in prompt:
        return OwnedValue(place, hipaa, "echo", verified=False)  # type: ignore[arg-type]
    if target in holders:
        return OwnedValue(place, hipaa, "own", verified=holders == [target])  # type: ignore[arg-type]
    train = [n for n in holders if drawn.train[n]]
    owner = "other_train" if train else "other_nontrain" if holders else "nobody"
    in_train, in_nontrain = (len(set(holders) & set(pool)) for pool in pools)
    return OwnedValue(
        place,
        hipaa,  # type: ignore[arg-type]
        owner,  # type: ignore[arg-type]
        verified=len(holders) == len(train) == 1,
        sampled=(in_train, in_nontrain) == (1, 0),
        chance=(in_train, in_nontrain) == (0, 1),
    )


def pools_of(corpus: Corpus, pools: Pools, target: str) -> tuple[list[int], list[int]]:
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


def test_owners_are_those_of_the_definition(tmp_path: Path) -> None:
    census: Counter[str] = Counter()
    for seed in range(CORPORA):
        rng = Random(seed)
        drawn = draw(rng)
        corpus = read_drawn(drawn, tmp_path / str(seed))
        values = [IdentifierValue("code", code) for code in CODES]
        scanner = ValueScanner(values, DateReader(PROFILE.date_formats))
        index = index_values(values, scanner, corpus, PROFILE, progress=Progress(quiet=True))
        pools = draw_pools({"train": sum(drawn.train), "nontrain": list(drawn.train).count(False)}, seed=seed)
        owners = Owners(values, scanner, index, corpus, pools)
        for number, trained in enumerate(drawn.train):
            given, prompt = rng.sample(CODES, 6), " ".join(rng.sample(CODES, 1))
            found = [
                FoundIdentifier(at, at + 1, "mrn", "H", "test", CODES.index(code)) for at, code in enumerate(given)
            ]
            asked = generation(0, Target(f"p{number}", trained), "x" * 9, prompt)  # type: ignore[arg-type]
            own_pools = pools_of(corpus, pools, f"p{number}")
            wanted = [expected(drawn, code, number, prompt, own_pools) for code in given]
            assert owners.of(asked, found) == wanted
            census.update(item.owner for item in wanted)
            census.update(
                f"{name} {item.owner}"
                for item in wanted
                for name in ("verified", "sampled", "chance")
                if getattr(item, name)
            )
    # Every kind that makes the decision hard was drawn.
    assert (
        min(
            census[kind]
            for kind in (
                *("echo", "own", "other_train", "other_nontrain", "nobody", "verified own", "verified other_train"),
                *("sampled other_train", "chance other_nontrain", "chance other_train"),
            )
        )
        > 0
    ), census
