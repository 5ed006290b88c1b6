"""RTF: what Word shows is read, and nothing else; a document that is not whole is refused."""

import random
import re

import pytest

from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.rtf_text import text_of_rtf

_FONTS = (
    rb"\ansicpg1252\deff0{\fonttbl{\f0\fnil Arial;}{\f1\fcharset204 Arial Cyr{\*\falt Helvetica};}"
    rb"{\f2\fcharset2 Symbol;}{\f3\fnil\fcharset2{\*\panose 05000000000000000000}Wingdings;}"
    rb"{\f4\fcharset128 MS Gothic;}{\f5\fcharset161 Arial;}{\f6\fcharset1 Arial;}{\f7 Symbol;}"
    rb"{\f9\fcharset0\cpg1251 Arial;}{\f8\fcharset2 Webdings;}}"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Characters of the document's code page, escaped or raw, and of no code page.
        (rb"\ansi\ansicpg1252 M\'fcller", "Müller"),
        (b"\\ansi\\ansicpg1252 M\xfcller", "Müller"),
        (rb"\ansi\ansicpg1250 \'9cwi\'eato", "święto"),
        (rb"\mac M\'9fller", "Müller"),
        (rb"\pc M\'81ller", "Müller"),
        (rb"\ansicpg65001 M\'c3\'bcller", "Müller"),
        (rb"\ansicpg10000 M\'9fller", "Müller"),
        # A font's character set, which ends with the font; fonts that name none, or the default.
        (_FONTS + rb"\f0 caf\'e9, \f1\'cf\f0  na\'efve", "café, П naïve"),
        (_FONTS + rb"{\f1\'cf}\'e9\f5\'f9\plain\'e9\f6\'e9\f99\'e9\f9\'e9", "Пéωéééй"),
        # Characters of two bytes, of which the second may be a letter.
        (_FONTS + rb"\f4\'83A\'83\'81\f0 x", "アメx"),
        # Fonts of signs, by their set or their name, also as Word puts their codes in Unicode.
        (_FONTS + rb"BP \f2\'b3\f0  140, \f2 m\f0 g \f7\'a3\f0  5 {\f2\u-3917\'b3} \f3\'fc\f2\u8805 ?",
         "BP ≥ 140, μg ≤ 5 ≥ ✓≥"),
        (rb'x {\field{\*\fldinst SYMBOL 179 \\f "Symbol" \\s 10}{\fldrslt\f3\fs20}} 3', "x ≥ 3"),
        (rb'{\field{\*\fldinst {SYMBOL 0xFC \\f Wingdings}}}{\field{\*\fldinst SYMBOL 181}{\fldrslt}}', "✓µ"),
        # Fields show their result.
        (rb"{\field{\*\fldinst INCLUDETEXT /etc/passwd}{\fldrslt }}x", "x"),
        (rb'{\field{\*\fldinst{HYPERLINK "http://e/"}}{\fldrslt{\ul link}}}', "link"),
        # What stands for a character in older readers: one by default; none; a code of two bytes; a group's end.
        (rb"it\u8217's {\uc0 it\u8217s} {\uc2 it\u8217\'81\'66s} {it\u8217}s", "it’s it’s it’s it’s"),
        (rb"it\u8217 's\u8217\~s {\uc0\u55357\u56832} \u-10179?\u-8704?", "it’s’s 😀 😀"),
        # Hidden and deleted text; the new text of a revision is shown.
        (rb"shown {\v id 4711 }text, dose {\deleted 5 mg }{\revised 10 mg}", "shown text, dose 10 mg"),
        (rb"a\v b\v0 c\deleted d\deleted0 e{\v f{\v0 g}h}\v i\plain j{\v\par}k", "acegjk"),
        # Numbers and bullets of lists, as Word and older writers have them.
        (_FONTS + rb"{\listtext\pard\plain 1.\tab}\ls1 a\par{\listtext\f2\'b7\tab}b\par{\pntext\f3\'a7\tab}c\par",
         "1.\ta\n•\tb\n▪\tc\n"),
        (rb"{\*\listtable{\list{\listlevel{\leveltext\'02\'00.;}}}}{\stylesheet{\s1\ls1 Heading;}}\pard\ls0 a", "a"),
        # Rows of tables, and a page laid out in two columns, which are read one after the other.
        (rb"a\par\trowd\pard\intbl BP\cell 120/80\cell\row\trowd\intbl\cell x\cell\row\pard b",
         "a\nBP\t120/80\n\tx\nb"),
        (rb"\trowd\pard\intbl CC\par dizzy\cell Problems\par bipolar\cell\row\pard b",
         "CC\ndizzy\nProblems\nbipolar\nb"),
        (rb"x\par\pard\intbl a\par\pard\intbl\itap2 n1\nestcell n2\nestcell{\*\nesttableprops\nestrow}"
         rb"{\nonesttables\par}\pard\intbl\cell b\cell\row\pard y", "x\na\nn1\tn2\nb\ny"),
        # Signs by name, line ends, and hyphens that show only where a line breaks.
        (b"a\\~b\\-c\\_d\\{\\}\\\\\\lquote x\\rquote\\emdash\\bullet\\\ny\\line z\\tab q\\page r\\sect\r\ns",
         "a bc-d{}\\‘x’—•\ny\nz\tq\nr\ns"),
        # Figures above the line, which would be others below it.
        (rb"10{\super 9}/L H{\sub 2}O 5{\super th} 10\super -3\nosupersub  x", "10⁹/L H2O 5th 10⁻³ x"),
        (rb"10{\up6 12} 10\up8 9\up0 /L 10{\super 1.5} 10{\super\endash 3} H{\dn4 2}O", "10¹² 10⁹/L 10^1.5 10⁻³ H2O"),
        # Capitals of a style.
        (_FONTS + rb"{\caps plan: \caps0 Rest} {\scaps ab\f2 m\plain cd}", "PLAN: Rest ABμcd"),
        # Groups that are no text of the body, known and unknown; what an embedded object shows.
        (rb"{\*\generator w;}{\info{\title t}}{\header h}{\footnote f}{\*\unknown u{\b v}}"
         rb"{\object{\*\objdata 0f}{\result r}}x",
         "rx"),
        (rb"{\*\mmathPr\mmathFont34}x", "x"),
        (rb"{\*\bkmkstart a}x{\*\bkmkend a}{\*\htmltag84 <p>}", "x"),
        # Of two forms of one text the one in Unicode, and a text box on a line of its own, each once.
        (rb"a {\upr{J?rgen}{\*\ud{J\u252?rgen}}} b", "a Jürgen b"),
        (rb"{\footnote {\upr{a}{\*\ud{b}}}{\shp{\*\shpinst{\shptxt c}}}}x", "x"),
        (rb"x{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt box\par}}{\shprslt{\*\do{\dptxbxtext box\par}}}}y",
         "x\nbox\ny"),
        *((rb"{\fonttbl{\f1 %s;}}5 {\f1 m}" % name, "5 μ") for name in (b"Symbol Std", b"SymbolProp BT")),
        (rb"x\par{\*\do\dobxpage{\dptxbxtext\pard box\par}}y", "x\nbox\ny"),
        # In a group of drawings, without an end of its own, and in a cell.
        (rb"x{\shpgrp{\*\shpinst{\shp{\*\shpinst{\shptxt a\par}}}{\shp{\*\shpinst{\shptxt b}}}}}y", "x\na\nb\ny"),
        (rb"\trowd\pard\intbl A{\shp{\*\shpinst{\shptxt\pard box\par}}}\cell B\cell\row\pard z", "A\nbox\nB\nz"),
        (rb"IDENTIT\'c9\'a0: 5\'b2", "IDENTITÉ\xa0: 5²"),
        # Binary data may hold any byte: braces, backslashes, and bytes that are no ASCII.
        (b"{\\pict\\bin5 \xff\xfe}\\u}x\\b\\bin3 {{{a", "xa"),
    ],
)  # fmt: skip
def test_the_text_of_a_document(body: bytes, expected: str) -> None:
    assert text_of_rtf(b"{\\rtf1" + (body if body.startswith(b"\\") else b" " + body) + b"}") == expected


