-- Grain: school, semester, student, indicator that has a value.
-- Rules: seven indicators, each with the limits of its rule in seeds.early_warning_rules. The limits of attendance_rate
--     come from seeds.attendance_tiers.
--   is_told: the value is based on enough data. Both must hold:
--       rests_on is at least the rule's minimum
--       at least minimum_begun percent of the points of the student's courses have begun
--         (marts.grade_student_semester: begun_percent)
--   rests_on counts, for
--       attendance_rate                         recorded days
--       attendance_drop                         recent or earlier lessons, the smaller number
--       lateness_rate                           attended lessons
--       score_rate, score_drop                  scored courses
--       failed_courses                          counted courses
--       missing_rate                            expected scores
--   is_provisional: the value is based on pending grades; for failed_courses, on pending grades that are failed.
--   area: the rule's area. missing_rate is in grades if a missing score counts as zero points
--     (marts.score_student_semester: missing_as_zero). It then lowers the score rate too, and one cause is one warning.
--   level is the first of these that applies; null if is_told is false:
--       at_risk  the value is beyond the limit at_risk
--       warning  it is beyond the limit warning, and is_among_worst holds
--       watch    it is beyond the limit of the tier watch
--       none     it is beyond no limit
--   rank_from_worst: min-rank among the cohort_students, 1 is the worst. cohort_students: students of the cohort and the
--     semester with is_told, who stayed or left like this student.
--   is_among_worst: fewer than cohort_percent (of the rule) of the other cohort_students are as bad or worse:
--     100 * (as bad or worse - 1) < cohort_percent * (students - 1). True for a rule without cohort_percent. A student
--     alone or without a cohort is not among the worst. A student is as bad as every student with the same value.
--   Ranks and is_among_worst are null if the cohort is not known: students were never loaded, or has_left is null for a
--     student of the cohort. A level that depends on them is null too.
--   attendance_drop: the earlier attendance rate minus the recent one (marts.attendance_student_semester); 0 if it rose.
--   score_drop: the last earlier z score of the student minus the present z score; 0 if it rose. z scores are of the
--     weighted mean within the cohort (marts.grade_student_semester).
-- Source: marts.attendance_student_semester, grade_student_semester and score_student_semester.
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

leavers as (
    select * from {{ ref('semester_leaver') }}
),

scores as (
    select * from {{ ref('score_student_semester') }}
),

rules as (
    select * from {{ ref('stg_early_warning_rules') }}
),

grades as (
    select
        grades.*,
        {{ earlier_z_score() }} as earlier_z_score_in_cohort
    from {{ ref('grade_student_semester') }} as grades
    left join semesters
        on semesters.school_id = grades.school_id
        and semesters.semester_id = grades.semester_id
),

indicators as (
    select
        school_id,
        semester_id,
        student_id,
        attendance.attendance_rate,
        {{ decline('-attendance.attendance_rate_change') }} as attendance_drop,
        attendance.lateness_rate,
        {{ percent('grades.score_sum', 'grades.full_score_sum', places=2) }} as score_rate,
        {{ decline('(grades.earlier_z_score_in_cohort - grades.z_score_in_cohort)') }} as score_drop,
        grades.failed_courses,
        scores.missing_rate,
        {%- for indicator, base in warning_indicators().items() %}
        {{ base }} as {{ indicator }}_rests_on,
        {%- endfor %}
        grades.begun_percent,
        coalesce(grades.pending_courses > 0, false) as has_pending,
        coalesce(grades.pending_failed_courses > 0, false) as has_pending_failed,
        coalesce(scores.missing_as_zero > 0, false) as lowers_score_rate
    from attendance
    full join grades using (school_id, semester_id, student_id)
    full join scores using (school_id, semester_id, student_id)
),

{{ warning_values('indicators') }},

ruled as (
    select
        valued.*,
        students.cohort_id,
        {{ has_left() }} as has_left,
        {{ ruled_columns() }}
    from valued
    left join rules
        on rules.school_id = valued.school_id
        and rules.indicator = valued.indicator
    left join students
        on students.school_id = valued.school_id
        and students.student_id = valued.student_id
    left join leavers
        on leavers.school_id = valued.school_id
        and leavers.semester_id = valued.semester_id
        and leavers.student_id = valued.student_id
    left join semesters
        on semesters.school_id = valued.school_id
        and semesters.semester_id = valued.semester_id
    where valued.value is not null
),

{{ warning_judgement() }}

select
    school_id,
    semester_id,
    {{ semester_names() }},
    student_id,
    cohort_id,
    has_left,
    indicator,
    cast(place as bigint) as place,
    area,
    value,
    rests_on,
    is_told,
    is_provisional,
    rank_from_worst,
    cohort_students,
    case when is_told then is_among_worst end as is_among_worst,
    level,
    coalesce(suffices, false) as suffices,
    cast(limit_value as decimal(18, 6)) as limit_value,
    case
        when level <> 'none' then {{ reason('reason_en', ' and among the worst {percent}% of the cohort', ', provisional') }}
    end as reason_en,
    case when level <> 'none' then {{ reason('reason_zh', '，且在本届后{percent}%', '（暂定）') }} end as reason_zh
from judged
left join {{ ref('dim_semester') }} as semesters using (school_id, semester_id)
