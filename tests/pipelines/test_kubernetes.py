"""What `campus district kubernetes` prints is what Kubernetes and Dagster's launcher take."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dagster import DagsterRun
from dagster._config import process_config
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.job import construct_dagster_k8s_job
from dagster_k8s.models import k8s_model_from_dict, k8s_snake_case_dict
from kubernetes import client

from pipelines.cli.main import main
from pipelines.district.kubernetes import DAEMON, ROLES, RUN, WEBSERVER
from pipelines.options import Options

IMAGE, SECRET = "registry.example/campus:1", "do-not-tell"
KINDS = {
    "ConfigMap": client.V1ConfigMap,
    "Deployment": client.V1Deployment,
    "NetworkPolicy": client.V1NetworkPolicy,
    "PersistentVolumeClaim": client.V1PersistentVolumeClaim,
    "Role": client.V1Role,
    "RoleBinding": client.V1RoleBinding,
    "Service": client.V1Service,
    "ServiceAccount": client.V1ServiceAccount,
}


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "CAMPUS_HOME": str(tmp_path),
        "CAMPUS_BASE_URL": "https://school.example:8443",
        "CAMPUS_CLIENT_ID": "warehouse",
        "CAMPUS_CLIENT_SECRET": SECRET,
        "DAGSTER_POSTGRES_URL": f"postgresql+psycopg2://campus:{SECRET}@postgres/campus",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "campus.yaml").write_text("district: {loads_at_a_time: 9}\n")
    done = CliRunner().invoke(main, ["district", "kubernetes", "--image", IMAGE, "--namespace", "schools"])
    assert done.exit_code == 0, done.output
    return done.output


def documents(printed: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(printed))


def data(printed: str, file: str) -> dict[str, Any]:
    """What a ConfigMap holds under the name of a file."""
    [text] = [each["data"][file] for each in documents(printed) if file in each.get("data", {})]
    held = yaml.safe_load(text)
    assert isinstance(held, dict)
    return held


def test_kubernetes_knows_each_field(printed: str) -> None:
    found = documents(printed)
    assert {each["kind"] for each in found} == KINDS.keys()
    for each in found:
        kind = KINDS[each["kind"]]
        model = k8s_model_from_dict(kind, k8s_snake_case_dict(kind, each))
        assert model.metadata.namespace == "schools"


def test_dagsters_launcher_takes_its_configuration(printed: str) -> None:
    held = data(printed, "dagster.yaml")
    assert held["run_launcher"]["class"] == K8sRunLauncher.__name__
    config = held["run_launcher"]["config"]
    checked = process_config(K8sRunLauncher.config_type(), config)
    assert checked.success, checked.errors
    limits = held["concurrency"]["runs"]["tag_concurrency_limits"]
    assert [limit["limit"] for limit in limits] == [9, 1]
    names = {each["metadata"]["name"] for each in documents(printed)}
    mounted = [volume["configMap"]["name"] for volume in config["volumes"] if "configMap" in volume]
    assert {config["instance_config_map"], config["service_account_name"], *mounted} <= names


def test_the_ui_is_guarded_and_inside_its_pod(printed: str) -> None:
    [webserver] = [
        each["spec"]["template"]["spec"]["containers"][0]["command"]
        for each in documents(printed)
        if each["kind"] == "Deployment" and each["metadata"]["name"] == "campus-webserver"
    ]
    assert webserver[:3] == ["python", "-m", "pipelines.ui.webserver"]
    assert webserver[webserver.index("--host") + 1] == "127.0.0.1"


def test_no_secret_is_printed_and_the_options_are(printed: str) -> None:
    assert SECRET not in printed and "warehouse" not in printed
    options = Options.model_validate(data(printed, "campus.yaml"))
    assert options.district.loads_at_a_time == 9


def named(printed: str, kind: str, name: str) -> dict[str, Any]:
    [document] = [
        each for each in documents(printed) if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return document


def launcher_of(printed: str, folder: Path) -> K8sRunLauncher:
    """Dagster's launcher as dagster.yaml configures it, for a cluster that nobody asks."""
    kubeconfig = folder / "kubeconfig"
    cluster = {"name": "none", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "none", "context": {"cluster": "none", "user": "none"}}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "clusters": [cluster],
                "contexts": [context],
                "users": [{"name": "none", "user": {}}],
                "current-context": "none",
            }
        )
    )
    config = data(printed, "dagster.yaml")["run_launcher"]["config"]
    outside = {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
    return K8sRunLauncher(**config, **outside)


def pods(printed: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The spec of each role's pods; that of runs as Dagster's launcher makes it."""
    launcher = launcher_of(printed, folder)
    context = K8sContainerContext.create_for_run(
        DagsterRun(job_name="publish"), launcher, include_run_tags=False
    )
    job = construct_dagster_k8s_job(
        context.get_k8s_job_config(job_image=IMAGE, run_launcher=launcher),
        args=["true"],
        job_name="run",
        user_defined_k8s_config=context.run_k8s_config,
    )
    run = client.ApiClient().sanitize_for_serialization(job)["spec"]["template"]
    assert run["metadata"]["labels"]["app"] == "campus-run"
    deployments = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in documents(printed)
        if each["kind"] == "Deployment"
    }
    return {**deployments, "campus-run": run["spec"]}


#: Kubernetes' profile `restricted`, and a root that nobody can write: what a pod has, and what it must be.
OF_PODS: dict[str, Any] = {
    "securityContext.runAsNonRoot": True,
    "securityContext.seccompProfile.type": "RuntimeDefault",
    "hostNetwork": None,
    "hostPID": None,
    "hostIPC": None,
    "initContainers": None,
}
OF_CONTAINERS: dict[str, Any] = {
    "securityContext.allowPrivilegeEscalation": False,
    "securityContext.capabilities.drop": ["ALL"],
    "securityContext.capabilities.add": None,
    "securityContext.privileged": None,
    "securityContext.readOnlyRootFilesystem": True,
}
VOLUMES = {"configMap", "emptyDir", "persistentVolumeClaim"}


def value(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = (document or {}).get(part)
    return document


@pytest.mark.parametrize("role", ROLES)
def test_pods_keep_to_the_profile_restricted(printed: str, tmp_path: Path, role: str) -> None:
    pod = pods(printed, tmp_path)[role]
    assert {path: value(pod, path) for path in OF_PODS} == OF_PODS
    for container in pod["containers"]:
        assert {path: value(container, path) for path in OF_CONTAINERS} == OF_CONTAINERS
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert pod["securityContext"]["runAsUser"] != 0
    kinds = {kind for volume in pod["volumes"] for kind, content in volume.items() if kind != "name"}
    assert kinds <= VOLUMES


@pytest.mark.parametrize(("role", "has_token"), [(DAEMON, True), (WEBSERVER, True), (RUN, False)])
def test_each_role_has_an_account_and_a_secret(
    printed: str, tmp_path: Path, role: str, has_token: bool
) -> None:
    pod = pods(printed, tmp_path)[role]
    assert pod["serviceAccountName"] == role and named(printed, "ServiceAccount", role)
    assert pod["automountServiceAccountToken"] == has_token
    [container] = pod["containers"]
    secrets = [source["secretRef"]["name"] for source in container["envFrom"] if "secretRef" in source]
    assert secrets == [role]


def test_only_the_daemon_creates_jobs(printed: str) -> None:
    rights = {
        document["metadata"]["name"]: {
            (resource, verb)
            for rule in document["rules"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for document in documents(printed)
        if document["kind"] == "Role"
    }
    assert rights.keys() == {DAEMON, WEBSERVER}
    creating = {
        role
        for role, pairs in rights.items()
        if any(verb in ("create", "patch", "update", "*") for _, verb in pairs)
    }
    assert creating == {DAEMON}
    assert not {"secrets", "*", "pods/exec"} & {
        resource for pairs in rights.values() for resource, _ in pairs
    }


def test_the_webserver_sees_no_home(printed: str, tmp_path: Path) -> None:
    volumes = {volume["name"]: volume for volume in pods(printed, tmp_path)[WEBSERVER]["volumes"]}
    assert volumes["home"] == {"name": "home", "emptyDir": {}}


def test_pods_talk_to_whom_they_need(printed: str) -> None:
    policies = {
        document["metadata"]["name"]: document["spec"]
        for document in documents(printed)
        if document["kind"] == "NetworkPolicy"
    }
    everything = policies.pop("campus-deny-all")
    assert everything == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    ports = {
        name: {port["port"] for rule in policy["egress"] for port in rule["ports"]}
        for name, policy in policies.items()
    }
    assert ports == {
        DAEMON: {53, 443, 6443, 5432, 8443},
        WEBSERVER: {53, 443, 6443, 5432},
        RUN: {53, 443, 5432, 8443},
    }
    assert not any("ingress" in policy for policy in policies.values())


def test_the_webserver_needs_no_secret_of_the_platform(tmp_path: Path) -> None:
    """It loads the definitions with an empty home and the address of Postgres alone."""
    code = "from pipelines.definitions import defs; print(len(list(defs().resolve_all_job_defs())))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "CAMPUS_HOME": str(tmp_path / "home"),
            "DAGSTER_POSTGRES_URL": f"postgresql+psycopg2://campus:{SECRET}@postgres/campus",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
