"""200 canaries in notes, names and ids: none stands outside `evidence/`, in no encoding, nor in what is printed."""

import base64
import codecs
import hashlib
import random
import shutil
import string
import zlib
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from support.runs.command_line import PROGRAM, run_command

pytestmark = pytest.mark.slow

COUNT = 200


class Planted(NamedTuple):
    """A finished run on a corpus full of canaries, and everything its commands printed."""

    run: Path
    canaries: list[str]
    printed: dict[str, bytes]


def made_up(rng):
    return "zq" + "".join(rng.choices(string.ascii_lowercase, k=12))


def write_corpus(source, target, canaries):
    """Copy a corpus with a canary for each patient's id and name, and the rest in the notes and as ids of notes."""
    shutil.copytree(source, target)
    left = iter(canaries)
    patients = pl.read_csv(source / "patients.csv", infer_schema=False)
    ids = {old: next(left) for old in patients["patient_id"]}
    names = {old: f"{next(left)} {old}" for old in patients["patient_id"]}
    renamed = pl.col("patient_id").replace_strict(ids)
    patients.with_columns(renamed, name=pl.col("patient_id").replace_strict(names)).write_csv(target / "patients.csv")
    pl.read_csv(source / "diagnoses.csv").with_columns(renamed).write_csv(target / "diagnoses.csv")
    words = list(left)
    rows = pl.read_ndjson(source / "notes.jsonl").with_columns(renamed).to_dicts()
    for number, row in enumerate(rows):
        word = words[number % len(words)]
        # In the part that prompts quote, and where generations are compared.
        row["text"] = row["text"].replace("hpi:", f"hpi: {word}", 1) + f"\nplan: call {word}"
        row["note_id"] = f"{word}-{number}"
    pl.DataFrame(rows).write_ndjson(target / "notes.jsonl")


