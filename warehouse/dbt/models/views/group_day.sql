-- Grain: school, period of views.last_school_day, group of students (the school, a cohort, an administrative class).
-- Rules: of the students with a record on the day.
with days as (
    select
        days.school_id,
        periods.period,
        days.date,
        students.cohort_id,
        students.admin_class_id,
        days.present,
        days.recorded,
        days.is_absent_day
    from {{ ref('attendance_student_day') }} as days
    inner join {{ ref('last_school_day') }} as periods using (school_id, date)
    left join {{ ref('early_warning') }} as students using (school_id, semester_id, student_id)
    where days.recorded > 0
),

counts as (
    select
        school_id,
        period,
        date,
        {{ set_group_type() }} as group_type,
        {{ set_group_key() }} as group_key,
        count(*) as students,
        count(*) filter (where not is_absent_day) as attended,
        cast(sum(present) as bigint) as present,
        cast(sum(recorded) as bigint) as recorded
    from days
    {{ by_group('school_id, period, date') }}
)

select
    *,
    {{ rate('present', 'recorded') }} as attendance_rate
from counts
