-- Grain: school, person: the person's role in the school.
-- Rules: each person has one role, student or teacher. The platform has no dates of it, and no other roles of staff.
-- Source: raw.students, raw.teachers.
{%- for kind in ('student', 'teacher') %}
select
    school_id,
    {{ sourced_id('role-' ~ kind, [kind ~ '_id']) }} as "sourcedId",
    {{ bulk_columns() }},
    {{ sourced_id(kind, [kind ~ '_id']) }} as "userSourcedId",
    'primary' as "roleType",
    '{{ kind }}' as "role",
    cast(null as date) as "beginDate",
    cast(null as date) as "endDate",
    {{ sourced_id('school') }} as "orgSourcedId",
    {{ blank(['userProfileSourcedId']) }}
from ({{ people('dim_' ~ kind, kind ~ '_id') }})
{{ 'union all' if not loop.last }}
{%- endfor %}
