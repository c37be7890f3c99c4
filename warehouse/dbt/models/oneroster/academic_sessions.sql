-- Grain: school, academic session: the academic year of the current semester, and each of its semesters.
-- Rules: endDate is exclusive, the day after the last day. schoolYear is the year in which the academic year ends.
--   A school without a current semester has no sessions.
-- Source: core.dim_semester.
with semesters as (
    {{ semesters_of_year() }}
)

select
    school_id,
    {{ sourced_id('year', ['academic_year']) }} as "sourcedId",
    {{ bulk_columns() }},
    coalesce(min(academic_year_name), academic_year || '-' || (academic_year + 1)) as "title",
    'schoolYear' as "type",
    min(first_day) as "startDate",
    cast(max(last_day) + 1 as date) as "endDate",
    cast(null as varchar) as "parentSourcedId",
    cast(academic_year + 1 as varchar) as "schoolYear"
from semesters
group by school_id, academic_year

union all

select
    school_id,
    {{ sourced_id('semester', ['semester_id']) }} as "sourcedId",
    {{ bulk_columns() }},
    semester_name as "title",
    'semester' as "type",
    first_day as "startDate",
    cast(last_day + 1 as date) as "endDate",
    {{ sourced_id('year', ['academic_year']) }} as "parentSourcedId",
    cast(academic_year + 1 as varchar) as "schoolYear"
from semesters
