"""What digests in published files confirm: an attack on folders of runs, models, benchmarks and comparisons.

    python benchmarks/digest_attack.py FOLDER... [--hidden FILE...] [--corpus DIR] [--ids 200000] [--small-runs 10]

Every digest (hexadecimal of 12 digits or more, and base64 of a page's policy) of every file outside a folder's
`evidence/` is a target. A guess is hashed by six functions, plain and as an HMAC whose key is public (empty, or another
digest of the same folder); a target is confirmed where a guess has its digits. Guesses:

- *tables*: each file of `evidence/paper/` and each JSON file of the evidence, with each of its first hundred numbers of
  up to three digits moved through its class of ten. The true file is among them: whoever guesses well gets there.
- *records*: every file of the evidence, every row of its tables, each table's rows together, each part of its JSON.
- *ids*: single ids, those of the corpus and `--ids` more of their form, and lists: of a benchmark's split, of an arm,
  of a cohort, of whoever stands in a table of the evidence, joined in the ways that programs join.
- *files*: those of `--hidden` (a request's ids, generations, labels), whole and by lines.

The attack is told the truth; an attacker would have to guess it. So what it does not confirm no guess confirms. Digests
of published bytes, of the corpus's files and of the model's are no secret: guesses that are published are left out.
`--small-runs N` publishes N drawn worlds of the tests in a temporary folder and attacks these too. Exits with 1 where
anything was confirmed.
"""

import argparse
import base64
import hashlib
import hmac
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

_HASHES: tuple[Callable[[bytes], Any], ...] = (
    hashlib.sha256,
    hashlib.sha1,
    hashlib.md5,
    hashlib.sha512,
    hashlib.blake2b,
    lambda data: hashlib.blake2b(data, digest_size=16),
)
_FEWEST_DIGITS, _LARGEST_FILE, _ROWS, _NUMBERS = 12, 1 << 24, 20_000, 100
_HEX = re.compile(rb"(?<![0-9A-Fa-f])[0-9a-fA-F]{%d,128}(?![0-9A-Fa-f])" % _FEWEST_DIGITS)
_BASE64 = re.compile(rb"sha256-([A-Za-z0-9+/]{43}=)")
_NUMBER = re.compile(rb"(?<![\w.-])\d{1,3}(?![\w.])")
_JOINTS = ("\n", ",", " ", "", "\0", ", ", ";", "|")
_IDS = ("patient_id", "note_id", "generation_id", "qa_id", "owner_patient_id")


@dataclass
class Target:
    """The digests that a folder publishes."""

    folder: Path
    #: First digits -> whole digest -> the files that hold it.
    by_prefix: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    keys: list[bytes] = field(default_factory=lambda: [b""])
    guesses: int = 0
    #: What was guessed -> the digest and its files.
    confirmed: dict[str, tuple[str, set[str]]] = field(default_factory=dict)

    def attack(self, what: str, guess: bytes, *, keyed: bool = True) -> None:
        """Look whether a digest confirms the guess."""
        made = [make(guess).hexdigest() for make in _HASHES]
        if keyed:
            made += [hmac.digest(key, guess, "sha256").hex() for key in self.keys]
        self.guesses += 1
        for digits in made:
            for digest, files in self.by_prefix.get(digits[:_FEWEST_DIGITS], {}).items():
                if digits.startswith(digest):
                    self.confirmed.setdefault(what, (digest, files))

    @property
    def count(self) -> int:
        """Number of different digests."""
        return sum(map(len, self.by_prefix.values()))


def read_target(folder: Path) -> Target:
    """Collect the digests of everything outside `evidence/`, but those of what is published itself."""
    target = Target(folder)
    public: set[str] = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_file() or "evidence" in name.parts or "work" in name.parts:
            continue
        content = path.read_bytes()
        public.add(hashlib.sha256(content).hexdigest())
        if len(content) > _LARGEST_FILE or path.suffix == ".safetensors":
            continue
        found = [digest.decode().lower() for digest in _HEX.findall(content)]
        for digest in chain(found, (base64.b64decode(one).hex() for one in _BASE64.findall(content))):
            target.by_prefix[digest[:_FEWEST_DIGITS]][digest].add(str(name))
    for digest in public:
        target.by_prefix.get(digest[:_FEWEST_DIGITS], {}).pop(digest, None)
    for digest in [one for held in target.by_prefix.values() for one in held]:
        target.keys += [digest.encode(), *([bytes.fromhex(digest)] if len(digest) % 2 == 0 else [])]
    return target


def evidence_files(folder: Path) -> list[Path]:
    """Return the hidden files of a folder but its state, and the manifest's key: who has that has everything."""
    paths = sorted((folder / "evidence").rglob("*"))
    return [path for path in paths if path.is_file() and "work" not in path.parts and path.name != "manifest.key"]


