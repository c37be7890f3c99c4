{#- A total of this model equals the total of the model that it is made from: no row lost, none counted twice. -#}
{% test same_total(model, total, of, other_total) %}
    with totals as (
        select
            coalesce((select {{ total }} from {{ model }}), 0) as total,
            coalesce((select {{ other_total }} from {{ of }}), 0) as other_total
    )

    select *
    from totals
    where total <> other_total
{% endtest %}
