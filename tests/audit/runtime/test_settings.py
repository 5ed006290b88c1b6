"""The options of an audit: command line over file over defaults, and every mistake in a file told at once."""

from pathlib import Path

import pytest

from clinaudit.audit.runtime.settings import AuditSettings, read_settings
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.identity import Identity

GIVEN = {"model": "m", "corpus": Path("c"), "out": Path("o")}


def test_command_line_wins_over_file_over_default(tmp_path):
    config = tmp_path / "audit.toml"
    config.write_text(
        'seed = 5\nngram = 20\npolicy = "p.toml"\ntier = ["encounter", "public"]\njudge-decoding = "provider-default"\n'
    )
    settings = read_settings({**GIVEN, "seed": 7, "ngram": None, "tier": ()}, config=config)
    assert (settings.seed, settings.ngram, settings.max_new_tokens) == (7, 20, 1000)
    assert settings.policy == tmp_path / "p.toml"
    assert settings.judge_decoding == "provider-default"
    assert read_settings(GIVEN, config=None).judge_decoding == "deterministic"
    assert settings.tier == ("public", "encounter")


def test_wrong_configuration_lists_everything(tmp_path):
    config = tmp_path / "audit.toml"
    config.write_text('sed = 1\nseed = "x"\ncontrols = "nearest"\ntier = "public"\njudge-decoding = "greedy"\n')
    with pytest.raises(BadInputError) as caught:
        read_settings(GIVEN, config=config)
    assert len(caught.value.problems) == 5
    config.write_text("seed = \n")
    with pytest.raises(BadInputError, match="not valid TOML"):
        read_settings(GIVEN, config=config)
    with pytest.raises(BadInputError, match="does not exist"):
        read_settings(GIVEN, config=tmp_path / "none.toml")


def test_identity_stands_in_the_file_too_and_a_date_of_toml_is_one(tmp_path):
    config = tmp_path / "audit.toml"
    config.write_text('model-name = "Scribe 3"\ninstitution = "St. Anne"\ndate = 2026-11-22\nintended-use = "Notes"\n')
    settings = read_settings({**GIVEN, "model_name": "Scribe 4"}, config=config)
    assert settings.identity == Identity("Scribe 4", "St. Anne", "2026-11-22", intended_use="Notes")
    assert read_settings(GIVEN, config=None).identity == Identity()
    config.write_text('model-name = "two\\nlines"\ninstitution = 3\ndate = 2026-11-22T10:00:00\n')
    with pytest.raises(BadInputError) as caught:
        read_settings(GIVEN, config=config)
    assert caught.value.problems == (
        "model-name: must be one line of 1 to 120 printable characters",
        "institution: must be text",
        "date: must be text",
    )


@pytest.mark.parametrize("wrong", [{"seed": True}, {"ngram": False}, {"gpu_memory": True}, {"tier": (True,)}])
def test_a_truth_value_is_no_number(wrong):
    """Python takes True for 1: another seed than the default."""
    with pytest.raises(UsageError) as caught:
        AuditSettings.of(**GIVEN, **wrong)
    assert next(iter(wrong)) in caught.value.message
    assert AuditSettings.of(**GIVEN, score=False).score is False
