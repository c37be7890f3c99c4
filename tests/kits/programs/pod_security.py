"""Kubernetes' Pod Security Standard `restricted` as a table, a row for each control.

The standard includes `baseline` (https://kubernetes.io/docs/concepts/security/pod-security-standards/)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: A field that a pod does not set.
UNSET = None
CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle.postStart", "lifecycle.preStop")
PROFILES = ("RuntimeDefault", "Localhost")
SELINUX = (UNSET, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
VOLUMES = (
    "name",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


@dataclass(frozen=True)
class Control:
    """A control of the standard: the fields that it is about, and their allowed values."""

    name: str
    #: Paths below the spec of a pod, and below each of its containers. `[*]`: each entry of a list or an
    #: object; `{}`: the names of an object's fields.
    pod: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    allowed: tuple[Any, ...] = ()
    #: Values that are not allowed, where all others are.
    forbidden: tuple[Any, ...] = ()
    #: Whether a container without the field has the value of the pod's field of the same path.
    is_inherited: bool = False
    #: A value that each list below the path must contain.
    contains: Any = None


CONTROLS = (
    Control(
        "HostProcess",
        ("securityContext.windowsOptions.hostProcess",),
        ("securityContext.windowsOptions.hostProcess",),
        (UNSET, False),
    ),
    Control("Host namespaces", ("hostNetwork", "hostPID", "hostIPC"), allowed=(UNSET, False)),
    Control("Privileged containers", container=("securityContext.privileged",), allowed=(UNSET, False)),
    Control("HostPath volumes", ("volumes[*].hostPath",), allowed=(UNSET,)),
    Control("Host ports", container=("ports[*].hostPort",), allowed=(UNSET, 0)),
    Control(
        "Host of probes and hooks",
        container=tuple(f"{probe}.{kind}.host" for probe in PROBES for kind in ("httpGet", "tcpSocket")),
        allowed=(UNSET, ""),
    ),
    Control(
        "AppArmor",
        ("securityContext.appArmorProfile.type",),
        ("securityContext.appArmorProfile.type",),
        (UNSET, *PROFILES),
    ),
    Control(
        "SELinux type",
        ("securityContext.seLinuxOptions.type",),
        ("securityContext.seLinuxOptions.type",),
        SELINUX,
    ),
    Control(
        "SELinux user and role",
        ("securityContext.seLinuxOptions.user", "securityContext.seLinuxOptions.role"),
        ("securityContext.seLinuxOptions.user", "securityContext.seLinuxOptions.role"),
        (UNSET, ""),
    ),
    Control("Mount of /proc", container=("securityContext.procMount",), allowed=(UNSET, "Default")),
    Control("Sysctls", ("securityContext.sysctls[*].name",), allowed=SYSCTLS),
    Control("Volume types", ("volumes[*]{}",), allowed=VOLUMES),
    Control(
        "Privilege escalation", container=("securityContext.allowPrivilegeEscalation",), allowed=(False,)
    ),
    Control(
        "Running as non-root",
        container=("securityContext.runAsNonRoot",),
        allowed=(True,),
        is_inherited=True,
    ),
    Control(
        "Non-root user",
        ("securityContext.runAsUser",),
        ("securityContext.runAsUser",),
        forbidden=(0,),
    ),
    Control(
        "Seccomp",
        container=("securityContext.seccompProfile.type",),
        allowed=PROFILES,
        is_inherited=True,
    ),
    Control("Dropped capabilities", container=("securityContext.capabilities.drop",), contains="ALL"),
    Control(
        "Added capabilities",
        container=("securityContext.capabilities.add[*]",),
        allowed=("NET_BIND_SERVICE",),
    ),
)


def violations(pod: Mapping[str, Any]) -> list[str]:
    """The names of the controls that the spec of a pod violates."""
    return [control.name for control in CONTROLS if not all(_verdicts(control, pod))]


def _verdicts(control: Control, pod: Mapping[str, Any]) -> Iterator[bool]:
    for path in control.pod:
        yield from (_is_allowed(control, value) for value in values(pod, path))
    containers = [container for kind in CONTAINERS for container in pod.get(kind) or ()]
    for container in containers:
        for path in control.container:
            for value in values(container, path):
                if value is UNSET and control.is_inherited:
                    [value] = values(pod, path)
                yield _is_allowed(control, value)


def _is_allowed(control: Control, value: Any) -> bool:
    if control.contains is not None:
        return control.contains in (value or ())
    return value not in control.forbidden if control.forbidden else value in control.allowed


def values(document: Any, path: str) -> list[Any]:
    """The values at a path; UNSET for a missing field, nothing for a missing list."""
    step, _, rest = path.partition(".")
    name = step.removesuffix("{}").removesuffix("[*]")
    content = (document or {}).get(name)
    if not step.endswith(("[*]", "{}")):
        return values(content, rest) if rest else [content]
    entries = content or []
    if step.endswith("{}"):
        return [name for entry in entries for name in entry]
    return [value for entry in entries for value in (values(entry, rest) if rest else [entry])]
