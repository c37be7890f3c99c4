-- Grain: school, semester, student; without students whom the platform has deleted.
-- Rules: attention_order puts first who needs attention: by level, then by the score where it has proven itself, then by
--   the number of reasons. A reason of a semester that is over says so. since is null where the first publication was after
--   the end of the semester, which does not tell since when. class_cohort is the cohort of the class, not of the student.
with patterns as (
    select
        school_id,
        semester_id,
        student_id,
        string_agg(
            format(
                'absent {} {}: {} of {}, class {}%',
                case pattern_type when 'weekday' then 'on' when 'lesson' then 'in' else 'from' end,
                pattern_en, absent, recorded, {{ number_text('others_absence_rate') }}
            ),
            '; ' order by p_value, pattern_en
        ) as patterns_en,
        string_agg(
            format(
                '{}缺勤：{}次中{}次，班级{}%', pattern_zh, recorded, absent, {{ number_text('others_absence_rate') }}
            ),
            '；' order by p_value, pattern_en
        ) as patterns_zh
    from {{ ref('attendance_student_pattern') }}
    where is_pattern
    group by all
),

changes as (
    select
        history.school_id,
        history.semester_id,
        history.student_id,
        history.level,
        history.week,
        history.change,
        history.thresholds_changed,
        case
            when history.change <> 'first' or coalesce(history.since <= semesters.last_day, true) then history.since
        end as since,
        case when history.is_new_this_week then history.change end as new_this_week
    from {{ ref('early_warning_history') }} as history
    inner join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = history.school_id
        and semesters.semester_id = history.semester_id
    where history.is_latest
),

interventions as (
    {{ latest_interventions(['school_id', 'semester_id', 'student_id']) }}
)

select
    judged.* replace (
        case
            when judged.is_complete
                then replace(judged.reasons_en, '; ', ', from last semester; ') || ', from last semester'
            else judged.reasons_en
        end as reasons_en,
        case
            when judged.is_complete then replace(judged.reasons_zh, '；', '，来自上学期；') || '，来自上学期'
            else judged.reasons_zh
        end as reasons_zh
    ),
    shown.semester_id is not null as is_shown,
    coalesce(judged.student_name, judged.student_number, cast(judged.student_id as varchar)) as student,
    classes.cohort_id as class_cohort_id,
    classes.cohort_name as class_cohort,
    coalesce(judged.admin_class_name, cast(judged.admin_class_id as varchar)) as admin_class,
    {{ class_title('judged.admin_class_name', 'levels.grade_level') }} as class_title,
    coalesce(judged.cohort_name, cast(judged.cohort_id as varchar)) as cohort,
    patterns.patterns_en,
    patterns.patterns_zh,
    changes.new_this_week,
    changes.new_this_week is null as is_old,
    changes.since,
    case when judged.level <> 'none' then
        coalesce('week ' || changes.week, strftime(changes.since, '%Y-%m-%d'))
        || case when changes.change = 'first' then ' or earlier' else '' end
        || case when changes.thresholds_changed then ' (limits changed)' else '' end
    end as since_en,
    case when judged.level <> 'none' then
        coalesce('第' || changes.week || '周', strftime(changes.since, '%Y-%m-%d'))
        || case when changes.change = 'first' then '（或更早）' else '' end
        || case when changes.thresholds_changed then '（界限调整）' else '' end
    end as since_zh,
    interventions.latest.date as last_intervention_on,
    interventions.latest.again_on as again_on,
    attendance.recorded,
    attendance.present,
    attendance.absences_left,
    grades.score_sum,
    grades.full_score_sum,
    score.failed_chance,
    score.chronic_chance,
    row_number() over (
        partition by judged.school_id
        order by
            {{ level_order('judged.level') }},
            coalesce(score.failed_chance, score.chronic_chance) desc nulls last,
            judged.reason_count desc,
            judged.attendance_rate,
            judged.score_rate,
            judged.student_id
    ) as attention_order
from {{ ref('early_warning') }} as judged
anti join {{ ref('dim_student') }} as deleted
    on deleted.school_id = judged.school_id
    and deleted.student_id = judged.student_id
    and deleted.is_deleted
left join {{ ref('shown_semester') }} as shown
    on shown.school_id = judged.school_id
    and shown.semester_id = judged.semester_id
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = judged.school_id
    and classes.admin_class_id = judged.admin_class_id
left join {{ ref('cohort_grade_level') }} as levels
    on levels.school_id = judged.school_id
    and levels.semester_id = judged.semester_id
    and levels.cohort_id = classes.cohort_id
left join patterns
    on patterns.school_id = judged.school_id
    and patterns.semester_id = judged.semester_id
    and patterns.student_id = judged.student_id
left join changes
    on changes.school_id = judged.school_id
    and changes.semester_id = judged.semester_id
    and changes.student_id = judged.student_id
    and changes.level = judged.level
left join interventions
    on interventions.school_id = judged.school_id
    and interventions.semester_id = judged.semester_id
    and interventions.student_id = judged.student_id
left join {{ ref('attendance_student_semester') }} as attendance
    on attendance.school_id = judged.school_id
    and attendance.semester_id = judged.semester_id
    and attendance.student_id = judged.student_id
left join {{ ref('grade_student_semester') }} as grades
    on grades.school_id = judged.school_id
    and grades.semester_id = judged.semester_id
    and grades.student_id = judged.student_id
left join {{ ref('early_warning_score') }} as score
    on score.school_id = judged.school_id
    and score.semester_id = judged.semester_id
    and score.student_id = judged.student_id
