-- Grain: school, administrative class (the traditional class, which has no semester).
-- Rules: the cohort is the year of graduation, named by its term. Removed classes stay (is_deleted).
-- Source: raw.admin_classes, raw.terms.
with admin_classes as (
    select * from {{ ref('stg_admin_classes') }}
),

terms as (
    select * from {{ ref('dim_term') }}
)

select
    admin_classes.school_id,
    admin_classes.admin_class_id,
    admin_classes.admin_class_name,
    admin_classes.graduates_in_id as cohort_id,
    cohort.term_caption as cohort_name,
    admin_classes.structure_ids,
    admin_classes.place_id,
    admin_classes.teacher_ids,
    admin_classes.student_count,
    admin_classes.outer_id,
    admin_classes.status,
    admin_classes.is_deleted,
    admin_classes.deleted_at
from admin_classes
left join terms as cohort
    on cohort.school_id = admin_classes.school_id
    and cohort.term_id = admin_classes.graduates_in_id
