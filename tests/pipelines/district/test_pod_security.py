"""Every pod of a district on Kubernetes is `restricted`, and a pod that is not is noticed."""

import copy
from itertools import product
from typing import Any

import pytest

from pipelines.district.kubernetes.pods import ROLES
from tests.kits.programs.pod_security import CONTAINERS, CONTROLS, values, violations
from tests.kits.programs.rendered_district import LAKE, WITHOUT_HOME, pods, rendered

#: By control: what to set, below the pod or a container, so that a good pod violates this control alone.
BAD: dict[str, list[tuple[str, str, Any]]] = {
    "HostProcess": [
        ("pod", "securityContext.windowsOptions", {"hostProcess": True}),
        ("container", "securityContext.windowsOptions", {"hostProcess": True}),
    ],
    "Host namespaces": [("pod", name, True) for name in ("hostNetwork", "hostPID", "hostIPC")],
    "Privileged containers": [("container", "securityContext.privileged", True)],
    "HostPath volumes": [("pod", "volumes", [{"name": "host", "hostPath": {"path": "/"}}])],
    "Host ports": [("container", "ports", [{"containerPort": 3000, "hostPort": 3000}])],
    "Host of probes and hooks": [
        ("container", "livenessProbe", {"httpGet": {"host": "10.0.0.1", "port": 80}}),
        ("container", "lifecycle", {"preStop": {"tcpSocket": {"host": "10.0.0.1", "port": 80}}}),
    ],
    "AppArmor": [("container", "securityContext.appArmorProfile", {"type": "Unconfined"})],
    "SELinux type": [("pod", "securityContext.seLinuxOptions", {"type": "spc_t"})],
    "SELinux user and role": [
        ("pod", "securityContext.seLinuxOptions", {"user": "system_u"}),
        ("container", "securityContext.seLinuxOptions", {"role": "system_r"}),
    ],
    "Mount of /proc": [("container", "securityContext.procMount", "Unmasked")],
    "Sysctls": [("pod", "securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}])],
    "Volume types": [("pod", "volumes", [{"name": "old", "nfs": {"server": "nfs", "path": "/"}}])],
    "Privilege escalation": [
        ("container", "securityContext.allowPrivilegeEscalation", value) for value in (True, None)
    ],
    "Running as non-root": [
        ("pod", "securityContext.runAsNonRoot", None),
        ("container", "securityContext.runAsNonRoot", False),
    ],
    "Non-root user": [(level, "securityContext.runAsUser", 0) for level in ("pod", "container")],
    "Seccomp": [
        ("pod", "securityContext.seccompProfile", None),
        ("container", "securityContext.seccompProfile", {"type": "Unconfined"}),
    ],
    "Dropped capabilities": [
        ("container", "securityContext.capabilities", {"drop": ["NET_RAW"]}),
        ("container", "securityContext.capabilities", None),
    ],
    "Added capabilities": [
        ("container", "securityContext.capabilities", {"drop": ["ALL"], "add": ["SYS_ADMIN"]})
    ],
}
#: A volume of the host is also of a forbidden type.
ALSO = {"HostPath volumes": {"Volume types"}}


@pytest.fixture(scope="module", params=["shared", "none"])
def pods_by_role(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """The spec of each role's pods, with and without a shared home."""
    folder = tmp_path_factory.mktemp("district")
    with pytest.MonkeyPatch.context() as patch:
        printed = rendered(folder, patch, WITHOUT_HOME, "--home", request.param, CAMPUS_LAKE=LAKE)
    return pods(printed, folder)


def test_every_pod_is_restricted(pods_by_role: dict[str, dict[str, Any]]) -> None:
    assert pods_by_role.keys() == set(ROLES)
    assert {role: violations(pod) for role, pod in pods_by_role.items()} == {role: [] for role in ROLES}
    for pod in pods_by_role.values():
        # Beyond the profile.
        assert values(pod, "containers[*].securityContext.readOnlyRootFilesystem") == [True]
        assert "/tmp" in values(pod, "containers[*].volumeMounts[*].mountPath")


def test_a_violation_of_each_control_is_noticed(pods_by_role: dict[str, dict[str, Any]]) -> None:
    """In a container of each kind, as good as the pod's first."""
    assert BAD.keys() == {control.name for control in CONTROLS}
    for role, control, kind in product(ROLES, BAD, CONTAINERS):
        for level, path, value in BAD[control]:
            bad = copy.deepcopy(pods_by_role[role])
            bad[kind] = copy.deepcopy(pods_by_role[role]["containers"])
            *parents, name = path.split(".")
            target = bad if level == "pod" else bad[kind][0]
            for parent in parents:
                target = target[parent]
            target[name] = value
            noticed = set(violations(bad))
            assert noticed == {control} | ALSO.get(control, set()), (role, kind, level, path)
