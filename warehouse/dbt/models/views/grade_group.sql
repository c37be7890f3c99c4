-- Grain: school, semester, group of grades (the school, a cohort, subject, course or course class), band; a group without
--   bands has one row.
-- Rules: the same grade a year before is known of a cohort whose grade level is known, and had one cohort in that year.
with groups as (
    select * from {{ ref('grade_distribution') }}
),

last_year as (
    select
        now.school_id,
        now.semester_id,
        'cohort' as group_type,
        cast(now.cohort_id as varchar) as group_key,
        {{ ratio('earlier.percent_sum', 'earlier.scored', places=2) }} as last_year_mean,
        earlier.pass_rate as last_year_pass_rate
    from {{ ref('cohort_grade_level') }} as now
    inner join {{ ref('dim_semester') }} as semesters using (school_id, semester_id)
    inner join {{ ref('cohort_grade_level') }} as before
        on before.school_id = now.school_id
        and before.semester_id = semesters.last_year_semester_id
        and before.grade_level = now.grade_level
    inner join groups as earlier
        on earlier.school_id = before.school_id
        and earlier.semester_id = before.semester_id
        and earlier.group_type = 'cohort'
        and earlier.group_key = cast(before.cohort_id as varchar)
    where earlier.scored > 0
    qualify count(*) over (partition by now.school_id, now.semester_id, now.cohort_id) = 1
)

select
    groups.school_id,
    groups.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    groups.group_type,
    list_position(['school', 'cohort', 'subject', 'course', 'course_class'], groups.group_type) as group_type_order,
    groups.group_key,
    coalesce(groups.group_name, '') as group_name,
    groups.students,
    groups.scored,
    {{ ratio('groups.percent_sum', 'groups.scored', places=2) }} as mean,
    groups.mean_low,
    groups.mean_high,
    groups.median,
    groups.sd,
    groups.least,
    groups.greatest,
    groups.pass_rate,
    groups.excellent_rate,
    last_year.last_year_mean,
    last_year.last_year_pass_rate,
    case when bands.band is not null then {{ band_name('bands') }} end as band,
    -bands.lower_percent as band_order,
    bands.percent
from groups
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join last_year using (school_id, semester_id, group_type, group_key)
left join {{ ref('grade_distribution_band') }} as bands using (school_id, semester_id, group_type, group_key)
