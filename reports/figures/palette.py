"""The colours of the charts. Each stands at least 3:1 against the chart's paper (WCAG 1.4.11), and those that meet in
one chart stay apart under the common kinds of colour blindness; a unit test computes both.

Charts stand on a light card in dark mode too, so there is one palette.
"""

PAPER = "#ffffff"
INK = "#1b2733"
MUTED_INK = "#4f5b67"
#: Grid lines carry no data and may be faint.
GRID = "#e3e8ec"
#: Train against nontrain.
ARM_COLOURS = {"train": "#b04a00", "nontrain": "#3c6e9f"}
#: Tiers in order of access, light to dark; each has a mark of its own besides, for prints without colour.
TIER_COLOURS = ("#b07a00", "#5a8a3a", "#00857d", "#1f6fb0", "#9c2f5a", "#1f1a2e")
TIER_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
#: The paper's Figure 4: clinically revealing in orange, templated in blue; patient specific (K = 1) dark, shared light.
COMPOSITION = {
    "revealing, this patient only": "#8a3700",
    "revealing, shared": "#d9731a",
    "templated, this patient only": "#0f3f66",
    "templated, shared": "#5d93c4",
}
#: Thresholds and zero lines.
RULE = "#6b7680"
