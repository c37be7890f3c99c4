"""What `campus district kubernetes` prints, and the pods that Kubernetes makes of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from dagster import DagsterRun
from dagster_k8s.job import construct_dagster_k8s_job
from kubernetes import client

from pipelines.cli.main import main
from pipelines.district.kubernetes.launcher import WatchedKubernetesLauncher
from pipelines.district.kubernetes.pods import RUN

IMAGE, SECRET, NAMESPACE = "registry.example/campus:1", "do-not-tell", "schools"
#: Where the servers outside the cluster are, as `--egress` says it.
NETWORKS = {
    "kubernetes": "10.0.0.4/32",
    "school.example": "203.0.113.7/32",
    "s3.amazonaws.com": "52.218.0.0/17",
    "smtp.example.org": "203.0.113.25/32",
}
#: campus.yaml and the lake of a district whose pods share no home.
WITHOUT_HOME = "publish: {schools_per_shard: 16}\nexports: {workbooks: []}\n"
LAKE = "s3://bucket/lake"


def render(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: str, *arguments: str, **environment: str
) -> Result:
    """The outcome of the command, for a campus.yaml and with NETWORKS."""
    monkeypatch.chdir(folder)
    for name, value in {
        "CAMPUS_HOME": str(folder),
        "CAMPUS_BASE_URL": "https://school.example:8443",
        "CAMPUS_CLIENT_ID": "warehouse",
        "CAMPUS_CLIENT_SECRET": SECRET,
        "DAGSTER_POSTGRES_URL": f"postgresql+psycopg2://campus:{SECRET}@postgres/campus",
        **environment,
    }.items():
        monkeypatch.setenv(name, value)
    (folder / "campus.yaml").write_text(options)
    egress = [f"--egress={host}={network}" for host, network in NETWORKS.items()]
    command = ["district", "kubernetes", "--image", IMAGE, "--namespace", NAMESPACE, *egress, *arguments]
    return CliRunner().invoke(main, command)


def rendered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: str, *arguments: str, **environment: str
) -> str:
    """The printed manifests."""
    done = render(folder, monkeypatch, options, *arguments, **environment)
    assert done.exit_code == 0, done.output
    return done.stdout


def documents(printed: str) -> list[dict[str, Any]]:
    """The manifests."""
    return list(yaml.safe_load_all(printed))


def named(printed: str, kind: str, name: str) -> dict[str, Any]:
    """The manifest of a kind and a name."""
    [document] = [
        manifest
        for manifest in documents(printed)
        if (manifest["kind"], manifest["metadata"]["name"]) == (kind, name)
    ]
    return document


def data(printed: str, file: str) -> dict[str, Any]:
    """What a ConfigMap holds under the name of a file."""
    [text] = [manifest["data"][file] for manifest in documents(printed) if file in manifest.get("data", {})]
    content = yaml.safe_load(text)
    assert isinstance(content, dict)
    return content


def access_from_outside(folder: Path, server: str) -> dict[str, Any]:
    """The configuration of a launcher that runs outside of the cluster of a server."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "test", "cluster": {"server": server}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                "users": [{"name": "test", "user": {}}],
                "current-context": "test",
            }
        )
    )
    return {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}


def job_of(printed: str, folder: Path, tags: dict[str, str] | None = None) -> dict[str, Any]:
    """The job that the launcher makes of a run."""
    config = data(printed, "dagster.yaml")["run_launcher"]["config"]
    # No cluster answers there.
    outside = access_from_outside(folder, "https://127.0.0.1:1")
    launcher = WatchedKubernetesLauncher.from_config_value(None, config | outside)
    context = launcher.get_container_context_for_run(DagsterRun(job_name="publish", tags=tags or {}))
    job = construct_dagster_k8s_job(
        context.get_k8s_job_config(job_image=IMAGE, run_launcher=launcher),
        args=["true"],
        job_name="run",
        user_defined_k8s_config=context.run_k8s_config,
    )
    document: dict[str, Any] = client.ApiClient().sanitize_for_serialization(job)
    return document


def pods(printed: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The spec of each role's pods; that of runs as the launcher makes it."""
    run = job_of(printed, folder)["spec"]["template"]
    assert run["metadata"]["labels"]["app"] == RUN
    deployments = {
        manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]
        for manifest in documents(printed)
        if manifest["kind"] == "Deployment"
    }
    return {**deployments, RUN: run["spec"]}
