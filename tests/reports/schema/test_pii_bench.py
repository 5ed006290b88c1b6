"""The schema of `bench.json` that ships is that of its records."""

import json

from clinaudit.reports.schema.pii_bench import PII_BENCH_SCHEMA_PATH, pii_bench_json_schema


def test_the_schema_that_ships_is_the_one_of_the_records() -> None:
    text = json.dumps(pii_bench_json_schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert PII_BENCH_SCHEMA_PATH.read_text(encoding="utf-8") == text
