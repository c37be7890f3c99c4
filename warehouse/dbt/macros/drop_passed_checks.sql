{#-
    Tests that store their rows make a table in `quality` whether rows fail or not.
    Only those with something to show stay, so that a table there is a finding.
-#}
{% macro drop_passed_checks(results) %}
    {%- for result in results if result.status == 'pass' and result.node.resource_type == 'test' and result.node.relation_name %}
        drop table if exists {{ result.node.relation_name }};
    {%- endfor %}
{% endmacro %}
