"""`clinaudit again`: one text of a run made again."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, value_option
from clinaudit.audit.runtime.choices import EngineChoice
from clinaudit.audit.runtime.console.streams import say, warn


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.argument("generation_id", metavar="ID")
@click.argument("model", type=PATH)
@click.option("--engine", type=click.Choice(["auto", "vllm", "transformers"]), default="auto", show_default=True)
@value_option("--base-model DIR", "The model that an adapter (MODEL) was trained on.", name="base_model")
def again(run_directory: Path, generation_id: str, model: Path, engine: EngineChoice, base_model: Path | None) -> int:
    """Generate text ID of RUN anew from its prompt, and print it. It is PHI.

    `clinaudit show RUN --worst N` and the evidence page give ids. MODEL must be the files that RUN audited. Nothing is
    written. The last digits of a model's numbers depend on the batch, so now and then a text differs.

    \b
    Example:
      clinaudit again run/ g1f0b9c model/
    """
    from clinaudit.audit.assembly.again import make_again
    from clinaudit.reports.wording.escaped_text import harmless_text

    made = make_again(run_directory, generation_id, model, engine=engine, base=base_model)
    say("\n".join(map(harmless_text, made.text.splitlines())))
    if made.text == made.before:
        warn("the same text as in the run")
    else:
        warn("another text than in the run: another machine, engine or batch may decide a close call otherwise")
    return 0
