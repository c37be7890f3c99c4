-- Grain: school, assessment item, course class: as score_item_analysis.
select
    items.school_id,
    items.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    items.course_name,
    items.course_class_id,
    items.class_name,
    items.teacher_names,
    items.assessment_id,
    items.assessment_item_id,
    items.item_name,
    items.full_score,
    items.students,
    items.complete_students,
    items.is_small_sample,
    {{ ratio('items.score_sum', 'items.students', places=2) }} as mean,
    case
        when items.difficulty is not null
            then {{ ratio('items.score_sum', '(items.students * items.full_score)', places=2) }}
    end as difficulty,
    items.discrimination,
    items.item_rest_correlation,
    items.discrimination_label,
    items.alpha,
    items.alpha_low,
    items.alpha_high
from {{ ref('score_item_analysis') }} as items
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
