-- Grain: school, semester, course class, cohort: as grade_class_against_cohort.
-- Rules: rank_code is the rank among the cohort's classes, or the reason why there is none.
select
    classes.school_id,
    classes.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    classes.cohort_id,
    classes.cohort_name,
    coalesce(classes.cohort_name, cast(classes.cohort_id as varchar)) as cohort,
    classes.course_name,
    classes.course_class_id,
    classes.class_name,
    classes.teacher_names,
    classes.class_scored,
    {{ ratio('classes.class_percent_sum', 'classes.class_scored', places=2) }} as class_mean,
    -classes.class_mean as best_first,
    classes.class_sd,
    classes.class_pass_rate,
    classes.cohort_scored,
    case
        when classes.cohort_id is not null then {{ ratio('classes.cohort_percent_sum', 'classes.cohort_scored', places=2) }}
    end as cohort_mean,
    classes.cohort_sd,
    classes.cohort_pass_rate,
    {{ ratio(
        '(classes.cohort_percent_sum - coalesce(classes.class_percent_sum, 0))', 'classes.others_scored', places=2
    ) }} as others_mean,
    {{ ratio(
        '(classes.class_percent_sum * classes.others_scored'
        ~ ' - (classes.cohort_percent_sum - coalesce(classes.class_percent_sum, 0)) * classes.class_scored)',
        '(classes.class_scored * classes.others_scored)',
        places=2
    ) }} as difference,
    classes.difference_low,
    classes.difference_high,
    classes.shrunken_difference,
    classes.effect_size,
    classes.verdict,
    case
        when classes.cohort_id is null and list_contains(years.never_loaded, 'students') then 'unknown'
        when classes.cohort_id is null then 'no cohort'
        when classes.rank is not null then classes.rank || ' / ' || classes.cohort_classes
        when classes.cohort_classes = 1 then 'only class'
        when classes.is_distinguishable is null then 'few grades'
        else 'chance'
    end as rank_code
from {{ ref('grade_class_against_cohort') }} as classes
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join {{ ref('dim_semester') }} as years using (school_id, semester_id)
