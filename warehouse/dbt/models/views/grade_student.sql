-- Grain: school, semester, student: as grade_student_semester.
-- Rules: no_rank is the reason for a missing rank, by the rules of grade_student_semester.
select
    students.school_id,
    students.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    coalesce(heads.class_grade, 'grade ' || students.grade_level, students.cohort_name, '') as grade,
    coalesce(heads.class_name, cast(students.admin_class_id as varchar), '') as admin_class_name,
    coalesce(heads.class_teacher, '') as class_teacher,
    students.admin_class_id,
    {{ class_order('students') }} as class_order,
    students.student_id,
    students.student_number,
    students.student_name,
    students.has_left,
    {{ ratio('students.weighted_percent_sum', 'students.weight_sum', places=2) }} as weighted_mean,
    -students.weighted_mean as best_first,
    {{ ratio('students.grade_points_sum', 'students.gpa_credits', places=2) }} as gpa,
    students.counted_courses,
    students.passed_courses,
    students.failed_courses,
    students.pending_failed_courses,
    students.undecided_courses,
    students.pending_courses,
    students.credits,
    students.gained_credits,
    students.rank_in_class,
    students.class_size,
    students.rank_in_cohort,
    students.cohort_size,
    case
        when students.rank_in_class is not null and students.rank_in_cohort is not null then null
        when students.has_left then 'left'
        when students.weighted_mean is null then 'no mean'
        when students.has_left is null or students.usual_courses is null then 'unknown'
        when
            students.rank_in_cohort is not null
            and list_has_any(years.never_loaded, ['admin_classes', 'class_members', 'classes'])
            then 'unknown'
        when students.rank_in_cohort is not null then 'no class'
        when students.cohort_id is null then 'no cohort'
        else 'few courses'
    end as no_rank
from {{ ref('grade_student_semester') }} as students
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join {{ ref('dim_semester') }} as years using (school_id, semester_id)
left join {{ ref('class_head') }} as heads using (school_id, semester_id, admin_class_id)
