-- Grain: school, semester, administrative class, teaching week.
-- Rules: semester_rate is that of all weeks. week_state is so far where the week is not over.
with weeks as (
    select
        *,
        cast(sum(present) over of_class as bigint) as semester_present,
        cast(sum(recorded) over of_class as bigint) as semester_recorded
    from {{ ref('attendance_group_week') }}
    where group_type = 'admin_class'
    window of_class as (partition by school_id, semester_id, group_id)
)

select
    weeks.school_id,
    weeks.semester_id,
    weeks.semester_name,
    semesters.is_shown,
    classes.cohort_name,
    coalesce(classes.admin_class_name, weeks.group_name) as admin_class_name,
    weeks.group_id as admin_class_id,
    weeks.week,
    {{ so_far('weeks') }} as week_state,
    {{ rate('weeks.semester_present', 'weeks.semester_recorded') }} as semester_rate,
    weeks.attendance_rate
from weeks
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = weeks.school_id
    and classes.admin_class_id = weeks.group_id