def guessed_tables(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield tables and documents of the evidence with each of their small numbers moved through its class of ten."""
    for path in evidence_files(folder):
        if path.suffix not in (".csv", ".json"):
            continue
        content, name = path.read_bytes(), str(path.relative_to(folder))
        for place in list(_NUMBER.finditer(content))[:_NUMBERS]:
            first = (int(place[0]) - 1) // 10 * 10 + 1
            if len(content) > 1 << 15:
                # One number of a long document is enough to show what its digest would tell.
                yield name, content
                break
            for number in {0, *range(max(0, first), first + 10)}:
                yield name, content[: place.start()] + str(number).encode() + content[place.end() :]


def hidden_records(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield files, rows and parts of the evidence, in the forms in which programs write them."""
    for path in evidence_files(folder):
        name = str(path.relative_to(folder))
        yield name, path.read_bytes()
        if path.suffix == ".parquet":
            rows = read_rows(path)
            for part in (*rows[:_ROWS], rows, *({**row, "messages": ()} for row in rows[:_ROWS])):
                yield from ((f"{name}, rows", form) for form in json_forms(part))
        elif path.suffix == ".json":
            for part in parts_of(json.loads(path.read_text(encoding="utf-8"))):
                yield from ((f"{name}, a part", form) for form in json_forms(part))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return a table's rows."""
    import polars as pl

    return pl.read_parquet(path).to_dicts()


def parts_of(value: Any) -> Iterator[Any]:
    """Yield every list and object of a JSON document."""
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from parts_of(part)


def json_forms(value: Any) -> Iterator[bytes]:
    """Yield a value as JSON, compact and not, sorted and not."""
    for separators in (None, (",", ":")):
        for is_sorted in (False, True):
            yield json.dumps(value, separators=separators, sort_keys=is_sorted, default=str).encode()


def id_lists(folders: Sequence[Path], corpus: Path | None) -> dict[str, list[str]]:
    """Return lists of ids that a digest might be of: whole columns, by the values of each other column."""
    found: dict[str, set[str]] = defaultdict(set)
    rows = [
        (str(path.name), read_rows(path))
        for folder in folders
        for path in evidence_files(folder)
        if path.suffix == ".parquet"
    ]
    if corpus is not None and (corpus / "patients.csv").is_file():
        lines = [line.split(",") for line in (corpus / "patients.csv").read_text(encoding="utf-8").splitlines()]
        rows.append(("patients.csv", [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]))
    groups = ("arm", "split", "tier", "role", "level", "category", "percent", "diagnosis", "present", "is_trained")
    for name, own in rows:
        for row in own:
            keys = [f"{group}={row[group]}" for group in groups if group in row]
            for column in _IDS:
                if row.get(column):
                    for key in ("all", *keys, " ".join(keys)):
                        found[f"{name} {column} {key}"].add(str(row[column]))
    return {name: sorted(ids) for name, ids in found.items()}


def joined(ids: Sequence[str]) -> Iterator[bytes]:
    """Yield a list of ids as programs write it."""
    for ordered in (sorted(ids), sorted(ids, reverse=True)):
        for joint in _JOINTS:
            text = joint.join(ordered)
            yield from (text.encode(), f"{text}\n".encode(), f"{text}\r\n".encode())
        yield from json_forms(ordered)
    yield f"patient_id\n{chr(10).join(sorted(ids))}\n".encode()


def single_ids(known: Iterable[str], more: int) -> Iterator[str]:
    """Yield the known ids, and more of their form: the same letters before numbers of as many digits."""
    known = sorted(set(known))
    yield from known
    forms = {(match[1], len(match[2])) for one in known if (match := re.fullmatch(r"(.*?)(\d+)", one))}
    for before, width in sorted(forms or {("", 1)}):
        yield from (f"{before}{number:0{width}d}" for number in range(more // max(1, len(forms))))


def attack(
    folders: Sequence[Path], *, hidden: Sequence[Path] = (), corpus: Path | None = None, ids: int = 0
) -> list[Target]:
    """Attack each folder with what the evidence of all of them holds."""
    lists = id_lists(folders, corpus)
    targets = [read_target(folder) for folder in folders]
    for target in targets:
        for folder in folders:
            for what, guess in guessed_tables(folder):
                target.attack(what, guess, keyed=False)
            for what, guess in hidden_records(folder):
                # Parts are many: they are tried plain.
                target.attack(what, guess, keyed=", " not in what)
        for path in hidden:
            content = path.read_bytes()
            inner = hashlib.sha256(content).hexdigest().encode()
            for guess in (content, inner, b"file " + inner, *content.splitlines()[:_ROWS]):
                target.attack(path.name, guess)
        for what, of in lists.items():
            for guess in joined(of):
                target.attack(what, guess)
        known = {one for what, of in lists.items() if "patient_id" in what for one in of}
        for one in single_ids(known, ids):
            for guess in (one.encode(), f"{one}\n".encode()):
                target.attack("one id", guess, keyed=False)
    return targets


def small_runs(place: Path, number: int) -> list[Path]:
    """Publish drawn worlds; return their folders."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import numpy as np
    from support.results.drawn_worlds import draw_world
    from support.results.world_tally import tally_of
    from support.suppression_attack.published_bytes import write_published

    folders = [place / f"run-{seed}" for seed in range(number)]
    for seed, folder in enumerate(folders):
        write_published(folder, tally_of(draw_world(np.random.default_rng(seed), diagnoses=1 if seed % 3 == 0 else 2)))
    return folders


def main() -> None:
    """Attack the folders, print what was confirmed; exits with 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    parser.add_argument("--hidden", type=Path, nargs="*", default=[], help="hidden files that were given to a command")
    parser.add_argument("--corpus", type=Path, help="corpus whose patients' ids are known")
    parser.add_argument("--ids", type=int, default=200_000, help="ids to try beside those known (default 200,000)")
    parser.add_argument("--small-runs", type=int, default=0, help="drawn runs to attack as well (default none)")
    arguments = parser.parse_args()
    targets = attack(arguments.folders, hidden=arguments.hidden, corpus=arguments.corpus, ids=arguments.ids)
    with tempfile.TemporaryDirectory() as place:
        for folder in small_runs(Path(place), arguments.small_runs):
            targets += attack([folder])
    for target in targets:
        found = len(target.confirmed)
        print(f"{target.folder.name}: {target.count} digests, {target.guesses:,} guesses, {found} confirmed")
        for what, (digest, files) in sorted(target.confirmed.items()):
            print(f"  {what}: {digest[:_FEWEST_DIGITS]}… in {', '.join(sorted(files))}")
    sys.exit(1 if any(target.confirmed for target in targets) else 0)


if __name__ == "__main__":
    main()