def test_what_follows_a_document_may_show_nothing() -> None:
    assert text_of_rtf(b"{\\rtf1 x}}{\\*\\themedata 00}\r\n\0") == "x"
    assert text_of_rtf(b"{\\rtf1 x}ocf_blob\0") == "x"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello", "is not RTF"),
        (rb"{\rtf1 The patient was", "is cut off"),
        (rb"{\rtf1 The {\b patient}", "is cut off"),
        (rb"{\rtf1 The\u8217", "is cut off"),
        (b"{\\rtf1 The\\", "is cut off"),
        (rb"{\rtf1 The patient} was here}", "goes on after its end"),
        (rb"{\rtf1 The patient}{\rtf1 another}", "goes on after its end"),
        (rb"{\rtf1 The \bin999999999 patient was}", "holds more than it does"),
        (rb"{\rtf1 The \bin12 patient was}", "holds more than it does"),
        (rb"{\rtf1\uc999 The\u8217 patient was}", "skips more text"),
        (rb"{\rtf1\uc-1 The\u8217 patient was}", "skips more text"),
        (rb"{\rtf1\uc8 The\u8217 patient}", "ends within the text"),
        (rb"{\rtf1 \u55357? x}", "cannot be read whole"),  # half a character
        (rb"{\rtf1\ansicpg99999 \'fc x}", "cannot be read whole"),
        (rb"{\rtf1\ansicpg1252 \'81 x}", "cannot be read whole"),  # no character of Windows-1252
        (rb"{\rtf1 \u9999999999? x}", "cannot be read whole"),
        (rb"{\rtf1 \'g1 x}", "cannot be read whole"),
        (b"{\\rtf1" + _FONTS + rb"\f8 a}", "a symbol font .* not known"),
        (b"{\\rtf1" + _FONTS + rb"\f3 q\'01}", "a symbol font .* not known"),
        (rb"{\rtf1\pard\ls1 first\par}", "lists and does not write their numbers"),
        (rb"{\rtf1\pard{\*\pn\pnlvlbody\pndec}first\par}", "lists and does not write their numbers"),
        (rb"{\rtf1 GFR {\mmath{\*\moMath{\mr 90}}} ml}", "holds a formula"),
        (rb"{\rtf1 {\field{\*\fldinst FORMCHECKBOX {\*\formfield{\ffres1}}}{\fldrslt}}}", "a box or list of a form"),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_read_whole_is_rejected(content: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of_rtf(content)


def test_a_large_document_is_read_in_one_pass() -> None:
    fields = rb"{\field{\*\fldinst{" * 20_000 + b"}}}" * 20_000
    fonts, groups = b"{\\fonttbl" + rb"\f1" * 100_000 + b"}", b"{" * 300_000 + b"x" + b"}" * 300_001
    assert text_of_rtf(b"{\\rtf1 " + fonts + fields + groups) == "x"


_WORDS = (rb"\par ", rb"\b ", rb"\intbl ", rb"\pard ", rb"\cell ", rb"\row ", rb"\itap2 ", rb"\nestcell ", rb"\trowd ")


def test_no_word_is_lost_or_moved_however_tables_are_broken() -> None:
    rng = random.Random(0)
    for _ in range(500):
        words = [rng.choice([b"w%d ", *_WORDS, b"{%d"]) for _ in range(rng.randrange(2, 40))]
        numbered = [word.replace(b"%d", b"%d" % at) for at, word in enumerate(words)]
        source = (
            b"{\\rtf1 " + b"".join(numbered).replace(b"{", b"{ w") + b"}" * (1 + sum(b"{" in word for word in words))
        )
        assert re.findall(r"w\d+", text_of_rtf(source)) == re.findall("w[0-9]+", source.decode())
