{#- The teaching week at whose end a day is over, of a row of `semesters`; null: after the last week. -#}
{% macro week_of_knowing(day) -%}
    case
        when {{ day }} <= {{ last_day_of('semesters.week_count', 'semesters') }}
            then cast(greatest(({{ day }} - semesters.week_1_on) // 7 + 1, 1) as integer)
    end
{%- endmacro %}

{#-
    The CTE `attendance`: a row a student and week of the CTE `weeks`, with the marks that were made by the end of the week.
    The CTE `mark_days` has the marks by day. doubt: 0 stored here by then, 1 by the platform's times, 2 assumed.
-#}
{% macro attendance_up_to_week() -%}
    past_marks as (
        select *, row_number() over (partition by school_id, attendance_id order by known_from) = 1 as is_first
        from {{ ref('attendance_past') }}
    ),

    -- Each version of a mark counts from from_on to to_on. Until sure_on it is assumed, until stored_on the platform dates it.
    mark_versions as (
        select
            marks.school_id,
            marks.semester_id,
            marks.student_id,
            marks.date,
            marks.week,
            marks.is_present,
            marks.is_late,
            if(past.attendance_id is null, coalesce(marks.first_record_at, marks.marked_at), marks.synced_at) as from_at,
            if(past.attendance_id is null, coalesce(marks.marked_at, marks.synced_at), marks.synced_at) as sure_at,
            marks.synced_at as stored_at,
            cast(null as timestamp) as to_at
        from {{ ref('fct_attendance') }} as marks
        left join (select * from past_marks where is_first) as past
            on past.school_id = marks.school_id
            and past.attendance_id = marks.attendance_id
        where marks.counts_in_denominator

        union all

        select
            school_id,
            semester_id,
            student_id,
            date,
            week,
            is_present,
            is_late,
            if(is_first, marked_at, known_from) as from_at,
            if(is_first, coalesce(marked_at, known_from), known_from) as sure_at,
            known_from as stored_at,
            known_to as to_at
        from past_marks
        where counts_in_denominator
    ),

    mark_days as (
        select
            school_id,
            semester_id,
            student_id,
            date,
            any_value(week) as week,
            -- A lesson counts on its day, however early it is marked. greatest() ignores null.
            greatest(date, cast(from_at as date)) as from_on,
            greatest(date, cast(sure_at as date)) as sure_on,
            greatest(date, cast(stored_at as date)) as stored_on,
            cast(to_at as date) as to_on,
            count(*) as recorded,
            count_if(is_present) as present,
            count_if(is_late) as late
        from mark_versions
        group by all
    ),

    mark_weeks as (
        select
            mark_days.* exclude (from_on, sure_on, stored_on, to_on),
            {%- for day in ('from', 'sure', 'stored', 'to') %}
            {{ week_of_knowing('mark_days.' ~ day ~ '_on') }} as {{ day }}_week{{ ',' if not loop.last }}
            {%- endfor %}
        from mark_days
        inner join semesters
            on semesters.school_id = mark_days.school_id
            and semesters.semester_id = mark_days.semester_id
        where from_week is not null
    ),

    -- What changes at the end of a week, of the lessons of a week.
    mark_changes as (
        select
            school_id,
            semester_id,
            student_id,
            week,
            changed_in,
            {%- for sum in ('recorded', 'present', 'late', 'days_recorded', 'dated', 'assumed') %}
            cast(sum({{ sum }}) as bigint) as {{ sum }}{{ ',' if not loop.last }}
            {%- endfor %}
        from (
            select
                school_id,
                semester_id,
                student_id,
                week,
                unnest(
                    [
                        {%- for week, sign, dated, assumed in (('from', 1, 0, 1), ('sure', 0, 1, -1), ('stored', 0, -1, 0), ('to', -1, 0, 0)) %}
                        {
                            'changed_in': {{ week }}_week,
                            'recorded': {{ sign }} * recorded,
                            'present': {{ sign }} * present,
                            'late': {{ sign }} * late,
                            'dated': {{ dated }},
                            'assumed': {{ assumed }}
                        }{{ ',' if not loop.last }}
                        {%- endfor %}
                    ],
                    recursive := true
                ),
                0 as days_recorded
            from (
                select
                    school_id, semester_id, student_id, week, from_week, sure_week, stored_week, to_week,
                    sum(recorded) as recorded, sum(present) as present, sum(late) as late
                from mark_weeks
                group by all
            )

            union all by name

            select
                school_id, semester_id, student_id, week,
                unnest([from_week, to_week]) as changed_in,
                unnest([1, -1]) as days_recorded
            from (
                select
                    school_id, semester_id, student_id, date, any_value(week) as week, min(from_week) as from_week,
                    case when count(to_week) = count(*) then max(to_week) end as to_week
                from mark_weeks
                group by school_id, semester_id, student_id, date
            )
        )
        where changed_in is not null
        group by school_id, semester_id, student_id, week, changed_in
    ),

    -- The last week that the school has records of, so far.
    last_weeks as (
        select weeks.school_id, weeks.semester_id, weeks.week, max(marked.week) as last_week
        from weeks
        inner join (
            select school_id, semester_id, week, min(changed_in) as changed_in
            from mark_changes
            where recorded > 0
            group by school_id, semester_id, week
        ) as marked
            on marked.school_id = weeks.school_id
            and marked.semester_id = weeks.semester_id
            and marked.changed_in <= weeks.week
        group by weeks.school_id, weeks.semester_id, weeks.week
    ),

    attendance_sums as (
        select
            changes.school_id,
            changes.semester_id,
            changes.student_id,
            last_weeks.week,
            {%- for sum in ('recorded', 'present', 'late', 'days_recorded', 'dated', 'assumed') %}
            cast(sum(changes.{{ sum }}) as bigint) as {{ sum }},
            {%- endfor %}
            {%- for sum in ('recorded', 'present') %}
            cast(sum(changes.{{ sum }}) filter (where changes.week <= last_weeks.last_week - thresholds.trend_weeks) as bigint)
                as earlier_{{ sum }},
            cast(sum(changes.{{ sum }}) filter (where changes.week > last_weeks.week - 4) as bigint)
                as month_{{ sum }}{{ ',' if not loop.last }}
            {%- endfor %}
        from last_weeks
        inner join mark_changes as changes
            on changes.school_id = last_weeks.school_id
            and changes.semester_id = last_weeks.semester_id
            and changes.changed_in <= last_weeks.week
        left join attendance_thresholds as thresholds
            on thresholds.school_id = last_weeks.school_id
        group by changes.school_id, changes.semester_id, changes.student_id, last_weeks.week
    ),

    attendance as (
        select
            school_id,
            semester_id,
            student_id,
            week,
            days_recorded,
            present,
            recorded - coalesce(earlier_recorded, 0) as recent_recorded,
            present - coalesce(earlier_present, 0) as recent_present,
            coalesce(sums.earlier_recorded, 0) as earlier_recorded,
            {{ rate('present', 'recorded') }} as attendance_rate,
            {{ rate('late', 'present') }} as lateness_rate,
            cast(
                {{ rate('recent_present', 'recent_recorded') }} - {{ rate('earlier_present', 'sums.earlier_recorded') }}
                as decimal(9, 2)
            ) as attendance_rate_change,
            {{ rate('coalesce(month_present, 0)', 'coalesce(month_recorded, 0)') }} as month_attendance_rate,
            case when assumed > 0 then 2 when dated > 0 then 1 else 0 end as doubt
        from attendance_sums as sums
    )
{%- endmacro %}

{#- When a resource of each semester was loaded first. -#}
{% macro first_loads(resource) -%}
    select school_id, semester_id, min(seen_at) as loaded_at
        from {{ ref('stg_changes') }}
        where
            resource = '{{ resource }}'
            and op = 'loaded'
        group by school_id, semester_id
{%- endmacro %}

{#-
    The CTE `scores`: a row a student and week of the CTE `there`, with the scores that were expected and settled at the end of
    the week; and `items` with the day on which each begins. doubt: 0, or 2 assumed.
-#}
{% macro scores_up_to_week() -%}
    item_facts as (
        select
            items.school_id,
            assessments.semester_id,
            items.assessment_id,
            items.assessment_item_id,
            assessments.course_class_id,
            items.full_score,
            items.published_at,
            cast(items.synced_at as date) as stored_on,
            cast(children.deleted_at as date) as leaf_on,
            cast(
                least(if(items.is_deleted, items.deleted_at, null), if(assessments.is_deleted, assessments.deleted_at, null))
                as date
            ) as deleted_on,
            semesters.week_1_on,
            semesters.last_day
        from {{ ref('dim_assessment_item') }} as items
        inner join {{ ref('dim_assessment') }} as assessments
            on assessments.school_id = items.school_id
            and assessments.assessment_id = items.assessment_id
        inner join semesters
            on semesters.school_id = assessments.school_id
            and semesters.semester_id = assessments.semester_id
        left join {{ ref('scoring_type_rules') }} as rules
            on rules.scoring_type = items.scoring_type
        -- An item whose parts were all deleted is a leaf from then on.
        left join (
            select school_id, parent_item_id, max(deleted_at) as deleted_at
            from {{ ref('dim_assessment_item') }}
            where parent_item_id <> assessment_item_id
            group by school_id, parent_item_id
        ) as children
            on children.school_id = items.school_id
            and children.parent_item_id = items.assessment_item_id
        where
            items.is_leaf
            and coalesce(rules.is_scorable, items.full_score is not null)
    ),

    score_loads as (
        {{ first_loads('scores') }}
    ),

    scores_ever as (
        {%- set columns = 'school_id, score_id, assessment_item_id, student_id, is_valid, score, score_text, published_at, created_at, updated_at' %}
        select {{ columns }}, false as is_deleted from {{ ref('fct_score') }}
        union all
        select {{ columns }}, true as is_deleted
        from {{ ref('stg_deleted_scores') }}
        anti join {{ ref('fct_score') }} as live using (school_id, score_id)
    ),

    score_facts as (
        select
            scores.*,
            items.semester_id,
            items.week_1_on,
            items.last_day,
            loads.loaded_at
        from scores_ever as scores
        inner join item_facts as items
            on items.school_id = scores.school_id
            and items.assessment_item_id = scores.assessment_item_id
        left join score_loads as loads
            on loads.school_id = items.school_id
            and loads.semester_id = items.semester_id
    ),

    -- What a score was before a change, in a struct, since null is a value too.
    score_changes as (
        select
            school_id,
            semester_id,
            record_id as score_id,
            seen_at,
            {%- for field in ('score', 'valid') %}
            arg_min({'value': before}, slice_version) filter (where field = '{{ field }}') as {{ field }}_before,
            {%- endfor %}
            arg_min({'value': op = 'deleted'}, slice_version)
                filter (where op in ('created', 'deleted', 'returned')) as was_there
        from {{ ref('stg_changes') }}
        where
            resource = 'scores'
            and record_id is not null
            and (op <> 'updated' or field in ('score', 'valid'))
        group by school_id, semester_id, record_id, seen_at
    ),

    score_moments as (
        select * from score_changes
        union all by name
        select facts.school_id, facts.semester_id, facts.score_id, facts.loaded_at as seen_at
        from score_facts as facts
        semi join score_changes using (school_id, semester_id, score_id)
    ),

    -- What holds from a moment on is what the next change says was before it.
    score_states as (
        select
            facts.*,
            loaded_at as known_from,
            cast(null as timestamp) as known_to,
            true as is_first
        from score_facts as facts
        anti join score_changes using (school_id, semester_id, score_id)

        union all by name

        select
            facts.*,
            moments.seen_at as known_from,
            lead(moments.seen_at) over of_score as known_to,
            row_number() over of_score = 1 as is_first,
            {%- for before in ('score_before', 'valid_before', 'was_there') %}
            first_value(moments.{{ before }} ignore nulls) over later as {{ before }}{{ ',' if not loop.last }}
            {%- endfor %}
        from score_facts as facts
        inner join score_moments as moments
            on moments.school_id = facts.school_id
            and moments.semester_id = facts.semester_id
            and moments.score_id = facts.score_id
        window
            of_score as (partition by facts.school_id, facts.score_id order by moments.seen_at nulls first),
            later as (
                partition by facts.school_id, facts.score_id
                order by moments.seen_at nulls first
                rows between 1 following and unbounded following
            )
    ),

    -- Scores that are not missing. A score that was there at the first load may have been given, or taken out of
    -- statistics, at any time from maybe_on to sure_on.
    settled as (
        select
            school_id,
            semester_id,
            assessment_item_id,
            student_id,
            published_at,
            if(score_before is null, {{ is_given('states') }}, score_before.value is not null) as is_given,
            cast(if(known_to is null, coalesce(updated_at, created_at), null) as date) as changed_on,
            cast(created_at as date) as created_on,
            cast(known_from as date) as stored_on,
            cast(known_to as date) as to_on,
            case
                when not is_first then stored_on
                when is_given then least(coalesce(created_on, changed_on, last_day), stored_on)
                else least(coalesce(changed_on, stored_on, created_on, last_day), stored_on)
            end as from_on,
            case when is_first then least(coalesce(created_on, week_1_on), from_on) else from_on end as maybe_on,
            case when is_first then coalesce(least(changed_on, stored_on), date 'infinity') else from_on end as sure_on
        from score_states as states
        where
            coalesce(was_there.value, not is_deleted)
            and (
                is_given
                or not if(valid_before is null, is_valid, coalesce(cast(valid_before.value as boolean), true))
            )
    ),

    begun as (
        select
            school_id,
            assessment_item_id,
            min(from_on) as begun_on,
            min(maybe_on) as maybe_on,
            min(sure_on) as sure_on,
            cast(min(published_at) as date) as published_on
        from settled
        where is_given
        group by school_id, assessment_item_id
    ),

    items as (
        select
            items.*,
            begun.begun_on,
            begun.maybe_on,
            begun.sure_on,
            coalesce(cast(items.published_at as date), begun.published_on) as published_on,
            summed.assessment_id is not null as is_summed
        from item_facts as items
        left join begun
            on begun.school_id = items.school_id
            and begun.assessment_item_id = items.assessment_item_id
        left join ({{ summed_assessments() }}) as summed
            on summed.school_id = items.school_id
            and summed.assessment_id = items.assessment_id
    ),

    -- An item with parts that has scores may have been a leaf from its first score to the day on which a part is known.
    part_doubts as (
        select
            items.school_id,
            assessments.semester_id,
            assessments.course_class_id,
            scores.first_on,
            least(min(cast(parts.synced_at as date)), min(begun.begun_on)) as parts_on
        from {{ ref('dim_assessment_item') }} as items
        inner join {{ ref('dim_assessment') }} as assessments
            on assessments.school_id = items.school_id
            and assessments.assessment_id = items.assessment_id
        inner join (
            select school_id, assessment_item_id, coalesce(min(cast(created_at as date)), date '-infinity') as first_on
            from scores_ever as scores
            where
                {{ is_given('scores') }}
                or updated_at > created_at
            group by school_id, assessment_item_id
        ) as scores
            on scores.school_id = items.school_id
            and scores.assessment_item_id = items.assessment_item_id
        inner join {{ ref('dim_assessment_item') }} as parts
            on parts.school_id = items.school_id
            and parts.parent_item_id = items.assessment_item_id
            and not parts.is_deleted
        left join begun
            on begun.school_id = parts.school_id
            and begun.assessment_item_id = parts.assessment_item_id
        where not items.is_leaf
        group by items.school_id, items.assessment_item_id, assessments.semester_id, assessments.course_class_id, first_on
    ),

    -- The days on whose members an item is expected of: of its scores up to its publication, and of the publication.
    item_days as (
        select items.school_id, items.assessment_item_id, settled.from_on as date
        from items
        inner join settled
            on settled.school_id = items.school_id
            and settled.assessment_item_id = items.assessment_item_id
            and settled.is_given
            and (items.published_on is null or settled.from_on <= items.published_on)

        union

        select school_id, assessment_item_id, published_on
        from items
        where
            begun_on is not null
            and published_on is not null
    ),

    -- The first of these days on which those who joined a class on a day were members of it.
    first_days as (
        select
            items.school_id,
            items.assessment_item_id,
            joined.joined_on,
            item_days.date as first_on
        from items
        inner join (select distinct school_id, course_class_id, joined_on from members) as joined
            on joined.school_id = items.school_id
            and joined.course_class_id = items.course_class_id
        asof inner join item_days
            on item_days.school_id = items.school_id
            and item_days.assessment_item_id = items.assessment_item_id
            and item_days.date >= coalesce(joined.joined_on, date '-infinity')
    ),

    -- Each student of whom a score is expected, and from which day.
    expected as (
        select
            items.school_id,
            items.semester_id,
            items.assessment_item_id,
            members.student_id,
            greatest(items.begun_on, first_days.first_on) as from_on,
            members.left_on,
            items.deleted_on,
            items.maybe_on,
            items.sure_on,
            items.is_summed
        from items
        inner join first_days
            on first_days.school_id = items.school_id
            and first_days.assessment_item_id = items.assessment_item_id
        inner join members
            on members.school_id = items.school_id
            and members.course_class_id = items.course_class_id
            and members.joined_on is not distinct from first_days.joined_on
        where
            (members.left_on is null or members.left_on > first_days.first_on)
            and (items.deleted_on is null or items.deleted_on > from_on)
    ),

    repeated as (
        select school_id, assessment_item_id, student_id
        from settled
        group by school_id, assessment_item_id, student_id
        having count(*) > 1
    ),

    -- Several rows of a student for an item are settled as long as any of them is.
    stretches as (
        select school_id, assessment_item_id, student_id, from_on, coalesce(to_on, date 'infinity') as to_on
        from settled
        anti join repeated using (school_id, assessment_item_id, student_id)

        union all

        select school_id, assessment_item_id, student_id, min(from_on) as from_on, max(to_on) as to_on
        from (
            select *, sum(if(from_on > reached, 1, 0)) over in_order as stretch
            from (
                select
                    school_id, assessment_item_id, student_id, from_on, coalesce(settled.to_on, date 'infinity') as to_on,
                    max(coalesce(settled.to_on, date 'infinity')) over earlier as reached
                from settled
                semi join repeated using (school_id, assessment_item_id, student_id)
                window earlier as (
                    partition by school_id, assessment_item_id, student_id
                    order by from_on, settled.to_on nulls last rows between unbounded preceding and 1 preceding
                )
            )
            window in_order as (
                partition by school_id, assessment_item_id, student_id order by from_on, to_on
            )
        )
        group by school_id, assessment_item_id, student_id, stretch
    ),

    -- Of a student who has left the class only what was settled by then is expected.
    settlements as (
        select
            expected.*,
            greatest(stretches.from_on, expected.from_on) as settled_on,
            coalesce(stretches.to_on > expected.left_on, false) as outlasts_leaving,
            if(outlasts_leaving, expected.deleted_on, nullif(least(stretches.to_on, expected.deleted_on), date 'infinity'))
                as unsettled_on
        from expected
        inner join stretches
            on stretches.school_id = expected.school_id
            and stretches.assessment_item_id = expected.assessment_item_id
            and stretches.student_id = expected.student_id
        where
            stretches.to_on > expected.from_on
            and (expected.left_on is null or stretches.from_on <= expected.left_on)
            and (expected.deleted_on is null or stretches.from_on < expected.deleted_on)
    ),

    departures as (
        select
            expected.*,
            if(stayed.student_id is null, least(expected.left_on, expected.deleted_on), expected.deleted_on) as gone_on
        from expected
        left join (select * from settlements where outlasts_leaving) as stayed
            on stayed.school_id = expected.school_id
            and stayed.assessment_item_id = expected.assessment_item_id
            and stayed.student_id = expected.student_id
        where coalesce(expected.left_on, expected.deleted_on) is not null
    ),

    score_events as (
        select school_id, semester_id, student_id, from_on as date, 1 as expected, 0 as settled, is_summed, 0 as assumed
        from expected
        union all
        select school_id, semester_id, student_id, gone_on, -1, 0, is_summed, 0 from departures
        union all
        select school_id, semester_id, student_id, settled_on, 0, 1, is_summed, 0 from settlements
        union all
        select school_id, semester_id, student_id, unsettled_on, 0, -1, is_summed, 0 from settlements
        union all
        select
            school_id, semester_id, student_id, unnest([maybe_on, sure_on]), 0, 0, false, unnest([1, -1])
        from (
            select school_id, semester_id, student_id, maybe_on, sure_on from expected
            union all
            select expected.school_id, expected.semester_id, expected.student_id, settled.maybe_on, settled.sure_on
            from settled
            inner join expected using (school_id, assessment_item_id, student_id)
            union all
            select doubts.school_id, doubts.semester_id, members.student_id, doubts.first_on, doubts.parts_on
            from part_doubts as doubts
            inner join members
                on members.school_id = doubts.school_id
                and members.course_class_id = doubts.course_class_id
        )
        where maybe_on < sure_on
    ),

    score_days as (
        select
            school_id,
            semester_id,
            student_id,
            date,
            cast(sum(sum(expected)) over so_far as bigint) as expected,
            cast(sum(sum(settled)) over so_far as bigint) as settled,
            cast(sum(sum(if(is_summed, expected - settled, 0))) over so_far as bigint) as missing_as_zero,
            cast(sum(sum(assumed)) over so_far as bigint) as assumed
        from score_events
        where date is not null
        group by school_id, semester_id, student_id, date
        window so_far as (partition by school_id, semester_id, student_id order by date)
    ),

    scores as (
        select
            there.school_id,
            there.semester_id,
            there.week,
            there.student_id,
            score_days.expected,
            {{ rate('(score_days.expected - score_days.settled)', 'score_days.expected') }} as missing_rate,
            score_days.missing_as_zero > 0 as lowers_score_rate,
            if(score_days.assumed > 0, 2, 0) as doubt
        from there
        asof inner join score_days
            on score_days.school_id = there.school_id
            and score_days.semester_id = there.semester_id
            and score_days.student_id = there.student_id
            and score_days.date <= there.ends_on
        -- The platform hides the scores of those who have left, so that they look missing.
        where not there.is_hidden
    )
{%- endmacro %}

{#-
    The CTE `grades`: a row a student and week of the CTE `there`, with the grades as they were known at the end of the week.
    `grade_doubts`: the students and weeks of whom a grade may have had another value; `cohort_doubts`: the cohorts of such.
-#}
{% macro grades_up_to_week() -%}
    {%- set score_percent = percent('versions.real_score', 'facts.full_score', places=6, digits=18) -%}
    -- Grades: the values of each, and from which day to which they were so.
    live_grades as (
        select
            grades.*,
            false as is_guessed
        from {{ ref('fct_grade') }} as grades
        semi join semesters using (school_id, semester_id)
        where
            grades.source = 'class'
            and grades.student_id is not null
    ),

    history as (
        select
            *,
            min(known_from) over (partition by school_id, grade_id) as first_known_from
        from {{ ref('grade_history') }}
        where source = 'class'
    ),

    -- A grade that was deleted has the full score and weight of the grades that its assessment has still.
    facts as (
        select
            school_id, semester_id, grade_id, assessment_id, student_id, full_score, weight, real_score, status, pass_status,
            published_at, updated_at, is_guessed
        from live_grades

        union all by name

        select
            history.school_id,
            history.semester_id,
            history.grade_id,
            any_value(history.assessment_id) as assessment_id,
            any_value(history.student_id) as student_id,
            any_value(coalesce(live.full_score, assessments.full_score)) as full_score,
            any_value(coalesce(live.weight, thresholds.weight_without_credit)) as weight,
            bool_or(live.weight is null) as is_guessed
        from history
        anti join live_grades using (school_id, grade_id)
        left join (
            select school_id, assessment_id, max(full_score) as full_score, max(weight) as weight
            from live_grades
            group by school_id, assessment_id
        ) as live
            on live.school_id = history.school_id
            and live.assessment_id = history.assessment_id
        left join {{ ref('dim_assessment') }} as assessments
            on assessments.school_id = history.school_id
            and assessments.assessment_id = history.assessment_id
        left join grade_thresholds as thresholds
            on thresholds.school_id = history.school_id
        where history.student_id is not null
        group by history.school_id, history.semester_id, history.grade_id
    ),

    grade_loads as (
        {{ first_loads('grades') }}
    ),

    -- Grades that were there at the first load: the platform's own time of the last change says from when each is so.
    loaded_grades as (
        select
            facts.*,
            semesters.week_1_on,
            first_known.first_known_from,
            coalesce(facts.updated_at, facts.published_at) as changed_at,
            coalesce(changed_at, semesters.last_day) as from_at,
            coalesce(from_at < first_known.first_known_from, first_known.first_known_from is null) as is_as_loaded
        from facts
        inner join semesters
            on semesters.school_id = facts.school_id
            and semesters.semester_id = facts.semester_id
        left join (select distinct school_id, grade_id, first_known_from from history) as first_known
            on first_known.school_id = facts.school_id
            and first_known.grade_id = facts.grade_id
        left join grade_loads as loads
            on loads.school_id = facts.school_id
            and loads.semester_id = facts.semester_id
        where coalesce(first_known.first_known_from <= loads.loaded_at, true)
    ),

    versions as (
        select
            history.school_id,
            history.semester_id,
            history.grade_id,
            cast(history.known_from as date) as from_on,
            cast(history.known_to as date) as to_on,
            history.real_score,
            history.status,
            history.pass_status,
            0 as doubt
        from history
        where history.known_from is not null

        union all

        select
            school_id,
            semester_id,
            grade_id,
            cast(from_at as date) as from_on,
            cast(first_known_from as date) as to_on,
            real_score,
            status,
            pass_status,
            1 as doubt
        from loaded_grades
        where is_as_loaded
    ),

    -- A published grade that changed, and one that has changed or gone since the first load, had a value before.
    grade_doubts as (
        select distinct
            weeks.school_id,
            weeks.semester_id,
            weeks.week,
            doubtful.student_id
        from weeks
        inner join (
            select
                school_id,
                semester_id,
                student_id,
                if(is_as_loaded and changed_at is not null, cast(published_at as date), week_1_on) as from_on,
                cast(if(is_as_loaded and changed_at is not null, changed_at, first_known_from) as date) as to_on
            from loaded_grades
        ) as doubtful
            on doubtful.school_id = weeks.school_id
            and doubtful.semester_id = weeks.semester_id
            and doubtful.from_on <= weeks.ends_on
            and coalesce(doubtful.to_on > weeks.ends_on, true)
    ),

    item_points as (
        select
            weeks.school_id,
            weeks.semester_id,
            weeks.week,
            items.assessment_id,
            sum(items.full_score) as item_points,
            coalesce(sum(items.full_score) filter (where items.begun_on <= weeks.ends_on), 0) as begun_points,
            -- An item that was stored as it is after the week was there if it had begun, and changed if it had been stored.
            bool_or(
                items.stored_on > weeks.ends_on
                and (coalesce(items.begun_on > weeks.ends_on, true) or coalesce(loads.loaded_at <= weeks.ends_on, false))
            ) as is_doubtful
        from weeks
        inner join items
            on items.school_id = weeks.school_id
            and items.semester_id = weeks.semester_id
            and coalesce(items.leaf_on <= weeks.ends_on, true)
            and coalesce(items.deleted_on > weeks.ends_on, true)
        left join score_loads as loads
            on loads.school_id = items.school_id
            and loads.semester_id = items.semester_id
        group by weeks.school_id, weeks.semester_id, weeks.week, items.assessment_id
    ),

    week_grades as (
        select
            weeks.school_id,
            weeks.semester_id,
            weeks.week,
            facts.student_id,
            facts.full_score,
            facts.weight,
            facts.assessment_id,
            versions.real_score,
            if(facts.is_guessed, 2, versions.doubt) as doubt,
            versions.status,
            coalesce(status_rules.counts_in_statistics, true) as counts_in_statistics,
            {{ score_percent }} as score_percent,
            -- Not by its name, which is that of the final grade's in `facts`.
            {{ is_passed('versions.pass_status', score_percent, 'thresholds.pass_percent') }} as is_passed
        from weeks
        inner join versions
            on versions.school_id = weeks.school_id
            and versions.semester_id = weeks.semester_id
            and versions.from_on <= weeks.ends_on
            and (versions.to_on is null or versions.to_on > weeks.ends_on)
        inner join facts
            on facts.school_id = versions.school_id
            and facts.grade_id = versions.grade_id
        left join {{ ref('grade_status_rules') }} as status_rules
            on status_rules.status = versions.status
        left join grade_thresholds as thresholds
            on thresholds.school_id = weeks.school_id
    ),

    grade_sums as (
        select
            grades.school_id,
            grades.semester_id,
            grades.week,
            grades.student_id,
            {{ course_sums() }},
            max(if(points.is_doubtful, 2, doubt)) as doubt
        from week_grades as grades
        left join item_points as points
            on points.school_id = grades.school_id
            and points.semester_id = grades.semester_id
            and points.week = grades.week
            and points.assessment_id = grades.assessment_id
        group by grades.school_id, grades.semester_id, grades.week, grades.student_id
    ),

    -- A z score rests on the grades of the whole cohort, and on who is there.
    cohort_doubts as (
        select distinct
            doubtful.school_id,
            doubtful.semester_id,
            doubtful.week,
            students.cohort_id
        from (
            select school_id, semester_id, week, student_id from grade_sums where doubt = 2
            union
            select school_id, semester_id, week, student_id from grade_doubts
            union
            select school_id, semester_id, week, student_id from there where doubt = 2 and not is_hidden
        ) as doubtful
        inner join students
            on students.school_id = doubtful.school_id
            and students.semester_id = doubtful.semester_id
            and students.student_id = doubtful.student_id
    ),

    grade_means as (
        select
            grade_sums.*,
            students.cohort_id,
            quantile_disc(nullif(grade_sums.scored_courses, 0), 0.5) over in_cohort as usual_courses,
            case
                when 100 * grade_sums.scored_courses >= coalesce(thresholds.rank_minimum, 0) * usual_courses
                    then {{ ratio('grade_sums.weighted_percent_sum', 'grade_sums.weight_sum') }}
            end as ranked_mean
        from grade_sums
        semi join there using (school_id, semester_id, week, student_id)
        left join students
            on students.school_id = grade_sums.school_id
            and students.semester_id = grade_sums.semester_id
            and students.student_id = grade_sums.student_id
        left join grade_thresholds as thresholds
            on thresholds.school_id = grade_sums.school_id
        window in_cohort as (
            partition by grade_sums.school_id, grade_sums.semester_id, grade_sums.week, students.cohort_id
        )
    ),

    grades as (
        select
            school_id,
            semester_id,
            week,
            student_id,
            counted_courses,
            scored_courses,
            pending_courses,
            failed_courses,
            pending_failed_courses,
            doubt,
            {{ percent('score_sum', 'full_score_sum', places=2) }} as score_rate,
            {{ percent('begun_points', 'item_points', places=2) }} as begun_percent,
            case
                when cohort_id is not null
                    then {{ z_score('ranked_mean', 'count(ranked_mean) over in_cohort', 'sum(ranked_mean) over in_cohort', 'sum(ranked_mean * ranked_mean) over in_cohort') }}
            end as z_score_in_cohort
        from grade_means
        window in_cohort as (partition by school_id, semester_id, week, cohort_id)
    )
{%- endmacro %}
