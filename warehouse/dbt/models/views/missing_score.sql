-- Grain: school, assessment item: as score_completeness.
select
    items.school_id,
    items.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    items.course_name,
    items.course_class_id,
    items.class_name,
    items.teacher_names,
    items.assessment_item_id,
    items.item_name,
    items.state,
    items.state in ('not_started', 'no_students') as is_without_scores,
    items.expected,
    items.scored,
    items.zeros,
    items.invalid,
    items.missing,
    items.completeness_rate,
    items.last_scored_at,
    items.published_at
from {{ ref('score_completeness') }} as items
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
