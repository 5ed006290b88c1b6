"""A benchmark built in a moment: of its keywords nothing is read, or what a test says."""

from pathlib import Path
from typing import Any

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.unlearning.benchmark.build import BuildRequest, KeywordSource, build_bench

NO_KEYWORDS = KeywordSource("none", lambda _bench: (), lambda *_: ())


def build(corpus: Path, out: Path, *, keywords: KeywordSource = NO_KEYWORDS, **options: Any) -> dict[str, Any]:
    """Build it, and return its counts."""
    request = BuildRequest(corpus=corpus, out=out, **options)
    return build_bench(request, Progress(quiet=True), keywords=keywords).model_dump()
