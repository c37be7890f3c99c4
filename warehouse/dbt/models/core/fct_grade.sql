-- Grain: school, grade: a student's total for one source (source `class`: the assessment of one course class).
-- Rules: live rows only.
--   real_score: the teacher's score, else the suggested score. Null if the teacher gave a word (score_text).
--     platform_real_score is the platform's own.
--   grade_points: the platform's gpa, else by the scale in force (seeds.gpa_scale).
--   is_passed: the platform's verdict, else score_percent against pass_percent (seeds.grade_thresholds).
--   band: the band of score_percent by the bands in force (seeds.grade_bands). is_excellent: score_percent against
--     excellent_percent (seeds.grade_thresholds). Both are null without a percentage.
--   credit: the credit of the course. credit_as_sent is the platform's, which may be the credit gained: 0 after a
--     failure. So credit_source names the first source with a credit above 0:
--       transcript  the student's transcript for the class
--       grade       the grade itself (credit_as_sent)
--       course      the class in v1, else the greatest in transcripts of the class, else in its grades; else the same
--                   sources over the classes of the same csin in the semester
--       none        no source has a credit above 0: credit is credit_as_sent
--   weight: the credit if above 0, else weight_without_credit (seeds.grade_thresholds), in means and in the GPA.
--   counts_in_statistics: by status (seeds.grade_status_rules).
-- Source: raw.grades, raw.transcript_courses, raw.v1_classes; class and semester by the assessment.
with grades as (
    select * from {{ ref('stg_grades') }}
),

assessments as (
    select * from {{ ref('dim_assessment') }}
),

gpa_scale as (
    select * from {{ ref('stg_gpa_scale') }}
),

bands as (
    select * from {{ ref('stg_grade_bands') }}
),

status_rules as (
    select * from {{ ref('grade_status_rules') }}
),

thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'pass_percent') as pass_percent,
        max(value) filter (where threshold = 'excellent_percent') as excellent_percent,
        max(value) filter (where threshold = 'weight_without_credit') as weight_without_credit
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

transcripts as (
    select
        school_id,
        course_class_id,
        student_id,
        max(credit) as credit
    from {{ ref('fct_transcript_course') }}
    where credit > 0
    group by school_id, course_class_id, student_id
),

-- The credits of courses: the nearest source first, then the greatest credit, since a student may have gained less.
known_credits as (
    select school_id, semester_id, class_code, course_class_id, credit, 1 as distance
    from {{ ref('dim_teaching_class') }}
    where credit > 0

    union all

    select school_id, semester_id, class_code, course_class_id, credit, 2 as distance
    from {{ ref('fct_transcript_course') }}
    where credit > 0

    union all

    select
        grades.school_id,
        coalesce(grades.semester_id, assessments.semester_id) as semester_id,
        grades.class_code,
        assessments.course_class_id,
        grades.credit,
        3 as distance
    from grades
    inner join assessments
        on assessments.school_id = grades.school_id
        and assessments.assessment_id = grades.source_id
    where
        grades.source = 'class'
        and grades.credit > 0
),

class_credits as (
    select school_id, course_class_id, arg_min(credit, (distance, -credit)) as credit
    from known_credits
    where course_class_id is not null
    group by school_id, course_class_id
),

code_credits as (
    select school_id, semester_id, class_code, arg_min(credit, (distance, -credit)) as credit
    from known_credits
    where
        class_code is not null
        and semester_id is not null
    group by school_id, semester_id, class_code
),

scored as (
    select
        grades.*,
        assessments.assessment_id,
        assessments.course_class_id,
        coalesce(grades.semester_id, assessments.semester_id) as graded_in,
        case when grades.score_text is null then coalesce(grades.score, grades.suggest_score) end as real_score,
        {{ percent('real_score', 'grades.full_score', places=6, digits=18) }} as score_percent
    from grades
    left join assessments
        on assessments.school_id = grades.school_id
        and assessments.assessment_id = grades.source_id
        and grades.source = 'class'
),

credited as (
    select
        scored.*,
        case
            when transcripts.credit is not null then transcripts.credit
            when scored.credit > 0 then scored.credit
            else coalesce(class_credits.credit, code_credits.credit)
        end as course_credit,
        case
            when transcripts.credit is not null then 'transcript'
            when scored.credit > 0 then 'grade'
            when coalesce(class_credits.credit, code_credits.credit) is not null then 'course'
            else 'none'
        end as credit_source
    from scored
    left join transcripts
        on transcripts.school_id = scored.school_id
        and transcripts.course_class_id = scored.course_class_id
        and transcripts.student_id = scored.student_id
    left join class_credits
        on class_credits.school_id = scored.school_id
        and class_credits.course_class_id = scored.course_class_id
    left join code_credits
        on code_credits.school_id = scored.school_id
        and code_credits.semester_id = scored.graded_in
        and code_credits.class_code = scored.class_code
        and scored.source = 'class'
)

select
    scored.school_id,
    scored.grade_id,
    scored.source,
    scored.source_id,
    scored.assessment_id,
    scored.course_class_id,
    scored.graded_in as semester_id,
    scored.stage_id,
    scored.student_id,
    scored.course_name,
    scored.class_code,
    scored.full_score,
    scored.score,
    scored.score_text,
    scored.suggest_score,
    scored.real_score,
    scored.platform_real_score,
    scored.score_percent,
    scored.gained_score,
    scored.gained_score_rate,
    scored.level,
    coalesce(scored.course_credit, scored.credit) as credit,
    scored.credit_source,
    scored.credit as credit_as_sent,
    coalesce(scored.course_credit, thresholds.weight_without_credit) as weight,
    coalesce(scored.platform_grade_points, gpa_scale.grade_points) as grade_points,
    case
        when scored.platform_grade_points is not null then 'platform'
        when gpa_scale.grade_points is not null then 'scale'
    end as grade_points_source,
    {{ is_passed('scored.pass_status', 'scored.score_percent', 'thresholds.pass_percent') }} as is_passed,
    scored.score_percent >= thresholds.excellent_percent as is_excellent,
    bands.band,
    coalesce(status_rules.counts_in_statistics, true) as counts_in_statistics,
    scored.rank,
    scored.rank_base,
    scored.status,
    scored.pass_status,
    scored.published_at,
    scored.updated_at
from credited as scored
left join thresholds
    on thresholds.school_id = scored.school_id
left join status_rules
    on status_rules.status = scored.status
left join gpa_scale
    on gpa_scale.school_id = scored.school_id
    and scored.score_percent >= gpa_scale.lower_percent
    and (scored.score_percent < gpa_scale.upper_percent or gpa_scale.upper_percent is null)
left join bands
    on bands.school_id = scored.school_id
    and scored.score_percent is not null
    and (scored.score_percent >= bands.lower_percent or bands.lower_percent is null)
    and (scored.score_percent < bands.upper_percent or bands.upper_percent is null)
