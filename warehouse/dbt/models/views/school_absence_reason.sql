-- Grain: school, reason for missed lessons in the semesters that are shown, that enough students have to identify none.
-- Rules: the reasons of views.absence_reason, of all students of the school. No page of several schools has a total of the
--   lessons, whose difference to these rows would be the lessons of few students.
with missed as (
    select
        standing.school_id,
        standing.student_id,
        {{ absence_reason('attendance') }} as reason
    from {{ ref('fct_attendance') }} as attendance
    inner join {{ ref('student_standing') }} as standing
        on standing.school_id = attendance.school_id
        and standing.semester_id = attendance.semester_id
        and standing.student_id = attendance.student_id
    where attendance.counts_in_denominator and attendance.is_absent and standing.is_shown
)

select
    school_id,
    reason,
    {{ in_words('absence_reason', 'reason', 'reason') }},
    {{ absence_reason_order('reason') }} as reason_order,
    count(distinct student_id) as students,
    count(*) as lessons
from missed
group by all
having not {{ is_few(['count(distinct student_id)'], var('small_group')) }}
