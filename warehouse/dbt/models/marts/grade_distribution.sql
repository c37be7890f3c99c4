-- Grain: school, semester, kind of group (course_class, course, subject, cohort, school), group.
-- Rules: grades of source `class` whose status counts (seeds.grade_status_rules). Rates come from sums:
--   pass_rate = 100 * passed / (passed + failed), excellent_rate = 100 * excellent / scored,
--   score_rate = 100 * score_sum / full_score_sum. mean, median, quartiles, least, greatest and sd are of the
--   grades' percentages of their full scores; sd is the sample's (n - 1), null for fewer than two.
--   mean_low, mean_high, pass_rate_low, pass_rate_high: 95% intervals. A student's grades go together, so that the student is
--   the unit: of the mean by Student's t from the variance of the students' sums, of the pass rate by Wilson, with the
--   decided grades divided by their design effect, which is pooled over the groups of a kind. They say how far the figure would
--   vary with other students like these; null for a mean of fewer than two.
--   Courses are distinguished by their names. Grades whose course, subject or cohort is unknown are the group with
--   the key '', so that the groups of each kind make up the school. Over bands: grade_distribution_band.
-- Source: core.fct_grade and dimensions.
{%- set groups = grade_groups() %}
with {{ grades_with_groups() }},

student_sums as (
    select
        school_id,
        semester_id,
        {{ group_type(groups) }} as group_type,
        {{ group_key(groups) }} as group_key,
        student_id,
        sum(score_percent) as percent_sum,
        count(score_percent) as scored,
        count(*) filter (where is_passed) as passed,
        count(is_passed) as decided
    from grades
    group by {{ group_sets(groups, also=['student_id']) }}
),

spreads as (
    select
        school_id,
        semester_id,
        group_type,
        group_key,
        sum(passed) as all_passed,
        sum(decided) as all_decided,
        {{ cluster_sums('mean', 'percent_sum', 'scored') }},
        {{ cluster_sums('pass', 'passed', 'decided') }}
    from student_sums
    group by school_id, semester_id, group_type, group_key
),

effects as (
    select
        *,
        {{ design_effect('pass', 'all_passed', 'all_decided', 'of_kind') }} as design_effect
    from spreads
    window of_kind as (partition by school_id, semester_id, group_type)
),

sums as (
    select
        school_id,
        semester_id,
        {{ group_type(groups) }} as group_type,
        {{ group_key(groups) }} as group_key,
        any_value(nullif(concat_ws(' ', course, class_name), '')) as course_class_name,
        any_value(course) as course_name,
        any_value(subject_name) as subject_name,
        any_value(cohort_name) as cohort_name,
        count(*) as grades,
        count(distinct student_id) as students,
        count(score_percent) as scored,
        count(*) filter (where is_passed) as passed,
        count(*) filter (where not is_passed) as failed,
        count(*) filter (where is_passed is null) as undecided,
        count(*) filter (where is_excellent) as excellent,
        sum(real_score) filter (where score_percent is not null) as score_sum,
        sum(full_score) filter (where score_percent is not null) as full_score_sum,
        sum(score_percent) as percent_sum,
        stddev_samp(score_percent) as sd,
        -- Two digits more: a quartile lies on a fourth of the way between two grades.
        quantile_cont(try_cast(score_percent as decimal(18, 8)), [0.25, 0.5, 0.75]) as quartiles,
        min(score_percent) as least,
        max(score_percent) as greatest
    from grades
    group by {{ group_sets(groups) }}
)

select
    sums.school_id,
    sums.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    sums.group_type,
    sums.group_key,
    case sums.group_type
        when 'course_class' then sums.course_class_name
        when 'course' then sums.course_name
        when 'subject' then sums.subject_name
        when 'cohort' then sums.cohort_name
        else schools.school_name
    end as group_name,
    'all' as population,
    sums.grades,
    sums.students,
    sums.scored,
    sums.passed,
    sums.failed,
    sums.undecided,
    sums.excellent,
    {{ rate('sums.passed', '(sums.passed + sums.failed)') }} as pass_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit(
        '(sums.passed / effects.design_effect)', '((sums.passed + sums.failed) / effects.design_effect)', end
    ) }} as pass_rate_{{ end }},
    {%- endfor %}
    {{ rate('sums.excellent', 'sums.scored') }} as excellent_rate,
    sums.score_sum,
    sums.full_score_sum,
    {{ percent('sums.score_sum', 'sums.full_score_sum') }} as score_rate,
    sums.percent_sum,
    {{ ratio('sums.percent_sum', 'sums.scored') }} as mean,
    {%- for end in ('low', 'high') %}
    {{ t_limit(
        'cast(sums.percent_sum as double) / nullif(sums.scored, 0)', ratio_variance('effects.mean', 'sums.percent_sum', 'sums.scored'),
        'effects.mean_clusters - 1', end
    ) }} as mean_{{ end }},
    {%- endfor %}
    {{ rounded('sums.sd') }} as sd,
    try_cast(sums.least as decimal(9, 4)) as least,
    try_cast(sums.quartiles[1] as decimal(9, 4)) as lower_quartile,
    try_cast(sums.quartiles[2] as decimal(9, 4)) as median,
    try_cast(sums.quartiles[3] as decimal(9, 4)) as upper_quartile,
    try_cast(sums.greatest as decimal(9, 4)) as greatest
from sums
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = sums.school_id
    and semesters.semester_id = sums.semester_id
left join {{ ref('dim_school') }} as schools
    on schools.school_id = sums.school_id
left join effects
    on effects.school_id = sums.school_id
    and effects.semester_id = sums.semester_id
    and effects.group_type = sums.group_type
    and effects.group_key = sums.group_key
