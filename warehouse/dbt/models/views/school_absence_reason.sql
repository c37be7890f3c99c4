-- Grain: school, reason for missed lessons in the semesters that are shown, that enough students have to identify none.
-- Rules: the reasons of views.absence_reason, of all students of the school.
with missed as (
    select
        standing.school_id,
        standing.student_id,
        case when attendance.is_leave then coalesce(attendance.absence_label, 'leave') else 'unexcused' end as reason
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
    case reason when 'unexcused' then 'Unexcused' when 'leave' then 'Leave' else reason end as reason_en,
    case reason when 'unexcused' then '无故缺勤' when 'leave' then '请假' else reason end as reason_zh,
    case reason when 'unexcused' then 2 when 'leave' then 1 else 0 end as reason_order,
    count(distinct student_id) as students,
    count(*) as lessons
from missed
group by all
having not {{ is_few(['count(distinct student_id)'], 5) }}
