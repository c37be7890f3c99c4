-- Grain: school, semester, course class, teaching week with sessions (week null: a semester without days).
-- Rules: rates come from sums. recorded_sessions and unrecorded_sessions are those whose roll was taken or
--   should have been; other_sessions were moved, fell on a day without school, have no students, or are not due
--   yet.
--   recorded_students: students with a record. attendance_rate_low, attendance_rate_high: the 95% interval. Whoever is ill
--   misses all lessons of the days, so that the student is the unit, and not the lesson: it is Wilson's, with the lessons divided by
--   their design effect (how much more rates vary than with a lesson a student), which is pooled over the
--   classes of the school in the week, as the students of a class are too few to tell.
--   verdict: the class beside the other classes of the week: above or below, where the 95% interval of the shrunken
--   difference (marts.grade_class_against_cohort) leaves out zero, else not distinguishable; too few: fewer than
--   comparison_minimum_grades (seeds.grade_thresholds) students in the class or in the others. shrunken_rate = rate of the others +
--   shrunken difference.
--   recording_rate = 100 * recorded_sessions / (recorded_sessions + unrecorded_sessions).
-- Source: marts.attendance_class_session, core.fct_attendance and dimensions.
with sessions as (
    select * from {{ ref('attendance_class_session') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

thresholds as (
    select school_id, value as minimum
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
),

{{ classes_with_names() }},

weeks as (
    select
        school_id,
        semester_id,
        course_class_id,
        week,
        {{ session_counts() }},
        {{ attendance_sums() }}
    from sessions
    group by school_id, semester_id, course_class_id, week
),

students as (
    select
        school_id,
        semester_id,
        course_class_id,
        week,
        student_id,
        count(*) filter (where is_present) as present,
        count(*) as recorded
    from {{ ref('fct_attendance') }}
    where
        counts_in_denominator
        and semester_id is not null
    group by school_id, semester_id, course_class_id, week, student_id
),

spreads as (
    select
        school_id,
        semester_id,
        course_class_id,
        week,
        {{ cluster_sums('student', 'present', 'recorded') }}
    from students
    group by school_id, semester_id, course_class_id, week
),

beside_others as (
    select
        weeks.*,
        spreads.* exclude (school_id, semester_id, course_class_id, week),
        sum(weeks.present) over in_week - weeks.present as others_present,
        sum(weeks.recorded) over in_week - weeks.recorded as others_recorded,
        sum(spreads.student_clusters) over in_week - spreads.student_clusters as others_clusters,
        {{ design_effect('spreads.student', 'weeks.present', 'weeks.recorded', 'in_week') }} as design_effect,
        {{ rate_difference('weeks.present', 'weeks.recorded', 'others_present', 'others_recorded') }} as difference,
        {{ share_error('weeks.present', 'weeks.recorded', 'others_present', 'others_recorded', 'design_effect') }} as error
    from weeks
    left join spreads
        on spreads.school_id = weeks.school_id
        and spreads.semester_id = weeks.semester_id
        and spreads.course_class_id = weeks.course_class_id
        and spreads.week is not distinct from weeks.week
    window in_week as (partition by weeks.school_id, weeks.semester_id, weeks.week)
),

compared as (
    select
        *,
        {{ reliability('error', between_variance('difference', 'error', 'in_week')) }} as reliability
    from beside_others
    window in_week as (partition by school_id, semester_id, week)
)

select
    compared.school_id,
    compared.semester_id,
    {{ semester_names() }},
    compared.course_class_id,
    classes.class_code,
    classes.course_name,
    classes.class_name,
    classes.subject_name,
    classes.teacher_names,
    compared.week,
    {{ is_complete(last_day_of('compared.week', 'semesters'), 'semesters') }} as is_complete,
    'all' as population,
    compared.sessions,
    compared.recorded_sessions,
    compared.unrecorded_sessions,
    compared.other_sessions,
    {{ attendance_columns('compared') }},
    {{ rate('compared.recorded_sessions', '(compared.recorded_sessions + compared.unrecorded_sessions)') }}
        as recording_rate,
    {{ if_loaded(['attendance_records'], 'coalesce(compared.student_clusters, 0)') }} as recorded_students,
    {{ rate('compared.present', 'compared.recorded') }} as attendance_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit(
        '(compared.present / compared.design_effect)', '(compared.recorded / compared.design_effect)', end
    ) }} as attendance_rate_{{ end }},
    {%- endfor %}
    {{ shrunken_rate('compared.others_present', 'compared.others_recorded', 'compared.difference', 'compared.reliability') }}
        as shrunken_rate,
    {{ verdict(
        'compared.difference', 'compared.error', 'compared.reliability',
        'least(compared.student_clusters, compared.others_clusters)', 'thresholds.minimum'
    ) }} as verdict,
    {{ in_words('verdict', 'verdict') }},
    {{ rate('compared.late', 'compared.present') }} as lateness_rate
from compared
left join classes
    on classes.school_id = compared.school_id
    and classes.course_class_id = compared.course_class_id
left join semesters
    on semesters.school_id = compared.school_id
    and semesters.semester_id = compared.semester_id
left join thresholds
    on thresholds.school_id = compared.school_id
