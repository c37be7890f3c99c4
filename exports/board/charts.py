"""The charts of the board as Vega-Lite, drawn of `rows.chart_rows`; the page puts the rows in.

What is picked is three parameters of each chart, which the page sets: `kind` (school, cohort or class),
`key`, and the `cohort` that the key is of. Series differ in shade and in shape, so that a grey printer and
the colour-blind tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import altair as alt

from exports.sheets import Language, Words
from exports.workbooks.terms import LEVELS, RATE, STUDENTS

#: Okabe and Ito's, the darkest first.
SERIES = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 2, 2, 2], [5, 2], [3, 4], [12, 3])
SERIES_ORDER = alt.EncodingSortField("order", op="min")
#: From the best band to the worst, one hue by shade.
SHADES = ("#08306B", "#2F79B5", "#7FB7DA", "#C9DDF0", "#8C2D04", "#3D1402")
RISK, WARNING, FALL, RISE = "#8C2D04", "#F0B678", "#B5501B", "#2F79B5"
FONT = "'Noto Sans CJK SC', 'Microsoft YaHei', 'PingFang SC', 'Hiragino Sans GB', sans-serif"

WEEK = Words("Teaching week", "教学周")
LESSON = Words("Lesson", "节次")
DAY = Words("Weekday", "星期")
SUBJECT = Words("Subject", "学科")
SHARE = Words("Share of the grades", "成绩占比")
BANDS = Words("Percent of the full score", "占满分百分比")
CHANGE = Words("Change in percentage points", "变化（百分点）")
GROUP = Words("Group", "范围")

#: Pixels of a class where each has a line, so that no label is left out.
CLASS_HEIGHT, MOVED_HEIGHT = 22, 30

#: The group that is picked, and that which it is compared with: a class with its cohort, a cohort with the
#: school.
OWN = "datum.kind == kind && datum.key == key"
BESIDE = (
    "(kind == 'class' && datum.kind == 'cohort' && datum.key == cohort) || "
    "(kind == 'cohort' && datum.kind == 'school')"
)
COMPARED = f"({OWN}) || ({BESIDE})"
#: The lines of the weeks.
SERIES_SHOWN = (
    f"datum.kind == 'school' || ({OWN}) || (datum.kind == 'cohort' && (cohort == '' || datum.key == cohort))"
)
#: Of all schools, each of them or that which is picked.
TOGETHER = f"kind == 'school' || ({OWN})"
#: Classes of the cohort that is picked; all where none is.
NEAR = "cohort == '' || datum.cohort == cohort"
PICKED = "kind != 'class' || datum.key == key"


@cache
def specs(language: Language, *, together: bool = False) -> dict[str, dict[str, Any]]:
    """The charts of a page by name, without their rows. `together`: of all schools, each as a class."""
    drawn: dict[str, alt.Chart | alt.LayerChart] = {
        "weeks": _weeks(language, TOGETHER if together else SERIES_SHOWN),
        "lessons": _lessons(language),
        "levels": _levels(language),
        "bands": _bands(language, TOGETHER, {}) if together else _bands(language, COMPARED, {"name": GROUP}),
        "moved": _moved(language),
    }
    return {name: _spec(chart) for name, chart in drawn.items()}


def _spec(chart: alt.Chart | alt.LayerChart) -> dict[str, Any]:
    picked = (
        alt.param(name="kind", value="school"),
        *(alt.param(name=one, value="") for one in ("key", "cohort")),
    )
    styled = (
        chart.add_params(*picked)
        .properties(width="container", autosize=alt.AutoSizeParams(type="fit", contains="padding"))
        .configure(font=FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#E3E3E3")
        .configure_legend(
            orient="bottom", labelFontSize=12, titleFontSize=12, titleFontWeight="normal", columns=4
        )
    )
    spec: dict[str, Any] = styled.to_dict()
    return spec


def _base(height: int | alt.Step) -> alt.Chart:
    drawn: alt.Chart = alt.Chart(alt.NamedData(name="rows"), height=height)
    return drawn


def _weeks(language: Language, shown_are: str) -> alt.LayerChart:
    """The school, and the cohorts; of what is picked, its cohort and the school beside it."""
    shown = (
        _base(250)
        .transform_filter(shown_are)
        .encode(
            x=alt.X("week:O", title=WEEK.in_language(language), axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rate:Q", title=RATE.in_language(language), scale=alt.Scale(zero=False)),
        )
    )
    colors, dashes = alt.Scale(range=list(SERIES)), alt.Scale(range=list(DASHES))
    legend = alt.Legend(symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.5)
    lines = shown.encode(
        color=alt.Color("name:N", title=None, sort=SERIES_ORDER, scale=colors, legend=legend),
        strokeDash=alt.StrokeDash("name:N", title=None, sort=SERIES_ORDER, scale=dashes, legend=legend),
    )
    # Channels of their own, so that the legend is that of the lines. A week that is not over is hollow: its
    # rate is that so far.
    points = shown.encode(
        stroke=alt.Stroke("name:N", sort=SERIES_ORDER, scale=colors, legend=None),
        fill=alt.Fill("name:N", sort=SERIES_ORDER, scale=colors, legend=None),
        fillOpacity=alt.condition("datum.is_complete", alt.value(1), alt.value(0)),
        tooltip=_tips(language, name=GROUP, week=WEEK, rate=RATE),
    )
    drawn: alt.LayerChart = lines.mark_line(strokeWidth=2.5) + points.mark_point(size=45)
    return drawn


def _lessons(language: Language) -> alt.LayerChart:
    """Weekday by lesson, the darker the lower."""
    day = alt.X(
        f"weekday_{language}:N",
        title=None,
        sort=alt.EncodingSortField("weekday", op="min"),
        axis=alt.Axis(labelAngle=0, orient="top", domain=False, ticks=False),
    )
    cells = (
        _base(250)
        .transform_filter(OWN)
        .encode(
            x=day,
            y=alt.Y("lesson:O", title=LESSON.in_language(language), axis=alt.Axis(domain=False, ticks=False)),
            tooltip=_tips(language, **{f"weekday_{language}": DAY, "lesson": LESSON, "rate": RATE}),
        )
    )
    scale = alt.Scale(scheme="blues", reverse=True, zero=False, nice=False)
    shade = alt.Color("rate:Q", title=None, scale=scale, legend=None)
    # White on what is dark: of the range that is drawn, the lower half.
    numbers = (
        cells.transform_joinaggregate(least="min(rate)", greatest="max(rate)")
        .mark_text(fontSize=12)
        .encode(
            text=alt.Text("rate:Q", format=".1f"),
            color=alt.condition(
                "datum.rate < (datum.least + datum.greatest) / 2", alt.value("white"), alt.value("#111111")
            ),
        )
    )
    drawn: alt.LayerChart = cells.mark_rect(stroke="white").encode(color=shade) + numbers
    return drawn


def _levels(language: Language) -> alt.Chart:
    """Students at risk and with a warning, class by class."""
    words = {code: LEVELS[code].in_language(language) for code in ("at_risk", "warning")}
    scale = alt.Scale(domain=list(words.values()), range=[RISK, WARNING])
    drawn: alt.Chart = (
        _base(alt.Step(CLASS_HEIGHT))
        .transform_filter(NEAR)
        .transform_calculate(
            word=f"datum.level == 'at_risk' ? '{words['at_risk']}' : '{words['warning']}'",
            place="datum.level == 'at_risk' ? 0 : 1",
        )
        .mark_bar(stroke="white", strokeWidth=0.5, cursor="pointer")
        .encode(
            y=alt.Y(
                "name:N",
                title=None,
                sort=alt.EncodingSortField("order", op="min"),
                axis=alt.Axis(labelLimit=130, labelOverlap=False, domain=False, ticks=False),
            ),
            x=alt.X("students:Q", title=STUDENTS.in_language(language), axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("word:N", title=None, scale=scale),
            order=alt.Order("place:Q"),
            opacity=alt.condition(PICKED, alt.value(1), alt.value(0.3)),
            tooltip=_tips(language, name=GROUP, word=Words("Level", "等级"), students=STUDENTS),
        )
    )
    return drawn


def _bands(language: Language, shown_are: str, whose: Mapping[str, Words]) -> alt.Chart:
    """The bands of each subject; of what is picked, and paler below it of what it is beside."""
    drawn: alt.Chart = (
        _base(380)
        .transform_filter(shown_are)
        .transform_calculate(beside=f"kind == 'school' || ({OWN}) ? 0 : 1")
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("subject:N", title=None, axis=alt.Axis(labelLimit=110, domain=False, ticks=False)),
            yOffset=alt.YOffset("beside:O"),
            x=alt.X(
                "sum(grades):Q",
                stack="normalize",
                title=SHARE.in_language(language),
                axis=alt.Axis(format="%"),
            ),
            color=alt.Color(
                "band:N",
                title=BANDS.in_language(language),
                sort=alt.EncodingSortField("place", op="min"),
                scale=alt.Scale(range=list(SHADES)),
            ),
            order=alt.Order("place:Q"),
            opacity=alt.condition("datum.beside == 0", alt.value(1), alt.value(0.55)),
            tooltip=_tips(language, subject=SUBJECT, band=BANDS, **whose),
        )
    )
    return drawn


def _moved(language: Language) -> alt.LayerChart:
    """The ten classes whose attendance has moved most, those that fell first."""
    bars = (
        _base(alt.Step(MOVED_HEIGHT))
        .transform_filter(NEAR)
        .transform_calculate(
            size="abs(datum.change)", sign="(datum.change > 0 ? '▲ +' : '▼ ') + format(datum.change, '.1f')"
        )
        .transform_window(place="row_number()", sort=[alt.SortField("size", order="descending")])
        .transform_filter("datum.place <= 10")
        .encode(
            y=alt.Y(
                "name:N",
                title=None,
                sort=alt.EncodingSortField("change", op="min"),
                axis=alt.Axis(labelLimit=130, domain=False, ticks=False),
            ),
            x=alt.X("change:Q", title=CHANGE.in_language(language), scale=alt.Scale(padding=34)),
            opacity=alt.condition(PICKED, alt.value(1), alt.value(0.35)),
            tooltip=_tips(
                language,
                name=GROUP,
                earlier=Words("Before", "此前"),
                recent=Words("Recent", "近期"),
                change=CHANGE,
            ),
        )
    )
    numbers = bars.encode(text="sign:N", color=alt.value("#111111"))
    drawn: alt.LayerChart = (
        bars.mark_bar(cursor="pointer").encode(
            color=alt.condition("datum.change < 0", alt.value(FALL), alt.value(RISE))
        )
        + numbers.transform_filter("datum.change >= 0").mark_text(align="left", dx=4, fontSize=12)
        + numbers.transform_filter("datum.change < 0").mark_text(align="right", dx=-4, fontSize=12)
    )
    return drawn


def _tips(language: Language, **fields: Words) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=words.in_language(language)) for field, words in fields.items()]
