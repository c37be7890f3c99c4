{#-
    A raw table that the lake holds by semester, one row a school and key: what moved to another semester has
    a row in both until the older one is read again, and a tombstone there for ever. The live row is taken,
    else the tombstone; of several, the one synced last (the rest of the row settles a tie the same way each
    time). Only keys that occur twice are sorted, which is what makes it cheap at tens of millions of rows.
    alive_only: tombstones are left out before anything is compared.
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