@pytest.fixture(scope="module")
def planted(tiny_demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("canaries")
    rng = random.Random(20)
    canaries = [made_up(rng) for _ in range(COUNT)]
    corpus, run = folder / "corpus", folder / "run"
    write_corpus(tiny_demo.corpus, corpus, canaries)
    # And one corpus that is refused, for its errors.
    broken = folder / "broken"
    shutil.copytree(corpus, broken)
    with (broken / "patients.csv").open("a", encoding="utf-8") as file:
        file.write(f"{canaries[0]},{canaries[1]}\n")
    printed: dict[str, bytes] = {}

    def call(name, *arguments):
        done = run_command([PROGRAM, *map(str, arguments)])
        printed[name] = (done.stdout + done.stderr).encode()
        assert b"error[BUG]" not in printed[name], printed[name][-300:]

    options = ["--tier", "public_name", "--tier", "encounter_cc_hpi", "--engine", "transformers"]
    options += ["--patients-per-cell", "4", "--max-new-tokens", "40", "--ngram", "10", "--no-everyday"]
    call("audit", "audit", tiny_demo.model, corpus, "--out", run, *options)
    assert (run / "manifest.json").is_file(), printed["audit"][-500:]
    call("check", "check", corpus)
    call("broken", "check", broken)
    call("broken audit", "audit", tiny_demo.model, broken, "--out", folder / "other", *options)
    call("show", "show", run)
    call("show as JSON", "show", run, "--json")
    call("gate", "gate", run, "--out", run / "verdict")
    shutil.rmtree(run / "verdict", ignore_errors=True)
    call("report", "report", run)
    call("evidence", "evidence", run, corpus)
    call("verify", "verify", run)
    call("compare", "compare", run, run, "--out", folder / "comparison")
    shutil.copytree(folder / "comparison", run / "comparison", ignore=shutil.ignore_patterns("evidence"))
    return Planted(run, canaries, printed)


def encodings():
    """Ways in which a word may stand in a file."""

    def base(encode, group, signs):
        # Shifted by what may stand before it, and the groups alone that hold nothing but the word: `group` bytes, as
        # many signs. Shorter forms stand in a digest by chance.
        def forms(word):
            return [
                encode(b"\0" * shift + word.encode())[signs * (shift > 0) : signs * ((shift + len(word)) // group)]
                for shift in range(group)
            ]

        return forms

    def entities(template):
        return lambda word: ["".join(template % ord(char) for char in word).encode()]

    return {
        "UTF-8": lambda word: [word.encode(), word.upper().encode(), word.capitalize().encode()],
        "reversed": lambda word: [word[::-1].encode()],
        "UTF-16": lambda word: [word.encode("utf-16-le"), word.encode("utf-16-be")],
        "UTF-32": lambda word: [word.encode("utf-32-le"), word.encode("utf-32-be")],
        "hexadecimal": lambda word: [word.encode().hex().encode(), word.encode().hex().upper().encode()],
        "base64": base(base64.b64encode, 3, 4),
        "base32": base(base64.b32encode, 5, 8),
        "rot13": lambda word: [codecs.encode(word, "rot13").encode()],
        "entities": entities("&#%d;"),
        "hexadecimal entities": entities("&#x%x;"),
        "escapes": entities("\\u%04x"),
        "percent": entities("%%%02x"),
        "digests": lambda word: [
            digest(word.encode()).hexdigest().encode() for digest in (hashlib.md5, hashlib.sha1, hashlib.sha256)
        ],
    }


def found_in(content, canaries):
    """Return the encodings in which any canary stands in a content, or in a stream compressed in it."""
    streams = [content]
    for begin in (
        index for index in range(len(content) - 1) if content[index : index + 2] in (b"\x78\x9c", b"\x78\xda")
    ):
        try:
            streams.append(zlib.decompressobj().decompress(content[begin:]))
        except zlib.error:
            continue
    return {
        name
        for name, encode in encodings().items()
        for word in canaries
        for form in encode(word)
        if any(form in stream for stream in streams)
    }


def test_the_search_finds_what_is_planted():
    word = "zqabcdefghijkl"
    contents = {
        "UTF-8": b"x" + word.upper().encode(),
        "UTF-16": f"ab{word}".encode("utf-16-be"),
        "base64": base64.b64encode(b"some" + word.encode() + b"more text after it"),
        "base32": base64.b32encode(b"some" + word.encode() + b"more text after it"),
        "hexadecimal": b"00" + word.encode().hex().encode(),
        "digests": hashlib.sha256(word.encode()).hexdigest().encode(),
        "entities": "".join(f"&#{ord(char)};" for char in word).encode(),
    }
    for name, content in contents.items():
        assert name in found_in(content, [word]), name
    assert found_in(b"--" + zlib.compress(word.encode()), [word]) == {"UTF-8"}
    assert not found_in(b"nothing of it", [word])


def test_the_canaries_are_in_the_evidence(planted):
    """Else the tests below would show nothing."""
    tables = b"".join(
        str(pl.read_parquet(path).to_dicts()).encode() for path in (planted.run / "evidence").glob("*.parquet")
    )
    seen = [word for word in planted.canaries if word.encode() in tables]
    assert len(seen) > COUNT / 2


def test_no_canary_stands_outside_the_evidence(planted):
    evidence = planted.run / "evidence"
    files = [path for path in planted.run.rglob("*") if path.is_file() and evidence not in path.parents]
    assert {"report.html", "results.json", "run.json", "gate.json", "junit.xml", "compare.html"} <= {
        path.name for path in files
    }
    for path in files:
        assert not found_in(path.read_bytes(), planted.canaries), path.name
    names = "\n".join(str(path.relative_to(planted.run)) for path in planted.run.rglob("*"))
    assert not found_in(names.encode(), planted.canaries)


def test_no_canary_is_printed(planted):
    for command, text in planted.printed.items():
        assert not found_in(text, planted.canaries), command
