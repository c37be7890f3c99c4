"""The charts of the board as Vega-Lite specifications. The page adds the rows of `rows.chart_rows`.

The page sets three parameters of each chart for the selected group: `kind` (school, cohort or class), `key`,
and the `cohort` of the key. Series differ in shade and in shape, for grey printers and colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import altair as alt

from exports.spreadsheet.sheets import Language, Words
from exports.workbooks.terms import LEVELS, RATE, STUDENTS

#: Okabe and Ito's, the darkest first.
SERIES = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 2, 2, 2], [5, 2], [3, 4], [12, 3])
SERIES_ORDER = alt.EncodingSortField("place", op="min")
#: From the best band to the worst, one hue by shade.
SHADES = ("#08306B", "#2F79B5", "#7FB7DA", "#C9DDF0", "#8C2D04", "#3D1402")
RISK, WARNING, FALL, RISE = "#8C2D04", "#F0B678", "#B5501B", "#2F79B5"
#: The middle half of the schools.
MIDDLE_HALF = "#9CC3E0"
FONT = "'Noto Sans CJK SC', 'Microsoft YaHei', 'PingFang SC', 'Hiragino Sans GB', sans-serif"

WEEK = Words("Teaching week", "教学周")
LESSON = Words("Lesson", "节次")
DAY = Words("Weekday", "星期")
SUBJECT = Words("Subject", "学科")
SHARE = Words("Share of the grades", "成绩占比")
BANDS = Words("Percent of the full score", "占满分百分比")
CHANGE = Words("Change in percentage points", "变化（百分点）")
GROUP = Words("Group", "范围")
LEVEL = Words("Level", "等级")
PER_HUNDRED = Words("Students per hundred", "每百名学生中的人数")
MEDIAN = Words("Median of the schools", "各校中位数")
LOWER, UPPER = Words("Lower quartile", "下四分位数"), Words("Upper quartile", "上四分位数")
SCHOOLS = Words("Number of schools", "学校数")

#: Pixels of a class in charts with a row per class, so that every label is shown.
CLASS_HEIGHT, MOVED_HEIGHT = 22, 30
#: Pixels of a level in the chart of quartiles.
QUARTILE_HEIGHT = 56

#: The selected group, and the group that it is compared with: a class with its cohort, a cohort with the
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
#: The rows of all schools together.
OF_ALL = "datum.kind == 'school'"
#: On the page of a few schools: every school, or the selected school.
TOGETHER = f"kind == 'school' || ({OWN})"
#: Classes of the selected cohort. All classes where no cohort is selected.
NEAR = "cohort == '' || datum.cohort == cohort"
PICKED = "kind != 'class' || datum.key == key"


@cache
def specs(language: Language) -> dict[str, dict[str, Any]]:
    """The charts of the page of a school by name, without rows."""
    return {
        "weeks": _spec(_weeks(language, SERIES_SHOWN)),
        "lessons": _spec(_lessons(language)),
        "levels": _spec(_levels(language)),
        "bands": _spec(_bands(language, COMPARED, {"name": GROUP})),
        "moved": _spec(_moved(language)),
    }


@cache
def specs_of_schools(language: Language, *, many: bool) -> dict[str, dict[str, Any]]:
    """The charts of the page of all schools by name, without rows. Schools take the place of classes. `many`:
    with the quartiles of the schools, whose rows are those of the kind `school`."""
    bands = {"bands": _spec(_bands(language, OWN, {}))}
    if many:
        weeks, quartiles = _quartile_weeks(language), _quartile_levels(language)
        return {"weeks": _spec(weeks), "quartiles": _spec(quartiles), **bands}
    return {"weeks": _spec(_weeks(language, TOGETHER)), "levels": _spec(_levels(language)), **bands}


def _spec(chart: alt.Chart | alt.LayerChart) -> dict[str, Any]:
    picked = (
        alt.param(name="kind", value="school"),
        *(alt.param(name=name, value="") for name in ("key", "cohort")),
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


def _weeks(language: Language, shown_are: str, whole: Words | None = None) -> alt.LayerChart:
    """The school and its cohorts. For a selected group also its cohort and the school. For a selected cohort
    also the same grade a year before, if known. `whole`: the label of the line of the school, instead of its
    name."""
    name = f"datum.kind == 'school' ? '{whole.in_language(language)}' : datum.name" if whole else "datum.name"
    shown = (
        _base(250)
        .transform_filter(shown_are)
        .transform_fold(["rate", "last_year"], as_=["year", "percent"])
        .transform_filter(f"isValid(datum.percent) && (datum.year == 'rate' || kind == 'cohort' && {OWN})")
        .transform_calculate(
            series=f"datum.year == 'rate' ? ({name}) : datum.last_year_{language}",
            place="datum.year == 'rate' ? datum.order : datum.order + 0.5",
        )
        .encode(
            x=alt.X("week:O", title=WEEK.in_language(language), axis=alt.Axis(labelAngle=0)),
            y=alt.Y("percent:Q", title=RATE.in_language(language), scale=alt.Scale(zero=False)),
            opacity=alt.condition("datum.year == 'rate'", alt.value(1), alt.value(0.55)),
        )
    )
    colors, dashes = alt.Scale(range=list(SERIES)), alt.Scale(range=list(DASHES))
    legend = alt.Legend(symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.5, labelLimit=320)
    lines = shown.encode(
        color=alt.Color("series:N", title=None, sort=SERIES_ORDER, scale=colors, legend=legend),
        strokeDash=alt.StrokeDash("series:N", title=None, sort=SERIES_ORDER, scale=dashes, legend=legend),
    )
    # Separate channels keep the legend of the lines. The point of an unfinished week is hollow.
    points = shown.encode(
        stroke=alt.Stroke("series:N", sort=SERIES_ORDER, scale=colors, legend=None),
        fill=alt.Fill("series:N", sort=SERIES_ORDER, scale=colors, legend=None),
        fillOpacity=alt.condition(
            "datum.is_complete || datum.year == 'last_year'", alt.value(1), alt.value(0)
        ),
        tooltip=_tips(language, series=GROUP, week=WEEK, percent=RATE),
    )
    drawn: alt.LayerChart = lines.mark_line(strokeWidth=2.5) + points.mark_point(size=45)
    return drawn


def _quartile_weeks(language: Language) -> alt.LayerChart:
    """The median of the schools over the band of their middle half, and the selected school."""
    band = (
        _base(250)
        .transform_filter(OF_ALL)
        .mark_area(color=MIDDLE_HALF, opacity=0.45)
        .encode(
            x=alt.X("week:O", title=WEEK.in_language(language)),
            y=alt.Y("low:Q", title=RATE.in_language(language), scale=alt.Scale(zero=False)),
            y2=alt.Y2("high:Q", title=RATE.in_language(language)),
            tooltip=_spread(language, "rate"),
        )
    )
    drawn: alt.LayerChart = band + _weeks(language, SERIES_SHOWN, MEDIAN)
    return drawn


def _quartile_levels(language: Language) -> alt.LayerChart:
    """For each level the median of the schools on the bar of their middle half, and the selected school."""
    words = {code: LEVELS[code].in_language(language) for code in ("at_risk", "warning")}
    rows = (
        _base(alt.Step(QUARTILE_HEIGHT))
        .transform_calculate(word=f"datum.level == 'at_risk' ? '{words['at_risk']}' : '{words['warning']}'")
        .encode(
            y=alt.Y("word:N", title=None, sort=list(words.values()), axis=alt.Axis(domain=False, ticks=False))
        )
    )
    title = PER_HUNDRED.in_language(language)
    value = alt.X("students:Q", title=title, axis=alt.Axis(tickCount=6))
    own = _tips(language, name=GROUP, word=LEVEL, students=PER_HUNDRED)
    bar = rows.transform_filter(OF_ALL).mark_bar(color=MIDDLE_HALF, height=22)
    median = rows.transform_filter(OF_ALL).mark_tick(color=SERIES[0], thickness=3, size=30)
    school = rows.transform_filter(f"datum.kind == 'class' && {OWN}").mark_point(
        color=FALL, filled=True, size=130, opacity=1, aria=False
    )
    drawn: alt.LayerChart = (
        bar.encode(
            x=alt.X("low:Q", title=title),
            x2=alt.X2("high:Q", title=title),
            tooltip=_spread(language, "students"),
        )
        + median.encode(x=value, tooltip=_spread(language, "students"))
        + school.encode(x=value, tooltip=own)
    )
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
    # White text on dark cells: the lower half of the range.
    numbers = (
        cells.transform_joinaggregate(least="min(rate)", greatest="max(rate)")
        .mark_text(fontSize=12)
        .encode(
            text=alt.Text("rate:Q", format=".2f"),
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
            tooltip=_tips(language, name=GROUP, word=LEVEL, students=STUDENTS),
        )
    )
    return drawn


def _bands(language: Language, shown_are: str, whose: Mapping[str, Words]) -> alt.Chart:
    """The bands of each subject, of the selected group and, paler, of the group that it is compared with."""
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
    """The ten classes whose attendance changed most, falls first."""
    bars = (
        _base(alt.Step(MOVED_HEIGHT))
        .transform_filter(NEAR)
        .transform_calculate(
            size="abs(datum.change)", sign="(datum.change > 0 ? '▲ +' : '▼ ') + format(datum.change, '.2f')"
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


def _spread(language: Language, median: str) -> list[alt.Tooltip]:
    """The tooltip of quartiles. `median`: the field of the median."""
    return _tips(language, **{median: MEDIAN, "low": LOWER, "high": UPPER, "schools": SCHOOLS})


def _tips(language: Language, **fields: Words) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=words.in_language(language)) for field, words in fields.items()]
