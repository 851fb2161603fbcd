#!/usr/bin/env python3
"""Fetches OpenSearch with its k-NN plug-in from Maven Central, and runs one to three nodes of it on this machine.

    engine.py fetch DIR             an installation in DIR; what is there already is not fetched again
    engine.py start DIR NODES RUN   starts a cluster whose data is in RUN, prints the URL of each node
    engine.py stop RUN              ends it
    engine.py kill RUN NODE         ends one node (1, 2, 3) with SIGKILL
    engine.py restart DIR RUN NODE  starts that node again
    engine.py pause RUN NODE        stops one node without ending it, as a machine that hangs
    engine.py resume RUN NODE       lets it go on

Needs a JDK of at least 11 and Maven. Version 2.19.1: its plug-in is complete in the registry, while that of 3.5.0 needs the
module transport-grpc, which is not there. Maven has the jars of the modules but not the distribution, so the
descriptors and policies that the distribution has are written here. OpenSearch refuses to run as root; root's nodes run as nobody.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

VERSION = "2.19.1"
PLUGIN_VERSION = "2.19.1.0"
LOG4J = "2.21.0"
MODULES = {
    "transport-netty4": ("transport-netty4-client", "org.opensearch.transport.Netty4Plugin", ""),
    "analysis-common": ("analysis-common", "org.opensearch.analysis.common.CommonAnalysisPlugin", "lang-painless"),
    "lang-painless": ("lang-painless", "org.opensearch.painless.PainlessPlugin", ""),
    "reindex": ("reindex-client", "org.opensearch.index.reindex.ReindexPlugin", ""),
}
# The permissions that the distribution grants to its modules.
POLICIES = {
    "transport-netty4": [
        'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"',
        'java.net.SocketPermission "*", "accept,connect,listen,resolve"',
        'java.lang.RuntimePermission "setContextClassLoader"',
        'java.lang.RuntimePermission "getClassLoader"',
        'java.util.PropertyPermission "sun.nio.ch.bugLevel", "write"',
    ],
    "lang-painless": ['java.lang.RuntimePermission "createClassLoader"', 'java.lang.RuntimePermission "getClassLoader"'],
    "reindex": ['java.net.SocketPermission "*", "connect,resolve"'],
}
NOBODY = 65534
HEAP = os.environ.get("CODEWEAVER_ENGINE_HEAP", "512m")
STARTUP_SECONDS = 120

DESCRIPTOR = """\
description={name}
version={version}
name={name}
classname={classname}
java.version=11
opensearch.version={version}
custom.foldername=
extended.plugins={extended}
has.native.controller=false
"""

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""

JVM = [
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", "-Djava.security.manager=allow", "-Dopensearch.networkaddress.cache.ttl=60",
    "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-Djna.nosys=true", "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true", "-Dio.netty.allocator.numDirectArenas=0", "-Dlog4j2.disable.jmx=true",
    "-Dopensearch.distribution.type=tar",
]


def dependency(group, artifact, version, extra=""):
    return f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{extra}</dependency>"


def copy_dependencies(target, *dependencies):
    """Copies artefacts with what they depend on into `target`."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>engine</groupId><artifactId>engine</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies>{''.join(dependencies)}</dependencies></project>")
        command = ["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={target}"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"engine: Maven could not get {' '.join(dependencies)}:\n{done.stdout}{done.stderr}")


