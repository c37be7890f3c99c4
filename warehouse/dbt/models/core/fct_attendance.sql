-- Grain: school, course class, date, lesson, student: the record of one student in one session.
-- Rules: live rows only. A student without a record has no row: not recorded is not absent. Records stay after the
--     student or the class has gone.
--   If a student has several records in a session, the record marked last counts. first_record_at is the time of the first.
--   The flags come from seeds.attendance_status_rules (dim_attendance_status). Rates use records with
--     counts_in_denominator; each of these is either present or absent.
--   Ids are v3's (bridge_v1_person, dim_teaching_class); the semester is the class's.
-- Source: raw.attendance_records.
with records as (
    select * from {{ ref('stg_attendance_records') }}
),

classes as (
    select
        classes.school_id,
        classes.v1_class_id,
        classes.course_class_id,
        classes.semester_id,
        semesters.week_1_on,
        semesters.week_count
    from {{ ref('dim_teaching_class') }} as classes
    left join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = classes.school_id
        and semesters.semester_id = classes.semester_id
),

-- Nearly everybody has the same id in both interfaces and needs no lookup.
renumbered as (
    select * from {{ ref('bridge_v1_person') }} where person_id <> v1_person_id
),

statuses as (
    select * from {{ ref('dim_attendance_status') }}
),

-- Only repeated keys are sorted, so that tens of millions of rows stay cheap.
repeated as (
    {{ repeated_keys(
        'records',
        ['school_id', 'v1_class_id', 'v1_student_id', 'date', 'lesson'],
        within=['school_id', 'v1_student_id', 'date'],
        number='lesson'
    ) }}
),

marks as (
    select *, cast(null as timestamp) as first_record_at
    from records
    anti join repeated using (school_id, v1_class_id, v1_student_id, date, lesson)
    union all
    select
        record.*,
        min(marked_at) over (partition by school_id, v1_class_id, v1_student_id, date, lesson) as first_record_at
    from records as record
    semi join repeated using (school_id, v1_class_id, v1_student_id, date, lesson)
    qualify row_number() over (
        partition by school_id, v1_class_id, v1_student_id, date, lesson
        order by marked_at desc nulls last, synced_at desc, attendance_id desc
    ) = 1
)

select
    marks.school_id,
    marks.attendance_id,
    classes.semester_id,
    classes.course_class_id,
    coalesce(renumbered.person_id, marks.v1_student_id) as student_id,
    marks.date,
    {{ week_of('marks.date', 'classes') }} as week,
    cast(isodow(marks.date) as integer) as weekday,
    marks.lesson,
    marks.status,
    marks.absence_label,
    {%- for flag in attendance_flags() %}
    statuses.{{ flag }},
    {%- endfor %}
    marks.marked_at,
    marks.first_record_at,
    marks.synced_at
from marks
left join classes
    on classes.school_id = marks.school_id
    and classes.v1_class_id = marks.v1_class_id
left join renumbered
    on renumbered.school_id = marks.school_id
    and renumbered.v1_person_id = marks.v1_student_id
left join statuses
    on statuses.school_id = marks.school_id
    and statuses.status is not distinct from marks.status
    and statuses.absence_label is not distinct from marks.absence_label
