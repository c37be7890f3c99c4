-- Grain: school, semester with students.
-- Rules: average daily attendance leaves out partial days. The share of the chronically absent is of the students with
--   records.
with rolls as (
    select
        school_id,
        semester_id,
        cast(sum(recorded_sessions) as bigint) as recorded_sessions,
        cast(sum(recorded_sessions + unrecorded_sessions) as bigint) as due_sessions
    from {{ ref('attendance_class_week') }}
    group by all
),

days as (
    select
        school_id,
        semester_id,
        cast(sum(days_in_session) as bigint) as days_in_session,
        cast(sum(partial_days) as bigint) as partial_days,
        sum(student_days_attended) as student_days_attended
    from {{ ref('attendance_group_week') }}
    where group_type = 'school'
    group by all
),

students as (
    select
        school_id,
        semester_id,
        is_complete,
        count(*) as students,
        count(*) filter (where recorded > 0) as with_records,
        count(*) filter (where is_chronic) as chronic,
        cast(sum(recorded) as bigint) as recorded,
        cast(sum(present) as bigint) as present,
        cast(sum(absent) as bigint) as absent,
        cast(sum(on_leave) as bigint) as on_leave,
        cast(sum(late) as bigint) as late
    from {{ ref('attendance_student_semester') }}
    group by all
)

select
    school_id,
    semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    students.is_complete,
    students.students,
    days.days_in_session,
    days.partial_days,
    {{ ratio('days.student_days_attended', 'days.days_in_session', places=1) }} as average_daily_attendance,
    {{ rate('students.present', 'students.recorded') }} as attendance_rate,
    {{ rate('students.late', 'students.present') }} as lateness_rate,
    students.recorded,
    students.absent,
    students.on_leave,
    students.late,
    students.chronic,
    {{ rate('students.chronic', 'students.with_records') }} as chronic_rate,
    {{ rate('rolls.recorded_sessions', 'rolls.due_sessions') }} as recording_rate
from students
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join days using (school_id, semester_id)
left join rolls using (school_id, semester_id)
