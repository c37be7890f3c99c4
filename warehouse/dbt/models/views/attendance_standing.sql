-- Grain: school, semester, student; without students whom the platform has deleted, or without a valid tier.
-- Rules: is_below_best_tier is whether there is a better tier than the student's.
with tiers as (
    select
        school_id,
        tier,
        upper_percent,
        upper_percent < max(upper_percent) over (partition by school_id) as is_below_best_tier
    from {{ ref('stg_attendance_tiers') }}
)

select
    students.school_id,
    students.semester_id,
    students.semester_name,
    semesters.is_shown,
    coalesce(heads.class_grade, 'grade ' || students.grade_level, students.cohort_name, '') as grade,
    coalesce(heads.class_name, cast(students.admin_class_id as varchar), '') as admin_class_name,
    coalesce(heads.class_teacher, '') as class_teacher,
    students.admin_class_id,
    {{ class_order('students') }} as class_order,
    students.student_id,
    students.student_number,
    students.student_name,
    students.tier,
    tiers.upper_percent as tier_order,
    tiers.is_below_best_tier,
    students.is_chronic,
    students.attendance_rate,
    {{ ratio('students.present', 'students.recorded', places=12, digits=18) }} as lowest_first,
    students.recent_attendance_rate,
    students.attendance_rate_change,
    students.lateness_rate,
    students.recorded,
    students.absent,
    students.on_leave,
    students.late,
    students.days_recorded,
    students.days_absent,
    students.longest_absence_streak,
    students.current_absence_streak
from {{ ref('attendance_student_semester') }} as students
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join tiers
    on tiers.school_id = students.school_id
    and tiers.tier = students.tier
anti join {{ ref('dim_student') }} as deleted
    on deleted.school_id = students.school_id
    and deleted.student_id = students.student_id
    and deleted.is_deleted
left join {{ ref('class_head') }} as heads
    on heads.school_id = students.school_id
    and heads.semester_id = students.semester_id
    and heads.admin_class_id = students.admin_class_id
