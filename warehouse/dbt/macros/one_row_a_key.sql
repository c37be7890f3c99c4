{#-
    One row a school and key of a raw table that the lake stores by semester. A row that moved to another semester is in
    both until the older semester is read again, and stays there as a tombstone.
    The live row is taken, else the tombstone. Of several, the row synced last is taken; the rest of the row decides a tie
    in the same way each time. Only repeated keys are sorted, so that tens of millions of rows stay cheap.
    alive_only: leaves tombstones out before rows are compared.
-#}
{% macro one_row_a_key(table, columns, alive_only=false) -%}
    {%- set key = (['_school_id'] + columns) | join(', ') -%}
    candidates as (
        select * from {{ table }}
        {%- if alive_only %} where _deleted_at is null{% endif %}
    ),

    repeated as (
        select {{ key }} from candidates group by {{ key }} having count(*) > 1
    ),

    one_row_a_key as (
        select * from candidates anti join repeated using ({{ key }})
        union all
        select candidate.*
        from candidates as candidate
        semi join repeated using ({{ key }})
        qualify row_number() over (
            partition by {{ key }}
            order by candidate._deleted_at is null desc, candidate._synced_at desc, candidate desc
        ) = 1
    )
{%- endmacro %}