def fetch(directory):
    """Makes an installation in `directory`."""
    done = directory / f"complete-{VERSION}"
    if done.exists():
        return
    for part in ("lib", "modules", "plugins", "fetched"):
        shutil.rmtree(directory / part, ignore_errors=True)

    lib = directory / "lib"
    copy_dependencies(
        lib,
        dependency("org.opensearch", "opensearch", VERSION),
        dependency("org.opensearch", "opensearch-plugin-classloader", VERSION),
        dependency("org.apache.logging.log4j", "log4j-core", LOG4J))
    shared = {jar.name for jar in lib.iterdir()}

    for name, (artifact, classname, extended) in MODULES.items():
        fetched = directory / "fetched" / name
        copy_dependencies(fetched, dependency("org.opensearch.plugin", artifact, VERSION))
        module = directory / "modules" / name
        module.mkdir(parents=True)
        for jar in fetched.iterdir():
            if jar.name not in shared:
                shutil.copy(jar, module)
        (module / "plugin-descriptor.properties").write_text(
            DESCRIPTOR.format(name=name, version=VERSION, classname=classname, extended=extended))
        if permissions := POLICIES.get(name):
            lines = "".join(f"  permission {permission};\n" for permission in permissions)
            (module / "plugin-security.policy").write_text(f"grant {{\n{lines}}};\n")

    fetched = directory / "fetched" / "knn"
    # The archive of the plug-in has what it depends on.
    alone = "<type>zip</type><exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    copy_dependencies(fetched, dependency("org.opensearch.plugin", "opensearch-knn", PLUGIN_VERSION, alone))
    (archive,) = fetched.glob("opensearch-knn-*.zip")
    with zipfile.ZipFile(archive) as plugin:
        plugin.extractall(directory / "plugins" / "opensearch-knn")
    shutil.rmtree(directory / "fetched")
    done.touch()


def java():
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def start(directory, nodes, run):
    """Starts a cluster of `nodes` nodes and waits until it answers. Returns the URLs."""
    fetch(directory)
    ports = free_ports(2 * nodes)
    cluster = {"installation": str(directory), "nodes": []}
    for number in range(1, nodes + 1):
        cluster["nodes"].append({"number": number, "http": ports[2 * number - 2], "transport": ports[2 * number - 1], "pid": 0})
    run.mkdir(parents=True, exist_ok=True)
    for node in cluster["nodes"]:
        configure(directory, run, cluster, node)
    for node in cluster["nodes"]:
        launch(directory, run, node)
    save(run, cluster)
    try:
        wait(run, cluster, nodes)
    except BaseException:
        stop(run)
        raise
    return [url(node) for node in cluster["nodes"]]


def configure(directory, run, cluster, node):
    """Lays out the home of a node: the installation by links, with a configuration and data of its own."""
    home = run / f"node{node['number']}"
    for part in ("config", "data", "logs", "bin"):
        (home / part).mkdir(parents=True, exist_ok=True)
    for part in ("lib", "modules", "plugins"):
        link = home / part
        if not link.exists():
            link.symlink_to(directory / part)
    all_nodes = cluster["nodes"]
    settings = {
        "cluster.name": f"codeweaver-{run.name}",
        "node.name": f"node{node['number']}",
        "network.host": "127.0.0.1",
        "http.port": node["http"],
        "transport.port": node["transport"],
        "bootstrap.memory_lock": False,
        "cluster.routing.allocation.disk.threshold_enabled": True,
        # Room in bytes, since a machine of tests may be nearly full.
        "cluster.routing.allocation.disk.watermark.low": "600mb",
        "cluster.routing.allocation.disk.watermark.high": "500mb",
        "cluster.routing.allocation.disk.watermark.flood_stage": "400mb",
        # A node that is gone is noticed in seconds. One that is busy beside other tests is not taken for it.
        "cluster.fault_detection.follower_check.interval": "500ms",
        "cluster.fault_detection.follower_check.timeout": "6s",
        "cluster.fault_detection.leader_check.interval": "500ms",
        "cluster.fault_detection.leader_check.timeout": "6s",
        # A copy between nodes that come and go can hang. It is begun anew after these times, not 30 minutes.
        "indices.recovery.internal_action_timeout": "10s",
        "indices.recovery.internal_action_long_timeout": "20s",
        "indices.recovery.recovery_activity_timeout": "20s",
    }
    if len(all_nodes) == 1:
        settings["discovery.type"] = "single-node"
    else:
        settings["discovery.seed_hosts"] = [f"127.0.0.1:{other['transport']}" for other in all_nodes]
        settings["cluster.initial_cluster_manager_nodes"] = [f"node{other['number']}" for other in all_nodes]
    # JSON is YAML.
    (home / "config" / "opensearch.yml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))
    (home / "config" / "log4j2.properties").write_text(LOGGING)
    if os.geteuid() == 0:
        for path in [home, *home.rglob("*")]:
            if not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)


