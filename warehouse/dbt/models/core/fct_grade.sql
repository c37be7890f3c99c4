-- Grain: school, grade: a student's total for one source (for source `class`: one course class's assessment).
-- Rules: live rows only.
--   real_score: the teacher's score where given, else the suggested one; what the platform sent is
--     platform_real_score.
--   grade_points: the platform's gpa where given, else by the scale in force (seeds.gpa_scale).
--   is_passed: the platform's verdict where it has one, else score_percent against pass_percent
--     (seeds.grade_thresholds).
--   band: of score_percent, by the bands in force (seeds.grade_bands); is_excellent: score_percent against
--     excellent_percent (seeds.grade_thresholds). Both null where there is no percentage.
--   weight: the credit where above 0, else weight_without_credit (seeds.grade_thresholds).
--   counts_in_statistics: by status (seeds.grade_status_rules).
-- Source: raw.grades; class and semester by the assessment.
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

scored as (
    select
        *,
        coalesce(score, suggest_score) as real_score,
        {{ percent('coalesce(score, suggest_score)', 'full_score') }} as score_percent
    from grades
)

select
    scored.school_id,
    scored.grade_id,
    scored.source,
    scored.source_id,
    assessments.assessment_id,
    assessments.course_class_id,
    coalesce(scored.semester_id, assessments.semester_id) as semester_id,
    scored.stage_id,
    scored.student_id,
    scored.course_name,
    scored.class_code,
    scored.full_score,
    scored.score,
    scored.suggest_score,
    scored.real_score,
    scored.platform_real_score,
    scored.score_percent,
    scored.gained_score,
    scored.gained_score_rate,
    scored.level,
    scored.credit,
    coalesce(nullif(scored.credit, 0), thresholds.weight_without_credit) as weight,
    coalesce(scored.platform_grade_points, gpa_scale.grade_points) as grade_points,
    case
        when scored.platform_grade_points is not null then 'platform'
        when gpa_scale.grade_points is not null then 'scale'
    end as grade_points_source,
    case
        when scored.pass_status = 'passed' then true
        when scored.pass_status = 'failed' then false
        else scored.score_percent >= thresholds.pass_percent
    end as is_passed,
    scored.score_percent >= thresholds.excellent_percent as is_excellent,
    bands.band,
    coalesce(status_rules.counts_in_statistics, true) as counts_in_statistics,
    scored.rank,
    scored.rank_base,
    scored.status,
    scored.pass_status,
    scored.published_at,
    scored.updated_at
from scored
left join assessments
    on assessments.school_id = scored.school_id
    and assessments.assessment_id = scored.source_id
    and scored.source = 'class'
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
