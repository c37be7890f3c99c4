-- Grain: school, group of students (the school, a cohort, an administrative class), weekday, lesson of the semesters that are
--   shown; lessons in which nothing was recorded are left out.
-- Rules: the whole school is that of attendance_heatmap; no mart has lessons of the week of smaller groups.
with counts as (
    select
        school_id,
        {{ set_group_type() }} as group_type,
        {{ set_group_key() }} as group_key,
        records.weekday,
        records.lesson,
        count(*) filter (where records.is_present) as present,
        count(*) as recorded
    from {{ ref('fct_attendance') }} as records
    inner join {{ ref('early_warning') }} as students using (school_id, semester_id, student_id)
    semi join {{ ref('shown_semester') }} using (school_id, semester_id)
    where records.counts_in_denominator
    group by grouping sets (
        (school_id, records.weekday, records.lesson, students.cohort_id),
        (school_id, records.weekday, records.lesson, students.admin_class_id)
    )
    having coalesce(admin_class_id, cohort_id) is not null
    union all
    select
        school_id,
        'school' as group_type,
        '' as group_key,
        weekday,
        lesson,
        cast(sum(present) as bigint) as present,
        cast(sum(recorded) as bigint) as recorded
    from {{ ref('attendance_heatmap') }}
    semi join {{ ref('shown_semester') }} using (school_id, semester_id)
    group by all
)

select
    *,
    {{ rate('present', 'recorded') }} as attendance_rate
from counts
where recorded > 0
