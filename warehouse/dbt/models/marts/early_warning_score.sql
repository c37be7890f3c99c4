-- Grain: school, semester, student of marts.early_warning in the semester that lists show.
-- Rules: as the yml says.
-- Source: marts.early_warning, marts.grade_student_semester, core.early_warning_score_fit, marts.early_warning_score_judgement.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

judgements as (
    select * from {{ ref('early_warning_score_judgement') }}
),

shown as (
    select
        school_id,
        semester_id,
        case
            when not is_over and week_1_on is not null
                then cast(greatest(least((loaded_on - week_1_on) // 7, week_count), 0) as integer)
        end as week
    from semesters
    semi join {{ ref('early_warning') }} as warnings using (school_id, semester_id)
    qualify rank() over (
        partition by school_id order by is_current desc, case when not is_current then first_day end desc nulls last
    ) = 1
),

-- What is known of the last semester before, as core.early_warning_student has it of closed semesters.
before as (
    select
        shown.school_id,
        shown.semester_id,
        grades.student_id,
        arg_max(grades.z_score_in_cohort, earlier.first_day) as z_score_in_cohort,
        arg_max(grades.failed_courses, earlier.first_day) as failed_courses
    from shown
    inner join semesters
        on semesters.school_id = shown.school_id
        and semesters.semester_id = shown.semester_id
    inner join semesters as earlier
        on earlier.school_id = semesters.school_id
        and earlier.first_day < semesters.first_day
    inner join {{ ref('grade_student_semester') }} as grades
        on grades.school_id = earlier.school_id
        and grades.semester_id = earlier.semester_id
    group by shown.school_id, shown.semester_id, grades.student_id
),

students as (
    select
        warnings.school_id,
        warnings.semester_id,
        warnings.school_name,
        warnings.semester_name,
        warnings.is_current,
        shown.week,
        cast(shown.week // {{ score_weeks() }} * {{ score_weeks() }} as integer) as fit_week,
        warnings.student_id,
        warnings.has_left,
        warnings.attendance_rate,
        warnings.lateness_rate,
        warnings.missing_rate,
        warnings.score_rate,
        before.failed_courses > 0 as failed_last_semester,
        before.z_score_in_cohort as earlier_z_score
    from {{ ref('early_warning') }} as warnings
    inner join shown
        on shown.school_id = warnings.school_id
        and shown.semester_id = warnings.semester_id
    left join before
        on before.school_id = warnings.school_id
        and before.semester_id = warnings.semester_id
        and before.student_id = warnings.student_id
),

-- A row a student and input of a fit. An indicator is 0 or 1; the intercept is 1.
numbers as (
    select
        school_id,
        semester_id,
        student_id,
        fit_week,
        unnest(
            [
                {%- for input in score_inputs() %}
                {'input': '{{ input }}', 'number': cast({{ input }} as double)},
                {'input': '{{ input }}_is_missing', 'number': cast({{ input }} is null as double)},
                {%- endfor %}
                {'input': 'intercept', 'number': cast(1 as double)}
            ],
            recursive := true
        )
    from students
    where
        has_left is not true
        and (
            {%- for input in score_inputs() %}
            {{ 'or ' if not loop.first }}{{ input }} is not null
            {%- endfor %}
        )
),

chances as (
    select
        numbers.school_id,
        numbers.semester_id,
        numbers.student_id,
        fits.outcome,
        1 / (1 + exp(-sum(coalesce((numbers.number - fits.mean) / fits.spread, 0) * fits.coefficient))) as chance
    from numbers
    inner join {{ ref('early_warning_score_fit') }} as fits
        on fits.school_id = numbers.school_id
        and fits.week = numbers.fit_week
        and fits.input = numbers.input
    inner join judgements
        on judgements.school_id = fits.school_id
        and judgements.outcome = fits.outcome
        and judgements.week = fits.week
        and judgements.is_shown
    group by numbers.school_id, numbers.semester_id, numbers.student_id, fits.outcome
),

weeks as (
    select school_id, week, bool_or(is_shown) as is_shown from judgements group by school_id, week
),

by_student as (
    select
        school_id,
        semester_id,
        student_id,
        max(chance) filter (where outcome = 'failed_courses') as failed_chance,
        max(chance) filter (where outcome = 'chronic_absence') as chronic_chance
    from chances
    group by school_id, semester_id, student_id
)

select
    students.school_id,
    students.semester_id,
    students.school_name,
    students.semester_name,
    students.is_current,
    students.week,
    students.fit_week,
    students.student_id,
    {{ rounded('by_student.failed_chance') }} as failed_chance,
    {{ rounded('by_student.chronic_chance') }} as chronic_chance,
    coalesce(weeks.is_shown, false) as is_shown
from students
left join weeks
    on weeks.school_id = students.school_id
    and weeks.week = students.fit_week
left join by_student
    on by_student.school_id = students.school_id
    and by_student.semester_id = students.semester_id
    and by_student.student_id = students.student_id
