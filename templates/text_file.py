"""Reading of a small text or TOML file that the user named, with an error for every defect. Knows no contents."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinaudit.errors import BadInputError

#: Lists and settings are far smaller; a file of gigabytes would take all memory.
_MOST_BYTES = 256 << 20
#: A TOML file of settings has a few kilobytes; the parser reads about 200,000 characters a second.
_MOST_TOML_CHARS = 2 << 20
#: The parser takes time in the square of a key's parts (`a.b.c`); a profile's keys have three.
_MOST_KEY_PARTS = 50
_KEY_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
#: At the start of a line, of a table's name, or of an entry of a table in braces.
_LONG_KEY = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}[ \t]*+(?:{_KEY_PART}[ \t]*+\.[ \t]*+){{{_MOST_KEY_PARTS}}}", re.MULTILINE
)


def locate_shipped(given: Path | None, *, role: str, shipped: Sequence[str], folder: Path, default: str) -> Path:
    """Return the file given, or the one in `folder` of that name; without a name the default one.

    Raises `BadInputError` where a name means nothing, or two things.
    """
    name = default if given is None else str(given)
    if given is None or (name in shipped and not given.exists()):
        return folder / f"{name}.toml"
    if name in shipped:
        # Neither may win silently: the user meant only one of them.
        raise BadInputError(
            f"{role} {name!r} ships, and a file here has that name too; rename the file or give its full path"
        )
    if not given.exists() and not given.is_symlink():
        raise BadInputError(
            f"the {role} {name!r} does not exist as a file, and is none of those that ship: {', '.join(shipped)}"
        )
    return given


def read_text_file(path: Path, *, role: str) -> str:
    """Return the file's text; `role` is what messages call it ("the policy").

    A byte-order mark is left out. Raises `BadInputError` for a file that is missing, not regular (a pipe could block
    without end), too large, not UTF-8 or not readable.
    """
    try:
        if not path.exists():
            raise BadInputError(f"{role} {path.name} does not exist; name an existing file")
        if not path.is_file():
            raise BadInputError(f"{role} {path.name} is not a regular file; name a text file")
        if path.stat().st_size > _MOST_BYTES:
            raise BadInputError(f"{role} {path.name} is larger than {_MOST_BYTES >> 20} MiB; name a text file")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadInputError(f"{role} {path.name} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise BadInputError(f"{role} {path.name} cannot be read ({error.strerror}); check its permissions") from None


def read_toml_file(path: Path, *, role: str) -> dict[str, Any]:
    """Return the file's table; raises `BadInputError` as `read_text_file` does, and for what is not valid TOML."""
    return parse_toml(read_text_file(path, role=role), f"{role} {path.name}")


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Return the table that `text` holds; raises `BadInputError` naming `what` ("the policy p.toml")."""
    if len(text) > _MOST_TOML_CHARS:
        raise BadInputError(f"{what} has more than {_MOST_TOML_CHARS:,} characters; name a file of settings")
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise BadInputError(f"{what}, line {line}: a key has more than {_MOST_KEY_PARTS} parts; write it with a few")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{what} is not valid TOML: {error}") from None
    except ValueError:
        raise BadInputError(f"{what} holds a number that is too long; write one of a few digits") from None
    except RecursionError:
        raise BadInputError(f"{what} is nested too deeply; it has tables and lists of a few levels") from None
