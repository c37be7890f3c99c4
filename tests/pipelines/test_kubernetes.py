"""What `campus district kubernetes` prints is what Kubernetes and Dagster's launcher take."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dagster._config import process_config
from dagster_k8s import K8sRunLauncher
from dagster_k8s.models import k8s_model_from_dict, k8s_snake_case_dict
from kubernetes import client

from pipelines.cli.main import main
from pipelines.options import Options

IMAGE, SECRET = "registry.example/campus:1", "do-not-tell"
KINDS = {
    "ConfigMap": client.V1ConfigMap,
    "Deployment": client.V1Deployment,
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
        "CAMPUS_BASE_URL": "https://school.example",
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
    pods = [each["spec"]["template"]["spec"] for each in documents(printed) if each["kind"] == "Deployment"]
    assert [pod["containers"][0]["envFrom"] for pod in pods] == [[{"secretRef": {"name": "campus"}}]] * 2
    options = Options.model_validate(data(printed, "campus.yaml"))
    assert options.district.loads_at_a_time == 9
