{#-
    Every value of the column that is not null is a row of the other table in the same school.
    Gives one row for each missing key. The platform's own gaps warn; they do not hold back a publication.
-#}
{% test related(model, column_name, to, field) %}
    {{ config(severity='warn', store_failures=true) }}
    with used as (
        select school_id, {{ column_name }} as {{ field }}, count(*) as row_count
        from {{ model }}
        where {{ column_name }} is not null
        group by school_id, {{ column_name }}
    )

    select used.*
    from used
    anti join {{ to }} as target
        on target.school_id = used.school_id
        and target.{{ field }} = used.{{ field }}
{% endtest %}
