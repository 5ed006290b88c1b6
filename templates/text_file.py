"""Reading of a small text or TOML file that the user named, with an error for every defect.

What is wrong with an entry of TOML is said with its path (`layouts[2].name`), since `tomllib` gives no lines.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

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


#: Keys of tables, and places in lists (from 0), from the root down.
EntryPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong entry."""

    path: EntryPath
    #: What is wrong, and what to write.
    text: str

    def __str__(self) -> str:
        dotted = "".join(f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in self.path)
        return f"{dotted.removeprefix('.')}: {self.text}" if self.path else self.text


class TomlTable(BaseModel):
    """A table of a TOML file. What an entry must be, where it is not, says its description, or else its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


#: The type of an error whose message is what to say; other types are described by their field.
SAID: Final = "said"
_BLANK = "is empty, or no text"
_NEEDED = {
    "missing": "is missing",
    "tuple_type": "a list of texts is needed",
    "model_type": "a table is needed",
    "dict_type": "a table is needed",
    "bool_type": "must be true or false",
}
Table = TypeVar("Table", bound=TomlTable)


def _filled(text: str) -> str:
    if not text.strip().removesuffix(":").strip():
        raise PydanticCustomError(SAID, _BLANK)
    return text


#: A text of a list of texts, and such a list.
Word = Annotated[str, AfterValidator(_filled)]
Item = TypeVar("Item")
Listed = Annotated[tuple[Item, ...], BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given)]


def read_table(model: type[Table], document: Mapping[str, Any]) -> Table | list[Problem]:
    """Return the entries of a table, or all those that are not what they must be."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return [Problem(path := fault["loc"], _what(model, path, fault["type"], fault["msg"])) for fault in faults]


def _what(model: type[TomlTable], path: EntryPath, kind: str, message: str) -> str:
    """Return what an entry must be, by the field of the table that it is in."""
    if kind == SAID:
        return message
    table, need = model, None
    for key in path:
        if key in table.model_fields:
            field = table.model_fields[str(key)]
            table = next((part for part in _parts(field.annotation) if issubclass(part, TomlTable)), table)
            need = field.description
        elif kind == "extra_forbidden" and key == path[-1]:
            return f"unknown entry; known are {', '.join(sorted(table.model_fields))}"
    if kind == "string_type" and isinstance(path[-1], int):
        return _BLANK
    return (kind != "missing" and need) or _NEEDED.get(kind, "a text is needed")


def _parts(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for part in get_args(annotation):
        yield from _parts(part)
