-- Grain: school, status of questions that cannot be answered yet: why, and for how many weeks.
select
    questions.school_id,
    coalesce(questions.status, 'no semester') as status,
    questions.status_en,
    questions.status_zh,
    case when questions.status <> 'ready' then questions.weeks_missing end as weeks_missing,
    min(questions.place) as place,
    list(questions.question order by questions.place) as questions
from {{ ref('backtest_question') }} as questions
anti join {{ ref('backtest_answer') }} as answers
    on answers.school_id = questions.school_id
    and answers.rule = questions.rule
    and answers.outcome = questions.outcome
group by all
