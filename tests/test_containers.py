"""The image and the services around it, as far as they can be checked without a container engine."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import typer
import yaml

from app.cli import app
from app.settings import ServiceSettings

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
OURS = ("migrate", "api", "scheduler", "worker")
CLUSTER = {"scheduler", "worker"}
SECRET = re.compile("KEY|PASSWORD|SECRET|TOKEN")


def instructions():
    """Stages of the Dockerfile, each a list of (instruction, rest)."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", "")
    stages = []
    for line in filter(None, text.splitlines()):
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest))
    return stages


BUILD, FINAL = instructions()


def all_of(stage, word):
    return [rest for instruction, rest in stage if instruction == word]


def only(stage, word):
    (rest,) = all_of(stage, word)
    return rest


def environment(stage):
    return dict(pair.split("=", 1) for rest in all_of(stage, "ENV") for pair in shlex.split(rest))


def health_command():
    return json.loads(only(FINAL, "HEALTHCHECK").split("CMD", 1)[1])


def test_hadolint():
    binary = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if binary is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no hadolint")
    done = subprocess.run([binary, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_runs_without_root_and_keeps_data_apart():
    user, group = only(FINAL, "USER").split(":")
    assert int(user) > 0
    assert int(group) > 0
    last = [word for word, _ in FINAL]
    assert last.index("USER") > max(place for place, word in enumerate(last) if word in {"RUN", "COPY"})
    env = environment(FINAL)
    assert env["ASKNEXT_HOST"] == "0.0.0.0"  # inside: what is published is said outside
    assert env["ASKNEXT_PORT"] == only(FINAL, "EXPOSE")
    assert env["ASKNEXT_DATA_DIR"] == only(FINAL, "VOLUME") == "/data"


def test_kernels_are_compiled_where_the_service_looks_for_them():
    folder = environment(FINAL)["NUMBA_CACHE_DIR"]
    assert folder == environment(BUILD)["NUMBA_CACHE_DIR"]
    assert "core.compile_all()" in all_of(BUILD, "RUN")[-1]
    copied = only(FINAL, "COPY").split()  # to the same place: the cache knows sources by their paths
    assert copied[0] == "--from=build"
    assert copied[1] == copied[2]
    assert folder.startswith(copied[1])


def test_only_sources_go_into_the_image():
    patterns = [p for p in (ROOT / ".dockerignore").read_text().splitlines() if p and not p.startswith("#")]
    assert patterns[0] == "*"
    let_in = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    copied = {source for rest in all_of(BUILD, "COPY") for source in rest.split()[:-1]}
    assert copied == let_in
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied
    assert project["project"]["readme"] in copied


def test_the_image_has_the_versions_that_are_tested():
    (install,) = [run for run in all_of(BUILD, "RUN") if "--requirement" in run]
    assert "--constraint requirements.lock" in install
    assert "requirements.lock" in all_of(BUILD, "COPY")[0].split()


def test_commands_exist():
    known = typer.main.get_command(app).commands
    commands = [json.loads(only(FINAL, "CMD"))] + [COMPOSE["services"][name].get("command") for name in OURS]
    for command in filter(None, commands):
        assert command[0] == "asknext"
        assert command[1] in known
    assert "asknext" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_settings_exist_and_secrets_come_from_outside():
    assert not [name for stage in (BUILD, FINAL) for name in environment(stage) if SECRET.search(name)]
    assert not all_of(BUILD, "ARG") + all_of(FINAL, "ARG")
    named = environment(FINAL)
    for name, service in COMPOSE["services"].items():
        for variable, value in service["environment"].items():
            if SECRET.search(variable):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value), f"{variable} of {name}"
            else:
                assert not SECRET.search(str(value))
        named |= service["environment"]
    settings = {name.removeprefix("ASKNEXT_").lower() for name in named if name.startswith("ASKNEXT_")}
    assert settings <= set(ServiceSettings.model_fields)


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_may_do_little(name):
    service = COMPOSE["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "user", "pid", "network_mode", "devices"} & set(service)
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")
    if name in OURS:
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]
        assert service["volumes"] == ["data:/data"]
        assert "cap_add" not in service
    else:
        assert "ports" not in service
        assert service["volumes"] == ["database:/var/lib/postgresql/data"]
    assert all(volume.split(":")[0] in COMPOSE["volumes"] for volume in service["volumes"])


def test_services_start_in_order():
    services = COMPOSE["services"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert services["api"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["postgres"]["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert [name for name, service in services.items() if "inside" not in service["networks"]] == []
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_a_cluster_comes_with_its_profile_and_is_seen_by_nobody_else():
    services, project = COMPOSE["services"], tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {name for name, service in services.items() if service.get("profiles") == ["cluster"]} == CLUSTER
    assert not [name for name, service in services.items() if service.get("profiles") and name not in CLUSTER]
    address = services["worker"]["environment"]["ASKNEXT_DASK"]
    for name in CLUSTER:
        assert services[name]["environment"]["ASKNEXT_DASK"] == address == "tcp://scheduler:8786"
        assert services[name]["networks"] == ["inside"]
        assert "ports" not in services[name]
    assert services["worker"]["environment"]["ASKNEXT_DATABASE"] == services["api"]["environment"]["ASKNEXT_DATABASE"]
    assert services["api"]["environment"]["ASKNEXT_DASK"] == "${ASKNEXT_DASK:-}"  # none, unless it is asked for
    assert "dask" in project["optional-dependencies"]
    assert "['optional-dependencies']['dask']" in " ".join(all_of(BUILD, "RUN"))


def test_an_empty_setting_is_none(monkeypatch):
    monkeypatch.setenv("ASKNEXT_DASK", "")
    assert ServiceSettings().dask is None


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    ("command", "path"),
    [(health_command(), "/health/live"), (COMPOSE["services"]["api"]["healthcheck"]["test"][1:], "/health/ready")],
    ids=["image", "compose"],
)
def test_health_checks_tell(command, path, status):
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = str(server.server_port)
        program = command[2].replace(":8000/", f":{port}/")
        env = {"ASKNEXT_PORT": port, "http_proxy": "http://127.0.0.1:9"}  # a proxy must not be asked
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=False)
        server.shutdown()
        thread.join()
    assert command[:2] == ["python", "-c"]
    assert asked == [path]
    assert (done.returncode == 0) == (status == 200)


LOAD = """
import os, sys, tempfile
from core import compile_all
from core._jit.compile import _KERNELS
try:
    tempfile.TemporaryFile(dir=os.environ["NUMBA_CACHE_DIR"]).close()
    writable = 1
except OSError:
    writable = 0
ready = compile_all()
compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel, _ in _KERNELS)
print(ready, compiled, writable)
"""


def load(cache, *before):
    """(kernels ready, compiled for that, whether the cache can be written) of a new process without HOME."""
    env = {name: value for name, value in os.environ.items() if name not in {"HOME", "XDG_CACHE_HOME"}}
    command = [*before, sys.executable, "-c", LOAD]
    env |= {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@pytest.mark.jit
def test_a_read_only_cache_is_used(tmp_path):
    cache = tmp_path / "kernels"
    cache.mkdir()
    ready, compiled, _ = load(cache)
    assert compiled == ready > 20
    files = sorted(cache.rglob("*.nbc"))
    folders = {cache, *(file.parent for file in files)}
    for folder in folders:
        folder.chmod(0o555)
    # Root may write anywhere, unless it gives that up.
    bound = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    try:
        assert load(cache, *bound) == (ready, 0, 0)
        files[0].write_bytes(files[0].read_bytes()[:100])  # cut off: only this one is compiled again
        assert load(cache, *bound)[::2] == (ready, 0)
    finally:
        for folder in folders:
            folder.chmod(0o755)
