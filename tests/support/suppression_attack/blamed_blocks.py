"""Which block of counts is to blame for a difference between two published copies of results.

A block is what moves together: an arm's outcome table, a partition, a kind of bins.
"""

from clinaudit.reports.schema.estimate import ARMS
from clinaudit.reports.schema.results import Results

#: Where a value stands in the published document.
Path = tuple[str, ...]


def _nearest(name: str) -> str:
    """Return which counts a count moves with: those of a partition, an arm's table, a kind of bins."""
    kind, *rest = name.split("/")
    if kind == "table":
        return "/".join([kind, *rest[:3]])
    if kind == "pair":
        return "/".join(["pair", *rest[:2]])
    if kind == "mem":
        group = rest[2] if len(rest) > 3 else "counts"
        return "/".join([kind, *rest[:2], {"copy": "k"}.get(group, group)])
    return "/".join([kind, rest[0]]) if kind == "overlap" else kind


def _beside(name: str) -> str:
    """Return the next larger such group: both arms' tables with the sets dropped, all of a tier's arm."""
    kind, *rest = name.split("/")
    if kind in ("table", "pair"):
        return "/".join(["table", *rest[:2]])
    return "/".join([kind, *rest[:2]]) if kind == "mem" else _nearest(name)


SCOPES = (_nearest, _beside)

NOWHERE = object()


def leaves_of(results: Results) -> dict[Path, object]:
    """Return every value of the published document by its path; rows by what they are of, not by their order."""
    found: dict[Path, object] = {}

    def walk(node: object, path: Path) -> None:
        if isinstance(node, dict):
            found[*path, "keys"] = tuple(node)
            for key, item in node.items():
                walk(item, (*path, str(key)))
        elif isinstance(node, list):
            found[*path, "rows"] = len(node)
            for place, item in enumerate(node):
                name = str(place)
                if isinstance(item, dict):
                    name = (
                        item["id"]
                        if "id" in item
                        else f"{item['partition']}/{item['group']}"
                        if "group" in item
                        else name
                    )
                walk(item, (*path, name))
        else:
            found[path] = round(node, 6) if isinstance(node, float) else node

    walk(results.model_dump(), ())
    return found


def blame(path: Path) -> set[str]:
    """Return which counts may be why a path came out otherwise: beginnings of their blocks' names."""
    match path:
        case ("memorization", tier, arm, *_):
            return {f"mem/{tier}/{arm}"}
        case ("disclosure", "mean", *_):
            return {"table/", "pair/"}
        case ("disclosure", "by_diagnosis", diagnosis, tier, *rest):
            if rest[-1] == "p_holm":
                return {"table/", "pair/"}
            arm = f"/{rest[0]}" if rest and rest[0] in ARMS else ""
            return {f"table/{diagnosis}/{tier}{arm}", f"pair/{diagnosis}/{tier}"}
        case ("cohorts", diagnosis, *_):
            return {f"overlap/{diagnosis}"}
        case ("judge_quality", *_):
            return {"judge"}
        case ("subgroups", _, _, _, row, *_) if "/" in row:
            return {row.split("/")[0]}
        case ("corpus", _, _, "sex" | "race" as partition, *_):
            return {partition}
        case ("corpus", _, _, "age" | "age_bands", *_):
            return {"age"}
        case ("decision", "rules", _, "reason" | "status", *_):
            return {"table/", "pair/", "mem/", "judge"}
        case ("decision", "rules", *_):
            return {"table/", "pair/", "mem/"}
    return {""}


def is_blamed(block: str, guilty: set[str]) -> bool:
    """Whether a block is among those to blame."""
    return any(block.startswith(beginning) for beginning in guilty)
