"""The options of commands: made of the fields of the settings, with their types, bounds, defaults and help."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from pydantic.fields import FieldInfo

from clinaudit.audit.runtime.choices import DEFAULT, SHIPPED
from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.settings import Options, ReadingOptions, ServedModelOptions
from clinaudit.errors import UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.identity import IDENTITY_FIELDS, identity_problem

if TYPE_CHECKING:
    from clinaudit.audit.runtime.served.access import ServedOptions
    from clinaudit.priors.corpus.header import Header

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]


class _Path(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Such as an unset variable of a script gives; it would mean the present directory.
        if value == "":
            self.fail("a path is empty; name one (. is the present directory)", param, ctx)
        path = super().convert(value, param, ctx)
        # `.` is that directory by its place, so that it has a name to be told by.
        return path.absolute() if isinstance(path, Path) and not path.name else path


# Not `readable`: a path that cannot be read is reported where it is opened, with another exit status than bad usage.
PATH = _Path(path_type=Path, readable=False)


def not_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return a value, or that none was given; one that is empty is bad usage."""
    if value == "":
        raise click.BadParameter("it is empty")
    return value


class GroupedOption(click.Option):
    """An option that the help lists under the title of a group."""

    def __init__(self, *names: Any, group: str | None = None, **given: Any) -> None:
        """Take the option's names, its group, and whatever click takes."""
        super().__init__(*names, **given)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what stands in brackets: without bounds, which an error names."""
        return {name: shown for name, shown in super().get_help_extra(ctx).items() if name != "range"}


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups; those without a group come first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", None) or "Options"].append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=26)


def options_of(
    group: type[Options], *only: str, but: Sequence[str] = (), title: str | None = None
) -> list[Option[Any]]:
    """Return the options of a group of settings, or of some of its fields; None is the value that is not given."""
    names = only or [name for name, field in group.model_fields.items() if field.description and name not in but]
    schemas = group.model_json_schema()["properties"]
    return [_option_of(name, group.model_fields[name], schemas[name], title) for name in names]


def _option_of(name: str, field: FieldInfo, schema: Mapping[str, Any], title: str | None) -> Option[Any]:
    flag = f"--{name.replace('_', '-')}"
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    shown = extra.get("shown") or (
        None if field.default is None or isinstance(field.default, bool | tuple) else str(field.default)
    )
    given: dict[str, Any] = {"cls": GroupedOption, "group": title, "default": None, "metavar": extra.get("metavar")}
    # Of a value that may be left out, what it is where it is given.
    of: Mapping[str, Any] = schema.get("anyOf", [schema])[0]
    match of:
        case {"type": "boolean"}:
            given["is_flag"] = True
            if field.default:
                flag, shown = f"{flag}/--no-{name.replace('_', '-')}", "on"
        case {"type": "array"}:
            given |= {"multiple": True, "type": click.Choice(TIER_IDS) if name == "tier" else str}
        case {"enum": words}:
            given["type"] = click.Choice(words)
        case {"type": "integer"}:
            kind = click.IntRange(of.get("minimum"), of.get("maximum"))
            given |= {"type": kind, "metavar": extra.get("metavar", "N")}
        case {"type": "number"}:
            given["type"] = click.FloatRange(of.get("exclusiveMinimum"), of.get("maximum"), min_open=True)
        case {"format": "path"}:
            given["type"] = PATH
        case _ if name in IDENTITY_FIELDS:
            given["callback"] = _identity
    return click.option(flag, help=f"{field.description}{f'  [default: {shown}]' if shown else ''}", **given)


def value_option(
    declared: str,
    help_text: str,
    kind: "click.ParamType[Any] | None" = None,
    *,
    name: str = "",
    default: Any = None,
    required: bool = False,
    multiple: bool = False,
) -> Option[Any]:
    """Return an option that takes a value, a path without `kind`; `declared` is as the help shows it."""
    flag, _, metavar = declared.partition(" ")
    names = (flag, name) if name else (flag,)
    given: dict[str, Any] = {"type": kind or PATH, "metavar": metavar or None, "help": help_text}
    if default is not None:
        given |= {"default": default, "show_default": True}
    return click.option(*names, required=required, multiple=multiple, **given)


def take_served(options: dict[str, Any]) -> "ServedOptions | None":
    """Take the options of a served model out of all; None where none is named, `UsageError` where one lacks others."""
    from clinaudit.audit.runtime.served.access import ServedOptions

    url, model, key, approved = (options.pop(name) for name in ServedModelOptions.model_fields)
    if (url is None) != (model is None):
        raise UsageError("--served-url and --served-model go together: where a served model stands, and its name there")
    if key and url is None:
        raise UsageError("--served-key-file goes with --served-url and --served-model")
    return None if url is None else ServedOptions(url, model, approved, key)


def warn_of_unread(header: "Header", path: Path) -> None:
    """Warn of fields of a file that are not read: counted, not named, since in a broken file a name may stand there."""
    if header.unread:
        fields = ", ".join(header.columns)
        warn(f"note: of {printable(path.name)} only {fields} are read; fields of other names: {len(header.unread)}")


#: Names the layout of the notes.
TEMPLATE: Final = options_of(ReadingOptions, "template")[0]


def form_option(
    help_text: str = "Questions open with what is known of the encounter, or name nobody.",
) -> Option[Any]:
    """Return the option of how a benchmark's questions are put."""
    forms = click.Choice(["addressed", "paper"])
    return click.option("--form", type=forms, default="addressed", show_default=True, help=help_text)


def _identity(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    problem = None if value is None else identity_problem(option.name or "", value)
    if problem is not None:
        raise click.BadParameter(f"it {problem}")
    return value


def policy_option(*, default: str = DEFAULT) -> Option[Any]:
    """Return the option that names the policy, which `gate.policy` reads; the help says `default`."""
    return value_option("--policy FILE", f"TOML policy, or one that ships: {', '.join(SHIPPED)}.  [default: {default}]")


def with_options(options: Sequence[Option[Any]]) -> Option[Any]:
    """Return a decorator that adds the options in the order in which they are given."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
