-- Grain: school, assessment (a course class has one).
-- Rules: the semester is the assessment's own, else its class's. Removed assessments stay (is_deleted).
-- Source: raw.assessments, raw.classes.
with assessments as (
    select * from {{ ref('stg_assessments') }}
),

classes as (
    select * from {{ ref('dim_course_class') }}
)

select
    assessments.school_id,
    assessments.assessment_id,
    assessments.course_class_id,
    coalesce(assessments.semester_id, classes.semester_id) as semester_id,
    assessments.assessment_name,
    assessments.assessment_type,
    assessments.scope_type,
    assessments.scope_id,
    assessments.full_score,
    assessments.item_count,
    assessments.status,
    assessments.published_at,
    assessments.updated_at,
    assessments.is_deleted,
    assessments.deleted_at
from assessments
left join classes
    on classes.school_id = assessments.school_id
    and classes.course_class_id = assessments.course_class_id
