-- Grain: school, semester, student, month in which the school has records, from the student's first such month on.
-- Rules: each row is a snapshot from the first day of the semester to the last day of the month. So months can be
--   compared, but never added up. The month_ columns cover the month alone, and can be added up. The last month of a
--   running semester is as of the last load. Rates come from sums, the tier from the exact rate (seeds.attendance_tiers).
-- Source: marts.attendance_student_day.
with days as (
    select * from {{ ref('attendance_student_day') }} where recorded > 0
),

students as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

tiers as (
    select * from {{ ref('stg_attendance_tiers') }}
),

monthly as (
    select
        school_id,
        semester_id,
        student_id,
        last_day(date) as month_end,
        {{ attendance_sums() }},
        count(*) as days_recorded,
        count(*) filter (where is_absent_day) as days_absent
    from days
    group by school_id, semester_id, student_id, last_day(date)
),

months as (
    select distinct school_id, semester_id, month_end from monthly
),

snapshots as (
    select
        school_id,
        semester_id,
        student_id,
        months.month_end,
        {{ attendance_sums() }},
        cast(sum(days_recorded) as bigint) as days_recorded,
        cast(sum(days_absent) as bigint) as days_absent,
        coalesce(any_value(recorded) filter (where monthly.month_end = months.month_end), 0) as month_recorded,
        coalesce(any_value(present) filter (where monthly.month_end = months.month_end), 0) as month_present
    from months
    inner join monthly using (school_id, semester_id)
    where monthly.month_end <= months.month_end
    group by school_id, semester_id, student_id, months.month_end
)

select
    snapshots.school_id,
    snapshots.semester_id,
    {{ semester_names() }},
    snapshots.student_id,
    students.student_number,
    students.student_name,
    snapshots.month_end,
    {{ is_complete('least(snapshots.month_end, semesters.last_day)', 'semesters') }} as is_complete,
    {{ attendance_columns('snapshots') }},
    snapshots.days_recorded,
    snapshots.days_absent,
    {{ rate('snapshots.present', 'snapshots.recorded') }} as attendance_rate,
    {{ rate('snapshots.late', 'snapshots.present') }} as lateness_rate,
    tiers.tier,
    {{ in_words('tier', 'tiers.tier') }},
    snapshots.month_recorded,
    snapshots.month_present,
    {{ rate('snapshots.month_present', 'snapshots.month_recorded') }} as month_attendance_rate
from snapshots
left join tiers
    on {{ is_in_tier('snapshots') }}
left join semesters
    on semesters.school_id = snapshots.school_id
    and semesters.semester_id = snapshots.semester_id
left join students
    on students.school_id = snapshots.school_id
    and students.student_id = snapshots.student_id
