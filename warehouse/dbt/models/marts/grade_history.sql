-- Grain: school, grade, stretch of time in which the warehouse knew the same of it: [known_from, known_to).
-- Rules: the present state led back through the change log; times are those of the syncs that saw a change.
--   known_from: of the first stretch, when the grade's slice was first loaded, or when the grade was first seen;
--   before that nothing is known. known_to null: still so. A grade that was deleted has no stretch from then on.
--   real_score: the teacher's score where given, else the suggested one, and none where the teacher gave a word,
--   as far as that is known: the change log has numbers only. The grade as known at a moment:
--   FROM marts.grades_known_on(TIMESTAMP '2026-03-01 00:00:00').
--   A grade that moved to another semester counts as there all the time.
-- Source: raw.grades, quality.changes.
{%- set fields = {
    'score': 'decimal', 'suggest_score': 'decimal', 'level': 'varchar', 'status': 'varchar',
    'pass_status': 'varchar', 'published_at': 'timestamp'
} %}
{{ config(post_hook="
    create or replace macro marts.grades_known_on(moment) as table (
        select *
        from marts.grade_history
        where
            (known_from is null or known_from <= moment)
            and (known_to is null or known_to > moment)
    )
") }}
with grades as (
    select
        grades.* replace (coalesce(grades.semester_id, assessments.semester_id) as semester_id),
        assessments.assessment_id,
        assessments.course_class_id
    from {{ ref('stg_grades_ever') }} as grades
    left join {{ ref('dim_assessment') }} as assessments
        on assessments.school_id = grades.school_id
        and assessments.assessment_id = grades.source_id
        and grades.source = 'class'
),

-- That a grade came to one semester and went from another says nothing of the grade.
log as (
    select *
    from {{ ref('stg_changes') }}
    where
        resource = 'grades'
        and record_id is not null
    window of_record as (partition by school_id, record_id)
    qualify op = 'updated' or min(slice) over of_record = max(slice) over of_record
),

loads as (
    select
        school_id,
        semester_id,
        min(seen_at) as loaded_at
    from {{ ref('stg_changes') }}
    where
        resource = 'grades'
        and op = 'loaded'
    group by school_id, semester_id
),

-- One row a grade and sync: what each field was before, in a struct, since null is a value too.
changes as (
    select
        school_id,
        record_id as grade_id,
        seen_at,
        {%- for field in fields %}
        arg_min({'value': before}, slice_version) filter (where field = '{{ field }}') as {{ field }},
        {%- endfor %}
        arg_min({'value': op = 'deleted'}, slice_version)
            filter (where op in ('created', 'deleted', 'returned')) as was_there
    from log
    where
        op <> 'updated'
        or field in ('{{ fields.keys() | join("', '") }}')
    group by school_id, record_id, seen_at
),

moments as (
    select * from changes
    union all by name
    select
        changed.school_id,
        changed.grade_id,
        loads.loaded_at as seen_at
    from (select distinct school_id, grade_id from changes) as changed
    inner join grades
        on grades.school_id = changed.school_id
        and grades.grade_id = changed.grade_id
    left join loads
        on loads.school_id = grades.school_id
        and loads.semester_id = grades.semester_id
),

-- What holds from a moment on is what the next change of the field says was before it.
led_back as (
    select
        school_id,
        grade_id,
        seen_at as known_from,
        lead(seen_at) over of_grade as known_to,
        {%- for field in fields.keys() | list + ['was_there'] %}
        first_value({{ field }} ignore nulls) over later as {{ field }}{{ ',' if not loop.last }}
        {%- endfor %}
    from moments
    window
        of_grade as (partition by school_id, grade_id order by seen_at nulls first),
        later as (
            partition by school_id, grade_id
            order by seen_at nulls first
            rows between 1 following and unbounded following
        )
),

stretches as (
    select
        grades.school_id,
        grades.grade_id,
        grades.semester_id,
        grades.source,
        grades.assessment_id,
        grades.course_class_id,
        grades.student_id,
        case when led_back.grade_id is null then loads.loaded_at else led_back.known_from end as known_from,
        led_back.known_to,
        {%- for field, type in fields.items() %}
        case
            when led_back.{{ field }} is null then grades.{{ field }}
            {%- if type == 'decimal' %}
            else {{ measure('led_back.' ~ field ~ '.value') }}
            {%- else %}
            else cast(led_back.{{ field }}.value as {{ type }})
            {%- endif %}
        end as {{ field }},
        {%- endfor %}
        case when led_back.score is null then grades.score_text end as score_text,
        coalesce(led_back.was_there.value, not grades.is_deleted) as is_there
    from grades
    left join led_back
        on led_back.school_id = grades.school_id
        and led_back.grade_id = grades.grade_id
    left join loads
        on loads.school_id = grades.school_id
        and loads.semester_id = grades.semester_id
)

select
    stretches.school_id,
    grade_id,
    stretches.semester_id,
    {{ semester_names() }},
    source,
    assessment_id,
    course_class_id,
    student_id,
    known_from,
    known_to,
    score,
    suggest_score,
    case when score_text is null then coalesce(score, suggest_score) end as real_score,
    level,
    status,
    pass_status,
    published_at
from stretches
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = stretches.school_id
    and semesters.semester_id = stretches.semester_id
where
    is_there
    and coalesce(known_from < known_to, true)
