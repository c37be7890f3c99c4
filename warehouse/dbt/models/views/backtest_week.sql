-- Grain: school, closed semester, teaching week, rule, outcome that the rule does not contain; weeks in which the rule was
--   judged.
-- Rules: a share needs ten students; without them it is null.
select
    backtest.school_id,
    backtest.semester_id,
    backtest.semester_name,
    semesters.first_day,
    backtest.week,
    backtest.rule,
    list_position(
        [
            'attendance_reasons', 'grades_reasons', 'level_warning', 'level_at_risk', 'failed_last_semester',
            'worst_tenth_attendance', 'attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate',
            'score_drop', 'failed_courses', 'missing_rate'
        ],
        backtest.rule
    ) as rule_order,
    backtest.outcome,
    list_position(['failed_courses', 'chronic_absence', 'failed_next', 'has_left'], backtest.outcome) as outcome_order,
    backtest.students,
    backtest.with_outcome,
    backtest.base_rate,
    backtest.flagged,
    backtest.hits,
    backtest.best_single,
    backtest.single_hits,
    backtest.missed,
    backtest.false_alarms,
    backtest.known_when,
    {%- for share, whole in {'precision': 'flagged', 'recall': 'with_outcome'}.items() %}
    {%- for end in ['', '_low', '_high'] %}
    case when backtest.{{ whole }} >= 10 then backtest.{{ share }}{{ end }} end as {{ share }}{{ end }},
    {%- endfor %}
    {%- endfor %}
    backtest.chance_verdict,
    backtest.verdict
from {{ ref('early_warning_backtest') }} as backtest
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
where
    backtest.judged > 0
    and not backtest.is_contained
    and backtest.outcome in ('failed_courses', 'chronic_absence', 'failed_next', 'has_left')
