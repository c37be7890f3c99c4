-- Grain: school, status of questions that cannot be answered yet: why, and for how many weeks.
-- Rules: a question whose outcome is ready was judged by other indicators than today's in each finished semester.
select
    questions.school_id,
    case
        when questions.status is null then 'no semester'
        when questions.status = 'ready' then 'judged otherwise'
        when questions.weeks_missing > 0 then 'weeks'
        else 'no weeks'
    end as kind,
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