def launch(directory, run, node):
    home = run / f"node{node['number']}"
    command = [
        java(), f"-Xms{HEAP}", f"-Xmx{HEAP}", *JVM, f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={home / 'config'}", f"-Djava.io.tmpdir={home / 'bin'}", "-cp", f"{directory / 'lib'}/*",
        "org.opensearch.bootstrap.OpenSearch",
    ]
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with open(home / "output", "ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home, start_new_session=True, **as_nobody)
    node["pid"] = process.pid


def url(node):
    return f"http://127.0.0.1:{node['http']}"


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait(run, cluster, n_nodes):
    """Waits until every node that runs is in one cluster of `n_nodes`."""
    deadline = time.monotonic() + STARTUP_SECONDS
    waiting = [node for node in cluster["nodes"] if node["pid"]]
    while waiting:
        node = waiting[0]
        if not is_running(node["pid"]):
            output = (run / f"node{node['number']}" / "output").read_text(errors="replace")
            sys.exit(f"engine: node {node['number']} ended:\n{output[-3000:]}")
        if time.monotonic() > deadline:
            sys.exit(f"engine: node {node['number']} did not answer within {STARTUP_SECONDS} s")
        try:
            with urllib.request.urlopen(f"{url(node)}/_cluster/health", timeout=5) as answer:
                if json.load(answer)["number_of_nodes"] >= n_nodes:
                    waiting.pop(0)
                    continue
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.2)


def save(run, cluster):
    (run / "cluster.json").write_text(json.dumps(cluster))


def load(run):
    return json.loads((run / "cluster.json").read_text())


def kill(run, number):
    cluster = load(run)
    for node in cluster["nodes"]:
        if node["number"] == number and node["pid"]:
            end(node, signal.SIGKILL)
    save(run, cluster)


def end(node, with_signal):
    try:
        os.kill(node["pid"], with_signal)
    except ProcessLookupError:
        pass
    deadline = time.monotonic() + 20
    while is_running(node["pid"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    if is_running(node["pid"]):
        os.kill(node["pid"], signal.SIGKILL)
    node["pid"] = 0


def send(run, number, with_signal):
    """Sends a signal to one node."""
    for node in load(run)["nodes"]:
        if node["number"] == number and node["pid"]:
            os.kill(node["pid"], with_signal)


def restart(directory, run, number):
    cluster = load(run)
    for node in cluster["nodes"]:
        if node["number"] == number:
            launch(directory, run, node)
    save(run, cluster)
    wait(run, cluster, sum(1 for node in cluster["nodes"] if node["pid"]))


def stop(run):
    cluster = load(run) if (run / "cluster.json").exists() else {"nodes": []}
    for node in cluster["nodes"]:
        if node["pid"]:
            # There is nothing to keep.
            end(node, signal.SIGKILL)
    shutil.rmtree(run, ignore_errors=True)


def main(arguments):
    match arguments:
        case ["fetch", directory]:
            fetch(Path(directory).resolve())
        case ["start", directory, nodes, run]:
            for address in start(Path(directory).resolve(), int(nodes), Path(run).resolve()):
                print(address)
        case ["stop", run]:
            stop(Path(run).resolve())
        case ["kill", run, number]:
            kill(Path(run).resolve(), int(number))
        case ["pause", run, number]:
            send(Path(run).resolve(), int(number), signal.SIGSTOP)
        case ["resume", run, number]:
            send(Path(run).resolve(), int(number), signal.SIGCONT)
        case ["restart", directory, run, number]:
            restart(Path(directory).resolve(), Path(run).resolve(), int(number))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
