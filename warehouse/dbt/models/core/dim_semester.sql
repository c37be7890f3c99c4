-- Grain: school, semester.
-- Rules: names of the academic year and category come from their terms. Removed semesters stay (is_deleted).
--   Days, lessons and teaching weekdays come from the v1 interface, which has the same ids; the days, where it
--   does not tell them, from the v3 interface. A semester that ends
--   before it begins has no weeks. Teaching weeks: macros/calendar.sql.
-- Source: raw.semesters, raw.v1_semesters, raw.terms.
with semesters as (
    select * from {{ ref('stg_semesters') }}
),

terms as (
    select * from {{ ref('dim_term') }}
),

v1_semesters as (
    select * from {{ ref('stg_v1_semesters') }}
),

days as (
    select
        semesters.school_id,
        semesters.semester_id,
        coalesce(v1_semesters.first_day, cast(semesters.start_at as date)) as first_day,
        coalesce(v1_semesters.last_day, cast(semesters.end_at as date)) as last_day,
        v1_semesters.teaching_weekdays
    from semesters
    left join v1_semesters
        on v1_semesters.school_id = semesters.school_id
        and v1_semesters.v1_semester_id = semesters.semester_id
),

weeks as (
    select
        *,
        {{ week_1_on('first_day') }} as week_1_on
    from days
)

select
    semesters.school_id,
    semesters.semester_id,
    semesters.semester_name,
    semesters.academic_year_id,
    academic_year.term_caption as academic_year_name,
    semesters.category_id,
    category.term_caption as category_name,
    semesters.start_at,
    semesters.end_at,
    weeks.first_day,
    weeks.last_day,
    weeks.week_1_on,
    case
        when weeks.last_day >= weeks.first_day
            then cast((weeks.last_day - weeks.week_1_on) // 7 + 1 as integer)
    end as week_count,
    weeks.teaching_weekdays,
    semesters.is_current,
    semesters.outer_id,
    semesters.is_deleted,
    semesters.deleted_at
from semesters
inner join weeks
    on weeks.school_id = semesters.school_id
    and weeks.semester_id = semesters.semester_id
left join terms as academic_year
    on academic_year.school_id = semesters.school_id
    and academic_year.term_id = semesters.academic_year_id
left join terms as category
    on category.school_id = semesters.school_id
    and category.term_id = semesters.category_id
