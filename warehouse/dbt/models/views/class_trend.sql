-- Grain: school, administrative class with attendance in the recent and in the earlier teaching weeks of the semesters that
--   are shown; without students whom the platform has deleted.
with counts as (
    select
        school_id,
        admin_class_id,
        cast(sum(recent_present) as bigint) as recent_present,
        cast(sum(recent_recorded) as bigint) as recent_recorded,
        cast(sum(earlier_present) as bigint) as earlier_present,
        cast(sum(earlier_recorded) as bigint) as earlier_recorded
    from {{ ref('attendance_student_semester') }}
    semi join {{ ref('shown_semester') }} using (school_id, semester_id)
    anti join (from {{ ref('dim_student') }} where is_deleted) using (school_id, student_id)
    where admin_class_id is not null
    group by all
),

rates as (
    select
        school_id,
        admin_class_id,
        {{ rate('recent_present', 'recent_recorded') }} as recent_rate,
        {{ rate('earlier_present', 'earlier_recorded') }} as earlier_rate
    from counts
)

select
    school_id,
    'admin_class' as group_type,
    cast(admin_class_id as varchar) as group_key,
    recent_rate,
    earlier_rate,
    recent_rate - earlier_rate as change,
    -abs(recent_rate - earlier_rate) as most_first
from rates
where recent_rate is not null and earlier_rate is not null
