-- Grain: school, assessment item with a full score above 0 that is meant to have scores.
-- Rules: classical test theory, of the item's valid scores (core.fct_item_score; score_source and score_rule say
--   what these are). An assessment's test (is_in_test) is its items
--   with at least test_item_percent (seeds.grade_thresholds) as many scores as the one that has most of them:
--   an item that is being scored joins it when it is.
--   difficulty = mean / full score, over all students with a score: higher is easier.
--   The rest is of complete students, those with a score on every item of the test, by their total:
--   discrimination = mean share of the item's full score in the top group less that in the bottom group, each of
--     discrimination_group_percent (27) of the complete students, rounded half up, at least one; students who tie at
--     the edge of a group share its last places equally.
--   item_rest_correlation: Pearson's r of the item with the total less the item (corrected item-total), null
--     where either does not vary.
--   alpha = k / (k - 1) * (1 - sum of the items' variances / variance of the total), Cronbach's, k items; null
--     for a single item or totals that do not vary. alpha_low and alpha_high: its 95% confidence interval (Bonett 2002), which
--     complete_students make wide or narrow.
--   All are null for fewer students than item_minimum_students (seeds.grade_thresholds).
--   is_small_sample: fewer complete students than label_minimum_students (30): the figures are uncertain.
--   item_rest_low and item_rest_high: the 95% confidence interval of item_rest_correlation, by Fisher's z.
--   discrimination_label judges an item of an examination (is_examination: seeds.examination_names) by its interval,
--     rounded to two places (seeds.discrimination_labels). Fewer complete students than label_minimum_students, or an
--     interval that reaches another label: cannot be told. Homework and behaviour have the figures, and no verdict.
-- Source: core.fct_assessment_item, core.fct_item_score and dimensions.
with thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'item_minimum_students') as minimum_students,
        max(value) filter (where threshold = 'discrimination_group_percent') as group_percent,
        max(value) filter (where threshold = 'test_item_percent') as test_item_percent,
        max(value) filter (where threshold = 'label_minimum_students') as label_minimum
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

examinations as (
    select distinct
        tree.school_id,
        tree.assessment_item_id
    from {{ ref('dim_assessment_item') }} as tree
    inner join {{ ref('stg_examination_names') }} as names
        on names.school_id = tree.school_id
        -- A word of Latin letters counts as a whole, so that a contest is no test.
        and regexp_matches(
            lower(concat_ws(' ', tree.level_1_name, tree.level_2_name, tree.level_3_name)),
            case
                when names.name_part ~ '[A-Za-z]+' then '\b' || lower(names.name_part) || '(s|es|zes)?\b'
                else regexp_escape(lower(names.name_part))
            end
        )
),

items as (
    select
        items.*,
        items.valid_scores > 0
            and 100 * items.valid_scores >= thresholds.test_item_percent
                * max(items.valid_scores) over (partition by items.school_id, items.assessment_id) as is_in_test
    from {{ ref('fct_assessment_item') }} as items
    inner join thresholds
        on thresholds.school_id = items.school_id
    where items.full_score > 0
),

scores as (
    select
        scores.school_id,
        scores.assessment_id,
        scores.assessment_item_id,
        scores.student_id,
        scores.score,
        items.full_score
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    where
        items.is_in_test
        and scores.is_valid
        and scores.score is not null
),

tests as (
    select
        school_id,
        assessment_id,
        count(*) as test_items
    from items
    where is_in_test
    group by school_id, assessment_id
),

totals as (
    select
        school_id,
        assessment_id,
        student_id,
        count(*) as scored_items,
        sum(score) as total
    from scores
    group by school_id, assessment_id, student_id
),

complete as (
    select
        totals.*,
        tests.test_items,
        thresholds.minimum_students,
        count(*) over in_test as complete_students,
        thresholds.group_percent,
        rank() over (in_test order by total desc) as rank_from_top,
        rank() over (in_test order by total) as rank_from_bottom,
        count(*) over (partition by totals.school_id, totals.assessment_id, total) as tied
    from totals
    inner join tests
        on tests.school_id = totals.school_id
        and tests.assessment_id = totals.assessment_id
        and tests.test_items = totals.scored_items
    inner join thresholds
        on thresholds.school_id = totals.school_id
    window in_test as (partition by totals.school_id, totals.assessment_id)
),

sized as (
    select
        *,
        cast(
            greatest({{ ratio('complete_students * group_percent', '100', places=0, digits=18) }}, 1) as bigint
        ) as group_size
    from complete
),

-- The share with which each student is in either group.
grouped as (
    select
        school_id,
        assessment_id,
        student_id,
        total,
        test_items,
        complete_students,
        minimum_students,
        least(greatest((group_size - rank_from_top + 1) / tied, 0), 1) / group_size as top_share,
        least(greatest((group_size - rank_from_bottom + 1) / tied, 0), 1) / group_size as bottom_share
    from sized
),

