-- Grain: school, student, lesson whose roll was taken, of the semesters that are shown.
select
    attendance.school_id,
    attendance.attendance_id,
    attendance.semester_id,
    semesters.semester_name,
    attendance.student_id,
    attendance.date,
    attendance.week,
    attendance.weekday,
    attendance.lesson,
    attendance.course_class_id,
    courses.course_name,
    case
        when attendance.is_leave then 'leave'
        when attendance.is_absent then 'absent'
        when attendance.is_late then 'late'
        when attendance.is_early_left then 'early_left'
        else 'present'
    end as mark,
    attendance.absence_label
from {{ ref('fct_attendance') }} as attendance
inner join {{ ref('shown_semester') }} as semesters using (school_id, semester_id)
left join {{ ref('dim_course_class') }} as courses using (school_id, course_class_id)
where attendance.counts_in_denominator
