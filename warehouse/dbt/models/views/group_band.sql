-- Grain: school, group of students (the school, a cohort, an administrative class), subject, band of grades of the semesters
--   that are shown; bands without a grade are left out.
-- Rules: the whole school is that of grade_distribution_band; no mart has the bands of a subject of smaller groups.
with graded as (
    select
        school_id,
        students.cohort_id,
        students.admin_class_id,
        courses.subject_name,
        grades.band
    from {{ ref('fct_grade') }} as grades
    inner join {{ ref('early_warning') }} as students using (school_id, semester_id, student_id)
    inner join {{ ref('dim_course_class') }} as courses using (school_id, course_class_id)
    semi join {{ ref('shown_semester') }} using (school_id, semester_id)
    where grades.source = 'class' and grades.counts_in_statistics and grades.band is not null
),

counts as (
    -- Each kind of group by itself: the board of all schools reads whole schools only.
    {% for group_type in ['cohort', 'admin_class'] %}
        select
            school_id,
            '{{ group_type }}' as group_type,
            cast({{ group_type }}_id as varchar) as group_key,
            subject_name,
            band,
            count(*) as grades
        from graded
        where {{ group_type }}_id is not null
        group by all
        union all
    {% endfor %}
    select
        school_id,
        'school' as group_type,
        '' as group_key,
        group_name as subject_name,
        band,
        cast(sum(grades) as bigint) as grades
    from {{ ref('grade_distribution_band') }}
    semi join {{ ref('shown_semester') }} using (school_id, semester_id)
    where group_type = 'subject' and grades > 0
    group by all
),

bands as (
    select
        *,
        dense_rank() over (partition by school_id order by lower_percent desc nulls last) as band_order
    from {{ ref('stg_grade_bands') }}
)

select
    counts.school_id,
    counts.group_type,
    counts.group_key,
    counts.subject_name,
    {{ band_name('bands') }} as band,
    bands.band_order,
    counts.grades
from counts
inner join bands using (school_id, band)
where counts.subject_name is not null
