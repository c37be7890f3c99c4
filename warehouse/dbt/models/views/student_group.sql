-- Grain: school, cohort or administrative class with students in the semesters that are shown.
-- Rules: the cohort of a class is that of the class, not of its students. Cohorts of classes are cohorts, too.
with students as (
    select
        students.school_id,
        students.cohort_id,
        students.cohort_name,
        students.admin_class_id,
        students.admin_class_name,
        classes.cohort_id as class_cohort_id,
        classes.cohort_name as class_cohort
    from {{ ref('early_warning') }} as students
    semi join {{ ref('shown_semester') }} as shown
        on shown.school_id = students.school_id
        and shown.semester_id = students.semester_id
    left join {{ ref('dim_admin_class') }} as classes
        on classes.school_id = students.school_id
        and classes.admin_class_id = students.admin_class_id
),

cohorts as (
    select school_id, cohort_id, cohort_name from students
    union all
    select school_id, class_cohort_id, class_cohort from students
)

select
    school_id,
    'cohort' as group_type,
    cast(cohort_id as varchar) as group_key,
    coalesce(max(cohort_name), cast(cohort_id as varchar)) as group_name,
    cast(cohort_id as varchar) as cohort_key,
    '' as cohort_name
from cohorts
where cohort_id is not null
group by school_id, cohort_id
union all
select distinct
    school_id,
    'admin_class' as group_type,
    cast(admin_class_id as varchar) as group_key,
    coalesce(admin_class_name, cast(admin_class_id as varchar)) as group_name,
    coalesce(cast(class_cohort_id as varchar), '') as cohort_key,
    coalesce(class_cohort, '') as cohort_name
from students
where admin_class_id is not null
