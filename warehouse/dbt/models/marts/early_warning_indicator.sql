-- Grain: school, semester, student, indicator of which there is a value.
-- Rules: seven indicators, each against the limits of seeds.early_warning_rules (of attendance_rate: those of
--   seeds.attendance_tiers), as it is shown here. is_told: it rests on at least the rule's `minimum` (rests_on:
--   recorded days of attendance_rate; recent and earlier lessons each of attendance_drop; lessons attended of
--   lateness_rate; scored courses of the score rate and its drop; counted courses; expected scores), and of the points
--   of the student's courses at least minimum_begun percent have begun (marts.grade_student_semester: begun_percent).
--   is_provisional: it is made of grades that are pending, or, of failed_courses, of pending ones that are failed.
--   area: the rule's; of missing_rate it is grades where a missing score counts as zero points and so lowers the score
--     rate as well (marts.score_student_semester: missing_as_zero), since one cause is one warning.
--   level: at_risk beyond the limit at_risk, whoever else is; else warning beyond the limit warning, where the rule has
--     a cohort_percent only for those who are among so many percent of their cohort that are worst; else
--     watch beyond the limit of that tier; else none; null where is_told is false.
--   rank_from_worst: min-rank among the cohort_students of the same semester of whom the indicator is told, those
--     who have left among themselves; null without a cohort. Among the worst p percent: fewer than p percent of the
--     other cohort_students are as bad or worse, 100 * (as bad or worse - 1) < p * (students - 1). So nobody is who is
--     alone or without a cohort, and nobody of a cohort of which half have the same value. Where students were never
--     loaded their cohorts are not known, and where has_left is null of somebody, not whom to compare with: ranks and
--     is_among_worst are null, and so is a level that hangs on it.
--   attendance_drop: earlier less recent attendance rate (marts.attendance_student_semester), 0 where it rose.
--   score_drop: the z score of the weighted mean within the cohort (marts.grade_student_semester) in the
--     student's last semester with one, less that of now; 0 where it rose.
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
        lag(grades.z_score_in_cohort ignore nulls) over (
            partition by grades.school_id, grades.student_id
            order by semesters.first_day, grades.semester_id
        ) as earlier_z_score_in_cohort
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

valued as (
    select
        school_id,
        semester_id,
        student_id,
        begun_percent,
        lowers_score_rate,
        unnest(
            [
                {%- for indicator in warning_indicators() %}
                {
                    'place': {{ loop.index }},
                    'indicator': '{{ indicator }}',
                    'value': cast({{ indicator }} as decimal(9, 2)),
                    'rests_on': cast({{ indicator }}_rests_on as bigint),
                    'is_provisional': {{
                        {'score_rate': 'has_pending', 'score_drop': 'has_pending', 'failed_courses': 'has_pending_failed'}
                        .get(indicator, 'false')
                    }}
                }{{ ',' if not loop.last }}
                {%- endfor %}
            ],
            recursive := true
        )
    from indicators
),

ruled as (
    select
        valued.*,
        students.cohort_id,
        {{ has_left() }} as has_left,
        rules.* exclude (school_id, indicator)
            replace (
                if(valued.indicator = 'missing_rate' and valued.lowers_score_rate, 'grades', rules.area) as area
            ),
        coalesce(valued.rests_on >= coalesce(rules.minimum, 0), false)
            -- Null: no item has a full score, or it is not known.
            and coalesce(
                valued.begun_percent >= rules.minimum_begun,
                rules.minimum_begun is null
                or {{ if_loaded(['scores', 'assessment_items'], 'true') }},
                false
            )
            and rules.indicator is not null as is_told
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

ranked as (
    select
        *,
        bool_and(has_left is not null) over (partition by school_id, semester_id, indicator, cohort_id)
            as is_cohort_known,
        case when is_told and cohort_id is not null and is_cohort_known then rank() over worst_first end
            as rank_from_worst,
        -- The window ends with the last of those who have the same value.
        count(*) over worst_first as as_bad_or_worse,
        case when is_told and cohort_id is not null and is_cohort_known then count(*) over in_cohort end
            as cohort_students
    from ruled
    window
        in_cohort as (partition by school_id, semester_id, indicator, cohort_id, has_left, is_told),
        worst_first as (
            partition by school_id, semester_id, indicator, cohort_id, has_left, is_told
            order by case when worse = 'at_least' then -value else value end
        )
),

judged as (
    select
        rules.*,
        case
            when rules.cohort_percent is null then true
            when rules.is_cohort_known
                then coalesce(
                    100 * (rules.as_bad_or_worse - 1) < rules.cohort_percent * (rules.cohort_students - 1), false
                )
        end as is_among_worst,
        case
            when not rules.is_told then null
            when {{ is_beyond('rules.value', 'rules.at_risk') }} then 'at_risk'
            when {{ is_beyond('rules.value', 'rules.warning') }} and is_among_worst then 'warning'
            when {{ is_beyond('rules.value', 'rules.warning') }} and is_among_worst is null then null
            when {{ is_beyond('rules.value', 'rules.watch') }} then 'watch'
            else 'none'
        end as level,
        level = 'warning' and rules.cohort_percent is not null as is_by_cohort,
        case level
            when 'at_risk' then rules.at_risk
            when 'warning' then rules.warning
            when 'watch' then rules.watch
        end as limit_value
    from ranked as rules
)

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
