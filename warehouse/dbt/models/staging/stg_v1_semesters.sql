-- Grain: school, semester of the v1 interface. Tombstones kept (is_deleted). semester_id is the same semester's id in
--   core.
select
    rows._school_id as school_id,
    rows.id as v1_semester_id,
    coalesce(own_semester.semester_id, rows.id) as semester_id,
    own_semester.matched_by,
    rows.name as semester_name,
    rows.start_at,
    rows.end_in as end_at,
    cast(rows.start_at as date) as first_day,
    cast(rows.end_in as date) as last_day,
    rows.lesson_schedules,
    rows.lesson_names,
    rows.grade_maps,
    -- An empty list means unknown, like null.
    case
        when len(rows.lesson_days) > 0 then list_transform(rows.lesson_days, lambda day: {{ weekday_of('day') }})
    end as teaching_weekdays,
    rows.is_current,
    nullif(rows.outer_id, '') as outer_id,
    rows._deleted_at is not null as is_deleted,
    rows._deleted_at as deleted_at
from {{ source('raw', 'v1_semesters') }} as rows
left join {{ ref('stg_semester_calendars') }} as own_semester
    on own_semester.school_id = rows._school_id
    and own_semester.v1_semester_id = rows.id
