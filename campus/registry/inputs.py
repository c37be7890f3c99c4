"""The registry of the files that a school keeps itself, in $CAMPUS_HOME/inputs."""

from campus.contracts.inputs import Intervention
from campus.registry.spec import ResourceSpec

INTERVENTIONS = ResourceSpec(
    "interventions",
    "inputs/{school_id}/interventions",
    Intervention,
    (),
    primary_key=("student_id", "date", "kind"),
)
INPUTS = (INTERVENTIONS,)
