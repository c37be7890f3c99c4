-- Grain: school, course class (a course as one group of students takes it in one semester).
-- Rules: subject and domain are named by their terms. Removed classes stay (is_deleted). bridge_class_member has the
--   members with their dates; the platform's own list of a class's students has no dates.
-- Source: raw.classes, raw.terms.
with classes as (
    select * from {{ ref('stg_classes') }}
),

terms as (
    select * from {{ ref('dim_term') }}
)

select
    classes.school_id,
    classes.course_class_id,
    classes.semester_id,
    classes.class_code,
    classes.course_name,
    classes.class_name,
    classes.subject_id,
    subject.term_caption as subject_name,
    classes.domain_id,
    domain.term_caption as domain_name,
    classes.grade_ids,
    classes.structure_ids,
    classes.admin_class_ids,
    classes.teacher_ids,
    nullif(array_to_string(classes.teacher_names, ', '), '') as teacher_names,
    classes.created_at,
    classes.updated_at,
    classes.is_deleted,
    classes.deleted_at
from classes
left join terms as subject
    on subject.school_id = classes.school_id
    and subject.term_id = classes.subject_id
left join terms as domain
    on domain.school_id = classes.school_id
    and domain.term_id = classes.domain_id
