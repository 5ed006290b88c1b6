"""The table of estimates as CSV: what is written is read back, and nothing else is read."""

import pytest
from polars.testing import assert_frame_equal
from support.invented_estimates import invented_estimates

from clinaudit.reports.estimates.frame import Row, as_estimates
from clinaudit.reports.exports import read_csv, write_csv

HEAD = "metric,form,tier,arm,diagnosis,by,part,value,low,high,reason,count_low,count_high,of_low,of_high,behind\n"
HIDDEN = Row("hit_rate", "text", "public", "train", low=0.0012349, high=1e-7, count_low=1, count_high=10, of_low=130,
             of_high=130)  # fmt: skip
ROWS = (HIDDEN, Row("auroc", diagnosis="hiv", value=-1e-9, reason='too few, "so" said'))
TEXT = HEAD + (
    "hit_rate,text,public,train,,,,,0.001235,0,,1,10,130,130,\n"
    'auroc,,,,hiv,,,0,,,"too few, ""so"" said",,,,,\n'
)  # fmt: skip


def test_a_row_is_written_with_six_decimals_and_its_ends_as_they_are() -> None:
    assert write_csv(as_estimates(ROWS)) == TEXT


def test_a_table_is_read_back_to_six_decimals() -> None:
    table = invented_estimates(forms=("text", "chat"))
    text = write_csv(table)
    again = read_csv(text)
    assert_frame_equal(again, table, rel_tol=0, abs_tol=5.1e-7)
    assert write_csv(again) == text
    assert write_csv(read_csv(write_csv(as_estimates(())))) == HEAD


@pytest.mark.parametrize(
    "text",
    [
        "",
        "metric\n",
        HEAD.replace("behind", "before"),
        TEXT + "hit_rate\n",
        TEXT.replace("130,130", "130,1e2"),
        TEXT.replace("0.001235", "0.0012351"),
        TEXT.replace("0.001235", "0.1e-2"),
        TEXT.replace("0.001235", "nan"),
        TEXT.replace("0.001235", "inf"),
        TEXT.replace("0.001235", "secret"),
        TEXT.replace(",1,10,", ",1.0,10,"),
        TEXT + TEXT.removeprefix(HEAD),
        TEXT.removesuffix("\n"),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("hiv", "\ud800"),
    ],
)
def test_any_other_text_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a table of estimates as it was written$"):
        read_csv(text)