of_items as (
    select
        scores.school_id,
        scores.assessment_id,
        scores.assessment_item_id,
        var_samp(cast(scores.score as double)) as variance,
        var_samp(cast(grouped.total as double)) as total_variance,
        corr(cast(scores.score as double), cast(grouped.total - scores.score as double)) as item_rest_correlation,
        sum((grouped.top_share - grouped.bottom_share) * scores.score / scores.full_score) as discrimination,
        any_value(grouped.complete_students) as complete_students,
        any_value(grouped.test_items) as test_items,
        any_value(grouped.complete_students >= grouped.minimum_students) as is_told
    from scores
    inner join grouped
        on grouped.school_id = scores.school_id
        and grouped.assessment_id = scores.assessment_id
        and grouped.student_id = scores.student_id
    group by scores.school_id, scores.assessment_id, scores.assessment_item_id
),

told as (
    select
        *,
        test_items / nullif(test_items - 1, 0)
            * (1 - sum(variance) over in_test / nullif(total_variance, 0)) as alpha
    from of_items
    where is_told
    window in_test as (partition by school_id, assessment_id)
),

analysed as (
    select
        items.*,
        tests.test_items,
        coalesce(of_items.complete_students, 0) as complete_students,
        case
            when items.valid_scores >= thresholds.minimum_students
                then {{ ratio('items.score_sum', '(items.valid_scores * items.full_score)') }}
        end as difficulty,
        {{ rounded('told.discrimination') }} as discrimination,
        -- Not a number where one of the two does not vary.
        {{ rounded('told.item_rest_correlation') }} as item_rest_correlation,
        {{ rounded('told.alpha') }} as alpha,
        {%- for end in ('low', 'high') %}
        {{ alpha_limit('told.alpha', 'told.test_items', 'told.complete_students', end) }} as alpha_{{ end }},
        {%- endfor %}
        coalesce(of_items.complete_students, 0) < thresholds.label_minimum as is_small_sample,
        {{ correlation_limit('told.item_rest_correlation', 'told.complete_students', '-') }} as item_rest_low,
        {{ correlation_limit('told.item_rest_correlation', 'told.complete_students', '+') }} as item_rest_high,
        examinations.assessment_item_id is not null as is_examination,
        is_examination and of_items.complete_students >= thresholds.label_minimum as is_judged
    from items
    left join examinations
        on examinations.school_id = items.school_id
        and examinations.assessment_item_id = items.assessment_item_id
    left join thresholds
        on thresholds.school_id = items.school_id
    left join tests
        on tests.school_id = items.school_id
        and tests.assessment_id = items.assessment_id
    left join of_items
        on of_items.school_id = items.school_id
        and of_items.assessment_item_id = items.assessment_item_id
    left join told
        on told.school_id = items.school_id
        and told.assessment_item_id = items.assessment_item_id
)

select
    analysed.school_id,
    analysed.semester_id,
    {{ semester_names() }},
    analysed.course_class_id,
    classes.course_name,
    classes.class_name,
    classes.teacher_names,
    analysed.assessment_id,
    {{ if_loaded(['scores'], 'coalesce(analysed.test_items, 0)') }} as test_items,
    analysed.is_in_test,
    analysed.assessment_item_id,
    analysed.item_name,
    analysed.is_examination,
    analysed.score_source,
    analysed.score_rule,
    analysed.full_score,
    'all' as population,
    analysed.valid_scores as students,
    analysed.score_sum,
    {{ ratio('analysed.score_sum', 'analysed.valid_scores', digits=18) }} as mean,
    analysed.difficulty,
    {{ if_loaded(['scores'], 'analysed.complete_students') }} as complete_students,
    {{ if_loaded(['scores'], 'analysed.is_small_sample') }} as is_small_sample,
    analysed.discrimination,
    case
        when labels.label is not null then labels.label
        when analysed.is_examination and analysed.is_in_test then 'cannot be told'
    end as discrimination_label,
    {{ in_words('discrimination_label', 'discrimination_label') }},
    analysed.item_rest_correlation,
    analysed.item_rest_low,
    analysed.item_rest_high,
    analysed.alpha,
    analysed.alpha_low,
    analysed.alpha_high
from analysed
left join {{ ref('stg_discrimination_labels') }} as labels
    on labels.school_id = analysed.school_id
    and analysed.is_judged
    and {{ rounded('analysed.item_rest_low', places=2) }} >= coalesce(labels.lower_correlation, -1)
    and {{ rounded('analysed.item_rest_high', places=2) }} < coalesce(labels.upper_correlation, 2)
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = analysed.school_id
    and semesters.semester_id = analysed.semester_id
left join {{ ref('dim_course_class') }} as classes
    on classes.school_id = analysed.school_id
    and classes.course_class_id = analysed.course_class_id
