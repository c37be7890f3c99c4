-- Grain: school, semester, kind of group, group, band: the histogram of each row of grade_distribution.
-- Rules: bands are [lower_percent, upper_percent) of the full score's percentage (seeds.grade_bands), open at
--   both ends; a band that nobody is in has a row too. percent = 100 * grades / scored grades of the group.
-- Source: core.fct_grade, marts.grade_distribution.
{%- set groups = grade_groups() %}
with {{ grades_with_groups() }},

counts as (
    select
        school_id,
        semester_id,
        {{ group_type(groups) }} as group_type,
        {{ group_key(groups) }} as group_key,
        band,
        count(*) as grades
    from grades
    where band is not null
    group by {{ group_sets(groups, also=['band']) }}
)

select
    totals.school_id,
    totals.semester_id,
    totals.school_name,
    totals.semester_name,
    totals.is_current,
    totals.is_complete,
    totals.group_type,
    totals.group_key,
    totals.group_name,
    bands.band,
    {{ in_words('band', 'bands.band') }},
    bands.lower_percent,
    bands.upper_percent,
    totals.population,
    coalesce(counts.grades, 0) as grades,
    totals.scored,
    {{ rate('coalesce(counts.grades, 0)', 'totals.scored') }} as percent
from {{ ref('grade_distribution') }} as totals
inner join {{ ref('stg_grade_bands') }} as bands
    on bands.school_id = totals.school_id
left join counts
    on counts.school_id = totals.school_id
    and counts.semester_id = totals.semester_id
    and counts.group_type = totals.group_type
    and counts.group_key = totals.group_key
    and counts.band = bands.band
